"""A program that presses Ctrl-C on itself at many moments of its runs, kills its Java, and then runs to the end.

    python interrupted.py DATABASE FILES

It prints how each moment ended, and at last what it found.
"""

import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

from pyspark import SparkContext

from panes.crash_points import arm, was_reached
from tests.faults.processes import descendants
from tests.faults.standing import NEW_SESSION, found_in, prepare

database, folder = sys.argv[1:]
points = Path(os.environ["PANES_CRASH_POINTS"])
ended = {}


def press_ctrl_c(times=1):
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def press_when(is_so, times=1):
    """Presses Ctrl-C from another thread as soon as something is so."""

    def watch():
        while not is_so():
            time.sleep(0.001)
        press_ctrl_c(times)

    threading.Thread(target=watch, daemon=True).start()


def attempt(moment, action):
    """Notes what came out of an action."""
    try:
        action()
        outcome = "done"
    except KeyboardInterrupt:
        outcome = "KeyboardInterrupt"
    except BaseException as error:
        outcome = repr(error)
    ended[moment] = outcome


def held(step):
    """A function for `run` that lets the next epoch stop at a step of its tasks, and presses Ctrl-C there."""
    armed = []

    def after_epoch(_epoch):
        if not armed:
            armed.append(arm(points, step, "hang"))
            press_when(lambda: was_reached(points, step))

    return after_epoch


with prepare(database, folder, NEW_SESSION) as db:
    press_when(lambda: descendants(os.getpid()))
    attempt("Java is starting", db.run)
    ended["processes after that"] = len(descendants(os.getpid()))
    press_when(lambda: SparkContext._gateway is not None)
    attempt("Spark is starting", db.run)
    ended["processes after this"] = len(descendants(os.getpid()))

    arm(points, "before segment", "hang")
    press_when(lambda: was_reached(points, "before segment"))
    attempt("the first epoch is under way", db.run)
    attempt("between epochs", lambda: db.run(on_epoch=lambda _: press_ctrl_c()))
    attempt("an epoch is under way", lambda: db.run(on_epoch=held("after segment")))
    attempt("twice in an epoch", lambda: db.run(on_epoch=lambda _: press_ctrl_c(2)))

    in_epoch = threading.Event()

    def note(_epoch):
        if not in_epoch.is_set():
            arm(points, "before manifest", "hang")
            in_epoch.set()

    def start_and_stop():
        db.start(on_epoch=note)
        while not was_reached(points, "before manifest"):
            time.sleep(0.01)
        press_when(lambda: db._engine._is_stopping)
        db.stop()

    attempt("stopping", start_and_stop)

    db.start()
    (java,) = [pid for pid in descendants(os.getpid()) if "java" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(java, signal.SIGKILL)
    while db._engine.is_running:
        time.sleep(0.01)
    attempt("status without Java", db.status)
    attempt("invoke without Java", db.queries()[0].invoke)
    attempt("stop without Java", db.stop)
    attempt("to the end", db.run)
    sys.stdout.buffer.write(pickle.dumps((ended, found_in(db))))
    sys.stdout.flush()
