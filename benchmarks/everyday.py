"""The default solver on data that people try first, beside HiGHS and Clarabel.

What scikit-learn bundles, as it is and spoilt in common ways, with every loss, every penalty,
alphas from a tenth to a ten-thousandth of the largest of interest, with and without
intercept, to the default tolerance and, where it is reached, to 1e-8. A fit fails if it does
not converge, warns, ends in an error or does not end in time. The peers solve the dual conic
programmes of `benchmarks.helpers.conic` with their default tolerances, HiGHS by its faster method;
without the time to build the matrices. A peer's time counts if its objective, evaluated here,
is within 1e-4 or 1e-6 of the best that anyone found, relative to that of the best constant
prediction. That best must not be below a certified bound either.

The default selection has every loss, penalty and variant of the data together once, and goes
through the rest in turn. The exit status is 1 if a fit failed or a bound was wrong.
"""

import argparse
import json
import signal
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path

from benchmarks.constant_models import SAYS
from benchmarks.helpers import conic
from benchmarks.helpers import everyday_results as results
from benchmarks.helpers.everyday_cases import LOSSES, PENALTIES, Case, cases, scale
from benchmarks.helpers.everyday_data import LOADERS, TEN, VARIANTS
from benchmarks.helpers.race import LOADING
from benchmarks.helpers.worker import Worker

TOLERANCES = (1e-4, 1e-8)
SHORT = 0.2  # seconds, below which a time is the best of three
GRACE = 30.0  # seconds beyond its limits after which a process that does not answer is killed


def fit(case, tol, limit):
    """What skpd makes of a case, with what it says of itself and the objective evaluated here.

    After the limit, in seconds, it is interrupted.
    """
    X, y = case.rows()
    estimator, seconds, failed = case.estimator(tol=tol), [], None
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            signal.setitimer(signal.ITIMER_REAL, limit)
            while not seconds or (seconds[0] < SHORT and len(seconds) < 3):
                start = time.perf_counter()
                estimator.fit(X, y)
                seconds.append(time.perf_counter() - start)
        except KeyboardInterrupt:
            failed = f"no end within {limit:g} s"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    said = [str(warning.message).splitlines()[0] for warning in caught]
    others = [text for text in said if SAYS not in text]  # as the best coefficients may be 0
    result = {"tol": tol, "failed": failed, "warnings": list(dict.fromkeys(others))}
    result["constant"] = len(others) < len(said)
    if not hasattr(estimator, "certificate_"):
        return result
    certificates = estimator.certificate_.each
    return {
        **result,
        "seconds": min(seconds, default=limit),
        "n_iter": int(estimator.n_iter_),
        "converged": bool(estimator.converged_),
        "gap": float(max(certificate.relative_gap for certificate in certificates)),
        "dual": float(sum(certificate.dual for certificate in certificates)),
        "objective": case.objective(estimator.coef_, estimator.intercept_),
    }


def solve(case, name, limit):
    """What a peer makes of a case; it is cut off after the limit, in seconds."""
    X, y = case.rows()
    parts = conic.programme(case.loss, case.penalty, X, y, scale(case)[0], case.fit_intercept)
    solver = conic.solve_by_clarabel if name == "clarabel" else conic.solve_by_highs
    arguments = (parts, limit) if name == "clarabel" else (parts, name, limit)
    seconds = []
    try:
        while not seconds or (seconds[0] < SHORT and len(seconds) < 3):
            elapsed, multipliers = solver(*arguments)
            seconds.append(elapsed)
    except TimeoutError:
        return {"name": name, "failed": results.CUT}
    d = X.shape[1]
    intercept = multipliers[d] if case.fit_intercept else 0.0
    return {
        "name": name,
        "failed": None,
        "seconds": min(seconds),
        "objective": case.objective(multipliers[:d], intercept),
    }


def describe(case):
    alpha, null = scale(case)
    return {"alpha": alpha, "null": null}


def run_case(case, worker, options):
    """The record of a case."""
    record = {**asdict(case), "fits": [], "peers": []}
    record |= worker(describe, case, seconds=LOADING)
    if "null" not in record:
        raise RuntimeError(f"{case}: {record['failed']}")
    for tol in sorted(options.tol, reverse=True):
        seconds = options.limit + GRACE
        answer = worker(fit, case, tol, options.limit, seconds=seconds)
        record["fits"].append({"tol": tol, **answer})
        if results.failure(record["fits"][-1]):
            break  # what is tighter would fail as well
    if options.peers and case.data != TEN:
        limit = options.peer_limit
        for name in ["clarabel", *(["highs-ds", "highs-ipm"] if case.is_linear else [])]:
            answer = worker(solve, case, name, limit, seconds=limit + GRACE)
            record["peers"].append({"name": name, **answer})
            if name == "highs-ds":  # the slower method does not count
                limit = min(limit, answer.get("seconds", limit))
    return record


def progress(record):
    """A line about a case."""
    steps = [
        f"{run['tol']:g} {results.failure(run) or format(run['seconds'], '.2g') + ' s'}"
        for run in record["fits"]
    ]
    steps += [
        f"{peer['name']} {peer['failed'] or format(peer['seconds'], '.2g') + ' s'}"
        for peer in record["peers"]
    ]
    steps += results.violations(record)
    print(f"{results.where(record)}: {'; '.join(steps)}", file=sys.stderr)


CHOICES = {"data": [*LOADERS, TEN], "variants": VARIANTS, "losses": LOSSES, "penalties": PENALTIES}
OPTIONS = {
    "--full": (False, "the whole grid"),
    "--quick": (False, "each loss with each penalty once"),
    **{
        f"--{name}": {"nargs": "+", "choices": values, "metavar": "NAME", "help": f"{[*values]}"}
        for name, values in CHOICES.items()
    },
    "--tol": {"type": float, "nargs": "+", "default": TOLERANCES},
    "--limit": (20.0, "seconds for a fit"),
    "--peer-limit": (5.0, "seconds for a peer"),
    "--peers": {"action": argparse.BooleanOptionalAction, "default": True},
    "--output": {"type": Path, "default": Path("everyday.jsonl"),
                 "help": "raw results, a line of JSON for each case"},
    "--resume": (False, "keep what the output holds"),
}  # fmt: skip


def chosen(options):
    """The cases that the options choose."""
    selection = "full" if options.full else "quick" if options.quick else "default"
    wanted = {"data": options.data, "variant": options.variants, "loss": options.losses,
              "penalty": options.penalties}  # fmt: skip
    for case in cases(selection):
        if all(not names or getattr(case, field) in names for field, names in wanted.items()):
            yield case


def main(options):
    resumed = options.resume and options.output.exists()
    lines = options.output.read_text().splitlines() if resumed else []
    records = [json.loads(line) for line in lines]
    known = {tuple(record[name] for name in results.FACTORS) for record in records}
    warm_up = Case("iris", "standardised", "logistic", "l1", 10, True)
    worker = Worker(fit, warm_up, 1e-4, LOADING)
    output = options.output.open("a" if options.resume else "w")
    try:
        for case in chosen(options):
            if tuple(asdict(case).values()) in known:
                continue
            records.append(run_case(case, worker, options))
            progress(records[-1])
            output.write(json.dumps(records[-1]) + "\n")
            output.flush()
    except KeyboardInterrupt:
        print("interrupted: the report is of what there is", file=sys.stderr)
    finally:
        worker.close()
        output.close()
    if not records:
        raise SystemExit("no case: none of the selection has all that was asked for")
    print(results.report(records))
    wrong = results.failures(records) or any(results.violations(record) for record in records)
    raise SystemExit(1 if wrong else 0)
