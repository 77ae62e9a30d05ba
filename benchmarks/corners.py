"""Fits that were slow beside what they could be, each with an aim.

A row is met where the best peer's time over ours is at least the aim, or, where no peer solves the
model, where our time is at most the aim times that of the fit or number beside it; some rows allow
a number of seconds more, or limit the memory beside X. Times are those of the processor, with
those of the workers for Dask. Each row is measured in a process of its own, on data that are
generated or in the folder that SKPD_DATA names. SKPD_BLOCK_ROWS is the number of rows of a file,
by default a tenth of the 60,000,000 for which blocks are meant.
"""

import json
import re
from pathlib import Path

from benchmarks.helpers.corner import measured
from benchmarks.helpers.corner_cases import corners
from benchmarks.helpers.publish import machine
from benchmarks.helpers.results import two_digits
from benchmarks.helpers.worker import in_own_process

HEADER = ("fit", "skpd", "gap", "beside", "seconds", "ratio", "aim", "met")


def named(name):
    """The measurement of one corner, in a process that has seen nothing else."""
    return measured(next(corner for corner in corners() if corner.name == name))


def cells(row):
    """A row of the table as text."""
    memory = f" ({row['gigabytes']:.2g} GB)" if "gigabytes" in row else ""
    return [
        row["name"], f"{row['seconds']:.3g} s{memory}", f"{row['gap']:.0e}", row["beside"],
        f"{row['theirs']:.3g}", two_digits(row["ratio"]), row["aim"],
        "yes" if row["met"] else "no",
    ]  # fmt: skip


OPTIONS = {
    "--only": {"default": "", "help": "a pattern of names"},
    "--publish": {"type": Path, "metavar": "FILE", "help": "also write the site's table"},
}


def main(options):
    print("| " + " | ".join(HEADER) + " |")
    print("| --- |" + " --- |" * (len(HEADER) - 1))
    rows = []
    for corner in corners():
        if re.search(options.only, corner.name):
            rows.append(in_own_process(named, corner.name))
            print("| " + " | ".join(cells(rows[-1])) + " |", flush=True)
    print(f"\n{sum(row['met'] for row in rows)} of {len(rows)} aims are met")
    if options.publish:
        content = {"machine": machine(), "rows": [list(HEADER), *map(cells, rows)]}
        options.publish.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
