"""Writes the figures of docs/benchmarks.md and of the pages about single topics from the result files:
`python -m benchmarks.report`.

A mark is a pair of comments, `<!-- name -->` and `<!-- /name -->`. What stands between them is made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    exchange,
    growth,
    idle_queries,
    isolation,
    live,
    object_store,
    psoup,
    readers,
    run,
    scale,
    scale_model,
    standing_queries,
    tables,
)
from benchmarks.expiration_report import expiration_tables
from benchmarks.frequent_items_report import NAME as FREQUENT_ITEMS
from benchmarks.frequent_items_report import frequent_items_table
from benchmarks.index_report import index_tables
from benchmarks.isolation_report import isolation_tables
from benchmarks.joins_report import join_tables
from benchmarks.lazy_expiration import NAME as LAZY_EXPIRATION
from benchmarks.lazy_expiration import lazy_expiration_table
from benchmarks.markdown import Content, measured_on, rate, short, table
from benchmarks.operators_report import operator_table
from benchmarks.psoup_report import psoup_tables
from benchmarks.result_files import load
from benchmarks.update_patterns_report import NAME as UPDATE_PATTERNS
from benchmarks.update_patterns_report import update_pattern_tables
from benchmarks.windows_report import windows_table
from benchmarks.workloads import WORKLOADS

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
STANDING_PAGE = PAGE.with_name("standing-queries.md")
SCALE_PAGE = PAGE.with_name("scale.md")
READING_PAGE = PAGE.with_name("reading.md")
ANSWERS_PAGE = PAGE.with_name("answers.md")

TARGETS = {
    "spark": ("Spark's own streaming", dict.fromkeys(WORKLOADS, 10.0)),
    "flink": ("Flink", dict.fromkeys(WORKLOADS, 4.0)),
    "rerun": ("the better of DuckDB and Polars", {**dict.fromkeys(WORKLOADS, 1.0), "W2": 0.25}),
}
"""How many times as fast Panes is to be."""


def workloads(content: Content) -> str:
    by_run = {(r["engine"], r["workload"]): r for r in content["results"]}
    engines = [e for e in run.ENGINES if e != "floor" and any(key[0] == e for key in by_run)]
    most = max(r["rows"] for r in content["results"])

    def cell(engine: str, workload: str) -> str:
        result = by_run.get((engine, workload))
        if result is None:
            return ""
        wrong = " **wrong**" if result["is_right"] is False else ""
        return rate(result["rows_per_s"]) + ("*" if result["rows"] < most else "") + wrong

    header = ["", "question", *(run.ENGINES[e] for e in engines)]
    rows = [
        [name, workload.question, *(cell(e, name) for e in engines)] for name, workload in WORKLOADS.items()
    ]
    memory = [
        max((r["memory_mb"] for r in content["results"] if r["engine"] == engine), default=0)
        for engine in engines
    ]
    rows.append(["", "most memory, MB", *(f"{megabytes:,}" for megabytes in memory)])
    text = [measured_on(content), "", table(header, rows, left=2), ""]
    fewer = any(r["rows"] < most for r in content["results"])
    checked = [r for r in content["results"] if r["is_right"] is not None]
    right = sum(r["is_right"] for r in checked)
    note = f"Rows per second over {most:,} rows"
    note += "; * over fewer. " if fewer else ". "
    note += f"{right} of {len(checked)} checksums are right."
    floor = next((r for r in content["results"] if r["engine"] == "floor"), None)
    if floor:
        note += (
            f" Spark's floor, the same files in {floor['more']['batches']} micro-batches that are only counted, "
            f"is {rate(floor['rows_per_s'])}."
        )
    return "\n".join([*text, note, "", "![rows per second by workload and engine](charts/workloads.svg)"])


def ratios(content: Content) -> str:
    rates = {(r["engine"], r["workload"]): r["rows_per_s"] for r in content["results"]}
    for name in WORKLOADS:
        again = [rates[e, name] for e in ("duckdb", "polars") if (e, name) in rates]
        if again:
            rates["rerun", name] = max(again)
    rows = []
    for engine, (title, wanted) in TARGETS.items():
        found = {w: rates["panes", w] / rates[engine, w] for w in WORKLOADS
                 if ("panes", w) in rates and (engine, w) in rates}  # fmt: skip
        if found:
            cells = [
                f"{found[w]:.2g}×" + ("" if found[w] >= wanted[w] else " ✗") if w in found else ""
                for w in WORKLOADS
            ]
            aims = sorted(set(wanted.values()), reverse=True)
            rows.append([title, " / ".join(f"{aim:g}×" for aim in aims), *cells])
    return table(["how many times as fast as", "aim", *WORKLOADS], rows, left=2)


def where_time_goes(content: Content) -> str:
    """What Panes says of its own runs."""
    rows = []
    for r in content["results"]:
        if r["engine"] != "panes":
            continue
        epochs = r["more"]["epochs"]
        rows.append(
            [
                r["workload"],
                f"{r['seconds']:.2f} s",
                str(len(epochs)),
                f"{max(count for count, _ in epochs):,}",
                f"{sum(seconds for _, seconds in epochs):.2f} s",
                f"{r['more']['changes']:,}",
                f"{r['more']['reading_changes_s']:.2f} s",
                ", ".join(f"{name} {took:.2f}" for name, took in list(r["more"]["phases"].items())[:4]),
            ]
        )
    header = [
        "",
        "run",
        "epochs",
        "rows in the largest",
        "seconds in epochs",
        "changes",
        "reading them",
        "longest phases, s",
    ]
    return table(header, rows)


def growth_curves(content: Content) -> str:
    parts = [measured_on(content)]
    for curve, (_, title) in growth.CURVES.items():
        mine = [r for r in content["results"] if r["curve"] == curve]
        if not mine:
            continue
        header = [title, *(f"{r['x']:,}" for r in mine)]
        rows = [["Panes", *(rate(r["panes"]) for r in mine)]]
        if any(r["duckdb"] for r in mine):
            rows.append(["DuckDB, asked again", *(rate(r["duckdb"]) for r in mine)])
            rows.append(["ratio", *(f"{r['panes'] / r['duckdb']:.2g}×" for r in mine)])
        parts += [table(header, rows), f"![rows per second by {title}](charts/growth-{curve}.svg)"]
    return "\n\n".join(parts)


def live_stream(content: Content) -> str:
    summary = content["summary"]
    names = {
        "median_epoch_s": "median epoch, s",
        "largest_epoch_s": "largest epoch, s",
        "median_lag_s": "median lag, s",
        "largest_lag_s": "largest lag, s",
        "lag_growth_per_minute_s": "growth of the lag per minute, s",
        "rows_per_s": "rows per second",
    }
    header = [f"{content['rate']:,} rows/s for {content['seconds']:g} seconds", "reached"]
    rows = [[title, f"{summary[name]:,}"] for name, title in names.items()]
    chart = "![seconds of epochs and lag over time](charts/live.svg)"
    return f"{measured_on(content)}\n\n{table(header, rows)}\n\n{chart}"


def readers_without_pause(content: Content) -> str:
    (summary,) = content["results"]
    names = {
        "median_epoch_alone_s": "median epoch without readers, s",
        "median_epoch_with_readers_s": "median epoch with readers, s",
        "ratio": "ratio",
        "answers_per_s": "answers per second, all threads together",
    }
    header = [f"{summary['threads']} threads, {content['rate']:,} rows/s", "reached"]
    rows = [[title, f"{summary[name]:,}"] for name, title in names.items()]
    return f"{measured_on(content)}\n\n{table(header, rows)}"


def changing_tables(content: Content) -> str:
    by_kind: dict[str, list[Content]] = {}
    for result in content["results"]:
        by_kind.setdefault(result["what"], []).append(result)
    (lookup,), (loading,) = by_kind["lookup"], by_kind["loading"]
    now, then = by_kind["updates"]
    alone, changed = by_kind["live"]
    busiest = max(alone["load_average"], changed["load_average"])
    rows = [
        [
            f"lookups in a table of {lookup['table_rows']:,} rows, tuples per CPU second",
            f"{rate(tables.AIMS['lookup'])}",
            rate(lookup["rows_per_s"]),
        ],
        ["the same with window, shuffle and answer", "", rate(lookup["with_all_steps_per_s"])],
        [
            f"{now['updates_per_s']:,} changes against {now['window_rows']:,} tuples, CPU seconds, first spans",
            "below 1",
            f"{now['cpu_s_early']:.3f}",
        ],
        ["the same, last spans", "no more", f"{now['cpu_s_late']:.3f}"],
        ["the same with a table that is not retroactive", "", f"{then['cpu_s_late']:.3f}"],
        [
            f"on Spark, by `db.load` every second, seconds behind, both halves of {changed['seconds']} s",
            "not growing",
            f"{changed['behind_s_early']} and {changed['behind_s_late']}",
        ],
        ["the same without changes", "", f"{alone['behind_s_early']} and {alone['behind_s_late']}"],
        [
            "median epoch, with and without changes, s",
            "",
            f"{changed['epoch_s']} and {alone['epoch_s']}",
        ],
        *(
            [f"{way['way']}, changes per second", f"{tables.AIMS['updates']:,}", f"{way['per_s']:,}"]
            for way in by_kind["writing"]
        ),
        [
            f"`db.load` of {loading['rows']:,} rows, seconds",
            f"{tables.AIMS['loading']:g}",
            f"{loading['seconds']:.2f}",
        ],
        ["the same with `replace=True`, 1 in 100 changed", "", f"{loading['replace_seconds']:.2f}"],
    ]
    note = f" Its load was up to {busiest:g}, others used it too." if busiest > 4 else ""
    return f"{measured_on(content)}{note}\n\n{table(['', 'aim', 'reached'], rows)}"


def idle(content: Content) -> str:
    """What an epoch costs by the number of queries that have nothing to do in it."""
    rows = []
    for r in content["results"]:
        phases = ", ".join(f"{name} {1e3 * took:.0f}" for name, took in r["phases"].items())
        rows.append([f"{r['due']:,}", f"{r['idle']:,}", f"{1e3 * r['seconds']:.0f}", phases])
    alone, among = content["results"]
    ratio = among["seconds"] / alone["seconds"]
    aim = idle_queries.AIM
    missed = "" if ratio <= aim else " ✗"
    return "\n\n".join(
        [
            measured_on(content),
            table(["due", "idle", "median epoch, ms", "phases of the last one, ms"], rows, left=0),
            f"Medians of {alone['epochs']} epochs. The ratio is {ratio:.2f}{missed}; the aim is {aim:g}.",
        ]
    )


def exchanges(content: Content) -> str:
    """Both ways of the exchange by workload, and what compression of its blocks costs and saves."""
    found = {(r["exchange"], r["workload"]): r for r in content["results"]}
    names = [name for name in WORKLOADS if ("files", name) in found]
    rows = []
    for figure, title in (("seconds", "seconds"), ("cpu_s", "processor seconds")):
        reached = {way: [found[way, name][figure] for name in names] for way in exchange.WAYS}
        rows += [[f"{title}, {way}", *(f"{value:.2f}" for value in reached[way])] for way in exchange.WAYS]
        ratio = [shuffle / files for files, shuffle in zip(*reached.values(), strict=True)]
        rows.append(["ratio", *(f"{value:.2f}×" for value in ratio)])
    codecs = [
        [c["codec"], f"{c['size']:.2f}", f"{c['write_ms_per_mb']:.2f}", f"{c['read_ms_per_mb']:.2f}"]
        for c in content["codecs"]
    ]
    most = max(r["rows"] for r in content["results"])
    wrong = sum(r["is_right"] is False for r in content["results"])
    return "\n\n".join(
        [
            measured_on(content),
            table([f"{most:,} rows", *names], rows),
            f"{wrong} of {len(content['results'])} checksums are wrong. The load of the machine was "
            f"{content['load']:g} on {content['machine']['cores']} cores; where it is above their number, "
            "processor seconds tell more than seconds.",
            table(["compression", "size", "to write, ms of CPU per MB", "to read"], codecs),
        ]
    )


def standing_costs(content: Content) -> str:
    """Rows per second against registered queries, `invoke` against the size of the window, and registering."""
    found = {(r["curve"], r["x"]): float(r["y"]) for r in content["results"]}
    counts, sizes = standing_queries.COUNTS, standing_queries.SIZES[::2]

    def cells(curve: str, places: Sequence[int], form: Callable[[float], str]) -> list[str]:
        return [form(found[curve, x]) if (curve, x) in found else "not tried" for x in places]

    rows = [
        ["with the index", *cells("ingest, with the index", counts, rate)],
        ["each in turn", *cells("ingest, each in turn", counts, rate)],
        ["the index and the store alone, of one core", *cells("kernel: tuples/s", counts, rate)],
        ["to add a query to the index, ms", *cells("kernel: adding a query to the index", counts, short)],
    ]
    windows = [
        ["`invoke`, ms", *cells("response: invoke", sizes, short)],
        ["the same query asked anew with `db.sql`, ms", *cells("response: asked anew", sizes, short)],
    ]
    least, most = counts[0], counts[-1]
    curve, one_more = "ingest, with the index", "registering one more"
    invoked = [found[f"invoke while epochs run, {name}", 1000] for name in ("median", "p99")]
    return "\n\n".join(
        [
            measured_on(content),
            table(["rows/s by registered selections", *(f"{count:,}" for count in counts)], rows),
            f"{most:,} queries cost {short(found[curve, least] / found[curve, most])} times as much as {least}. "
            f"To register all {most:,} took {short(found['registering, in all', most])} s; one more after "
            f"{most:,} took {short(found[one_more, most])} ms, "
            f"one more after {least} {short(found[one_more, least])} ms.",
            table(["tuples in the window", *(f"{size:,}" for size in sizes)], windows),
            f"`invoke` of an answer of 1,000 rows, with {most:,} queries registered and epochs running, took "
            f"{short(invoked[0])} ms in the median and {short(invoked[1])} ms at the 99th percentile: the slow "
            "ones are the first to read a new epoch.",
        ]
    )


def measured_scale(content: Content) -> str:
    """What the driver does and writes by shards and queries."""
    header = [
        "shards",
        "queries",
        "the driver's Python, s",
        "Spark's scheduling, s",
        "a task, ms",
        "files per epoch",
        "MB per epoch",
        "record, kB",
    ]
    rows = [
        [
            f"{p['shards']:,}",
            str(p["queries"]),
            short(p["python_s"]),
            short(p["scheduling_s"]),
            short(1000 * p["tasks_s"] / p["shards"]),
            f"{p['files']:,}",
            short(p["bytes"] / 1e6),
            short(p["record_bytes"] / 1e3),
        ]
        for p in content["results"]
    ]
    return f"{measured_on(content)}\n\n{table(header, rows, left=0)}"


def modeled_scale(scaled: Content, store: Content, workloads: Content) -> str:
    """Seconds, files, requests and rows per second by cores, from the constants."""
    found = scale_model.models(scaled, store, workloads)
    constants = [
        [
            str(model.queries),
            f"{short(model.driver_s.fixed)} s + {short(1000 * model.driver_s.per_shard)} ms × shards",
            f"{short(1000 * model.task_s)} ms",
            f"{short(model.files.fixed)} + {short(model.files.per_shard)} × shards",
            f"{short(model.requests.fixed)} + {short(model.requests.per_shard)} × shards",
            rate(model.rows_per_core_s),
        ]
        for model in found
    ]
    header = ["queries", "driver(c, q)", "task(q)", "files per epoch", "requests per epoch", "rate"]
    parts = [table(header, constants, left=0)]
    for model in found:
        rows = [
            [
                f"{cores:,}",
                short(model.driver_s.at(cores)),
                f"{model.files.at(cores):,.0f}",
                f"{model.requests.at(cores):,.0f}",
                short(model.record_bytes.at(cores) / 1e3),
                rate(model.rows_per_s(cores)),
                f"{model.rest_s(cores) / scale_model.EPOCH_S:.0%}",
            ]
            for cores in scale_model.CORES
        ]
        title = f"cores, {model.queries} quer{'y' if model.queries == 1 else 'ies'}"
        columns = ["driver, s", "files", "requests", "record, kB", "rows per second", "of an epoch for rows"]
        parts.append(table([title, *columns], rows, left=0))
    return "\n\n".join(
        [*parts, "![the driver's seconds, files, and rows per second by cores](charts/scale.svg)"]
    )


def store_requests(content: Content) -> str:
    """Requests by kind, and seconds beside those of a local folder."""
    kinds = sorted({kind for r in content["results"] for kind in r["requests"]})
    rows = [
        [
            str(r["shards"]),
            *(f"{r['requests'].get(kind, 0):.0f}" for kind in kinds),
            f"{r['total']:.0f}",
            short(r["requests_s"]),
            short(r["store_s"]),
            short(r["local_s"]),
        ]
        for r in content["results"]
    ]
    header = ["shards", *kinds, "requests per epoch", "their time, s", "an epoch, s", "an epoch, local, s"]
    return f"{measured_on(content)}\n\n{table(header, rows, left=0)}"


SECTIONS: dict[str, tuple[str, Callable[[Content], str]]] = {
    "workloads": (run.NAME, workloads),
    "ratios": (run.NAME, ratios),
    "runs": (run.NAME, where_time_goes),
    "growth": (growth.NAME, growth_curves),
    "update-patterns": (UPDATE_PATTERNS, update_pattern_tables),
    "lazy-expiration": (LAZY_EXPIRATION, lazy_expiration_table),
    "joins": ("joins", lambda content: f"{measured_on(content)}\n\n{join_tables(content['results'])}"),
    "expiration": ("expiration", expiration_tables),
    "frequent-items": (FREQUENT_ITEMS, frequent_items_table),
    "index": ("index", index_tables),
    "idle": (idle_queries.NAME, idle),
    "operators": (
        "operators",
        lambda content: f"{measured_on(content)}\n\n{operator_table(content['results'])}",
    ),
    "live": (live.NAME, live_stream),
    "readers": (readers.NAME, readers_without_pause),
    "exchange": (exchange.NAME, exchanges),
    "tables": (tables.NAME, changing_tables),
}


def written(page: str) -> str:
    """The page with the figures of the result files; a part whose file is not there stays as it is."""
    for mark, (name, write) in SECTIONS.items():
        content = load(name)
        if content is not None:
            page = between(page, mark, write(content))
    return page


def standing_written(page: str) -> str:
    """The page of standing queries with the figures of its result file."""
    content, windows = load(standing_queries.NAME), load(standing_queries.WINDOWS_NAME)
    if windows is not None:
        page = between(page, "windows", windows_table(windows))
    return page if content is None else between(page, "costs", standing_costs(content))


def scale_written(page: str) -> str:
    """The page of scale with the figures of its result files, as far as they are there."""
    scaled, store, workloads = load(scale.NAME), load(object_store.NAME), load(run.NAME)
    if scaled is not None:
        page = between(page, "measured", measured_scale(scaled))
    if store is not None:
        page = between(page, "requests", store_requests(store))
    if scaled is not None and store is not None and workloads is not None:
        page = between(page, "model", modeled_scale(scaled, store, workloads))
    return page


def reading_written(page: str) -> str:
    """The page of reading with the figures of its result file."""
    content = load(isolation.NAME)
    return page if content is None else between(page, "isolation", isolation_tables(content))


def answers_written(page: str) -> str:
    """The page of answers with the figures of its result file."""
    content = load(psoup.NAME)
    return page if content is None else between(page, "psoup", psoup_tables(content))


def between(page: str, mark: str, text: str) -> str:
    """The page with a text between the two comments of a mark."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no place for {mark}")
    return pattern.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)


def main() -> None:
    pages = (
        (PAGE, written),
        (STANDING_PAGE, standing_written),
        (SCALE_PAGE, scale_written),
        (READING_PAGE, reading_written),
        (ANSWERS_PAGE, answers_written),
    )
    for page, write in pages:
        page.write_text(write(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"Wrote {page}")


if __name__ == "__main__":
    main()
