"""What the `panes` command runs: Ctrl-C is one line from the first import to the end."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    try:
        from panes.cli.main import app

        app()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    finally:
        # What is left to do, such as ending Java, is done in any case.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
