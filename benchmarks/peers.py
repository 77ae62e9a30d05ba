"""Time of skpd to an accuracy against that of other solvers of the same model.

Every contender solves every case with settings from loose to tight, in a process of its
own, on data in its own layout, after a first fit of a tiny problem. Its time to an accuracy
is that of the fastest setting whose objective, evaluated here, is above the best known by
at most that share of the objective of w = 0. Entries are a peer's time over skpd's: above 1
skpd is faster. "> r" is a bound from the fits up to the time limit; "stops at e" is
the best accuracy of a peer that ended by itself. `pairs` is skpd's time to 1e-6 over that of
one product with X and one with its transpose, and the last columns say whether skpd reached
these certified relative gaps without a warning, with the iterations.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.contenders import OURS, entrants
from benchmarks.data import dataset, save
from benchmarks.models import MODELS, add_selection, alpha_of, selected
from benchmarks.race import race
from benchmarks.results import best_objective, certified, report


def enough(case, so_far):
    """Whether tighter settings would only cost time.

    Far from the optimum no plateau counts: a loose setting may be met by chance.
    """
    reference = max(certified(case), 0.0)
    excess = [(value - reference) / case["zero"] for value in so_far]
    if min(excess) <= 1e-9:
        return True
    flat = len(excess) > 2 and min(excess[:-2]) - min(excess[-2:]) < 1e-9
    return flat and min(excess) <= 1e-6


def run_case(case, X, y, folder, limit):
    """Let every contender at a case; the results join it as they come."""
    model = MODELS[case["model"]]

    def evaluate(coef):
        value = model.objective(X, y, case["alpha"], coef)
        return value if np.isfinite(value) else np.inf

    for entrant in entrants(case["model"]):

        def stop(so_far, entrant=entrant):
            return entrant is not OURS and enough(case, so_far)

        # without skpd's result at 1e-9 there is nothing to compare with
        seconds = 10 * limit if entrant is OURS else limit
        result = race(entrant, case["model"], case["alpha"], folder, seconds, evaluate, stop)
        case["races"].append(result)
        progress(case, result)


def progress(case, result):
    """A line about what a contender reached."""
    name = f"{result['name']} {result['variant']}".strip()
    runs = result["runs"]
    best = best_objective(case) if any(race["runs"] for race in case["races"]) else np.nan
    steps = [
        f"{run['seconds']:.3g} s to {(run['objective'] - best) / case['zero']:.0e}" for run in runs
    ]
    if result["cut"] is not None:
        steps.append(f"cut off after {result['cut']:.0f} s")
    if result["failed"]:
        steps.append(f"failed: {result['failed']}")
    if "missing" in result:
        steps.append(f"missing: {result['missing']} (pip install '.[bench]')")
    where = f"{case['model']}, {case['data']}, alpha {case['alpha']:.3g}"
    print(f"{where}, {name}: {'; '.join(steps)}", file=sys.stderr, flush=True)


def run_all(options):
    """The cases chosen, each written to the raw results when it is done."""
    cases, current, X = [], None, None
    with tempfile.TemporaryDirectory() as folder:
        for name, model, rule in selected(options.models, options.data):
            place = Path(folder) / name
            if name != current:
                data, current = dataset(name, quick=options.quick), name
                X = data.X
                save(data, place)
            y = MODELS[model].target(data)
            case = {
                "data": name,
                "model": model,
                "rule": rule,
                "alpha": alpha_of(rule, MODELS[model], X, y),
                "zero": MODELS[model].objective(X, y, 1.0, np.zeros(X.shape[1])),
                "limit": options.limit,
                "races": [],
            }
            run_case(case, X, y, place, options.limit)
            cases.append(case)
            options.output.with_suffix(".json").write_text(json.dumps(cases, indent=1))
    return cases


def main(arguments=()):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_selection(parser)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per peer and case")
    parser.add_argument("--output", type=Path, default=Path("peers.png"), help="of the figure")
    parser.add_argument("--redraw", type=Path, help="raw results to show instead of a run")
    options = parser.parse_args(arguments)
    cases = json.loads(options.redraw.read_text()) if options.redraw else run_all(options)
    order = list(MODELS)
    cases.sort(key=lambda case: order.index(case["model"]))
    print(report(cases))
    try:
        from benchmarks.panels import draw
    except ImportError:
        print("\nno figure without matplotlib (pip install '.[bench]')")
        return
    draw(cases, options.output)
    print(f"\nfigure: {options.output}")
