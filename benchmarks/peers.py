"""Time of skpd to an accuracy against that of other solvers of the same model.

Every contender solves every case with settings from loose to tight, in a process of its
own, on data in its own layout, after a first fit of a tiny problem. Its time to an accuracy
is that of the fastest setting whose objective, evaluated here, is above the best known by
at most that share of the objective of w = 0. Entries are a peer's time over skpd's: above 1
skpd is faster. "> r" is a bound from the fits up to the time limit; "stops at e" is
the best accuracy of a peer that ended by itself. `pairs` is skpd's time to 1e-6 over that of
one product with X and one with its transpose, for several outputs of a table with as many
columns, and the last columns say whether skpd reached these certified relative gaps without a
warning, with the iterations. The last table gives, for each peer, the ratios at 1e-6 over all
cases.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.helpers.contenders import OURS as SKPD
from benchmarks.helpers.contenders import PEERS
from benchmarks.helpers.data import dataset, save
from benchmarks.helpers.further_peers import FURTHER_PEERS
from benchmarks.helpers.matrix_peers import MATRIX_PEERS
from benchmarks.helpers.models import CASES, MODELS, alpha_of, selected, selection, with_more
from benchmarks.helpers.publish import machine, publish
from benchmarks.helpers.race import race
from benchmarks.helpers.results import OURS, alpha_text, best_objective, certified, excess, report


def enough(case, so_far):
    """Whether tighter settings would only cost time.

    Far from the optimum no plateau counts: a loose setting may be met by chance.
    """
    reference = np.maximum(certified(case), 0.0)
    distances = [excess(case, objective, reference) for objective in so_far]
    if min(distances) <= 1e-9:
        return True
    flat = len(distances) > 2 and min(distances[:-2]) - min(distances[-2:]) < 1e-9
    return flat and min(distances) <= 1e-6


def run_case(case, X, y, folder, contenders, clock):
    """Let every contender at a case; the results join it as they come."""
    model, alpha, limit = MODELS[case["model"]], case["alpha"], case["limit"]

    def value(alpha, coef):
        found = model.objective(X, y, alpha, coef)
        return found if np.isfinite(found) else np.inf

    def evaluate(coef):
        if np.ndim(alpha) == 0:
            return value(alpha, coef)
        return [value(*pair) for pair in zip(alpha, coef, strict=True)]

    for entrant in contenders:

        def stop(so_far, entrant=entrant):
            return entrant.name != OURS and enough(case, so_far)

        # without skpd's result at 1e-9 there is nothing to compare with
        seconds = 10 * limit if entrant.name == OURS else limit
        arguments = (case["model"], case["alpha"], folder, seconds, evaluate, stop, clock)
        result = race(entrant, *arguments)
        case["races"].append(result)
        progress(case, result)


def progress(case, result):
    """A line about what a contender reached."""
    name = f"{result['name']} {result['variant']}".strip()
    runs = result["runs"]
    best = best_objective(case) if any(race["runs"] for race in case["races"]) else np.nan
    steps = [
        f"{run['seconds']:.3g} s to {excess(case, run['objective'], best):.0e}" for run in runs
    ]
    if result["cut"] is not None:
        steps.append(f"cut off after {result['cut']:.0f} s" if result["cut"] else "out of time")
    if result["failed"]:
        steps.append(f"failed: {result['failed']}")
    if "missing" in result:
        steps.append(f"missing: {result['missing']} (pip install -r benchmarks/requirements.txt)")
    where = f"{case['model']}, {case['data']}, alpha {alpha_text(case)}"
    print(f"{where}, {name}: {'; '.join(steps)}", file=sys.stderr, flush=True)


def run_all(options, chosen, contenders):
    """The cases chosen, each written to the raw results when it is done."""
    cases, current, X = [], None, None
    with tempfile.TemporaryDirectory() as folder:
        for name, model, rule in chosen:
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
                "zero": MODELS[model].objective(X, y, 1.0, MODELS[model].zero(X, y)),
                "limit": options.limit,
                "clock": options.clock,
                "machine": machine(),
                "races": [],
            }
            run_case(case, X, y, place, contenders(model), options.clock)
            cases.append(case)
            options.output.with_suffix(".json").write_text(json.dumps(cases, indent=1))
    return cases


def entrants(model):
    """skpd first, then the peers that fit a model, installed or not."""
    peers = (*PEERS, *FURTHER_PEERS, *MATRIX_PEERS)
    return [SKPD, *(peer for peer in peers if model in peer.models)]


def options_of(name, all_cases, contenders):
    """The options of a comparison of the contenders for a model."""
    names = list(dict.fromkeys(one.name for model in all_cases for one in contenders(model)[1:]))
    clocks = "perf_counter", "process_time"
    return {
        **selection(all_cases),
        "--quick": (False, "a tenth of the rows"),
        "--contenders": {"nargs": "+", "choices": names, "default": names, "metavar": "NAME",
                         "help": f"beside skpd: {names}"},
        "--limit": (300.0, "seconds per peer and case"),
        "--clock": {"choices": clocks, "default": clocks[0], "help": "process_time, with a single "
                    "core to run on, where others use the machine as well"},
        "--output": {"type": Path, "default": Path(f"{name}.json"), "help": "of raw results"},
        "--redraw": {"type": Path, "help": "raw results to show instead of a run"},
        "--publish": {"type": Path, "metavar": "FILE",
                      "help": "also write the tables that doc/benchmarks.rst shows"},
    }  # fmt: skip


OPTIONS = options_of("peers", with_more(CASES), entrants)


def main(options):
    compare(options, "peers", with_more(CASES), entrants)


def compare(options, name, all_cases, contenders):
    """Run a comparison of the contenders for a model, or show its raw results."""
    if options.redraw:
        cases = json.loads(options.redraw.read_text())
    else:
        wanted = [OURS, *options.contenders]

        def invited(model):
            return [one for one in contenders(model) if one.name in wanted]

        chosen = selected(options.models, options.data, all_cases)
        chosen = [case for case in chosen if len(invited(case[1])) > 1]
        cases = run_all(options, chosen, invited)
    cases.sort(key=lambda case: list(MODELS).index(case["model"]))
    print(report(cases))
    if options.publish:
        publish(cases, name, options.publish)
