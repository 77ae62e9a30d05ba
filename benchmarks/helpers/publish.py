"""The tables of a comparison as a small file, from which the site makes its page.

``python -m benchmarks peers --publish doc/benchmarks/peers.json``, with ``--redraw`` also from the
raw results of an earlier run, writes what `doc/extensions/benchmark_tables.py` shows: for each
model a table of the ratios at the high accuracy and its summary, and on what it was measured.
"""

import json
import os
import platform
from importlib import metadata
from pathlib import Path

from benchmarks.helpers import results
from benchmarks.helpers.results import HIGH

PACKAGES = ("skpd", "numpy", "scipy", "scikit-learn")
OF_PEERS = (
    "celer", "skglm", "adelie", "rehline", "cyanure", "glum", "snapml", "clarabel", "highspy",
)  # fmt: skip


def machine():
    """What times depend on: the processor, and the versions of what is installed."""
    found = {}
    for package in (*PACKAGES, *OF_PEERS):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    processor = platform.processor() or platform.machine()
    names = Path("/proc/cpuinfo")
    if names.exists():
        lines = [line for line in names.read_text().splitlines() if line.startswith("model name")]
        processor = lines[0].split(":", 1)[1].strip() if lines else processor
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": found,
    }


def tables(cases):
    """For each model the rows of its table, the first of them the header, and its summary."""
    found = []
    for model in dict.fromkeys(case["model"] for case in cases):
        mine = [case for case in cases if case["model"] == model]
        names = dict.fromkeys(name for case in mine for name in results.peers(case))
        names = [
            name for name in names
            if any(results.outcome(case, name, HIGH).kind != "missing" for case in mine)
        ]  # fmt: skip
        rows = [["data", "alpha", "skpd", *names]]
        for case in mine:
            own = [case["data"], results.alpha_text(case), results.seconds_text(case, HIGH)]
            rows.append([*own, *(results.cell(case, name, HIGH) for name in names)])
        found.append({"model": model, "rows": rows, "summary": results.summary(mine)})
    return found


def publish(cases, name, path):
    """Write the file.

    Raises
    ------
    ValueError
        If the cases were measured on several machines, or before results named theirs.
    """
    machines = [case.get("machine") for case in cases]
    if None in machines or any(one != machines[0] for one in machines):
        raise ValueError("the results to publish must be of one run, whose machine they name.")
    content = {
        "benchmark": name,
        "clock": cases[0]["clock"],
        "limit": max(case["limit"] for case in cases),
        "machine": machines[0],
        "tables": tables(cases),
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
