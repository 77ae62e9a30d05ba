"""What the raw results of the everyday benchmark say: failures, times, ratios, wrong bounds.

A record is a dict: the fields of a case, alpha, null (the objective of the best constant
prediction), and of skpd's ``fits`` and the ``peers`` a dict each.
"""

import numpy as np

from benchmarks.helpers.results import two_digits

FACTORS = ("data", "variant", "loss", "penalty", "strength", "fit_intercept")
ROUNDING = 1e-9  # of the null model, by which a bound may be above an objective evaluated here
CLOSE = 1e-6  # accuracy asked of a peer at most
BRIEF = 0.01  # seconds of the peer, below which a ratio says little
LISTED, WORST = 30, 10
CUT = "cut off"  # what is said of a peer that was slower than another, or than its limit


def failure(run):
    """What went wrong with a fit; None if nothing did."""
    if "gap" not in run:
        return run["failed"]
    reached = f"gap {run['gap']:.1e} after {run['seconds']:.2g} s, {run['n_iter']} iterations"
    if run["failed"]:
        return f"{run['failed']}: {reached}"
    if not run["converged"]:
        return reached
    return f"warned: {run['warnings'][0]}" if run["warnings"] else None


def best_objective(record):
    """The least objective that anyone reached."""
    found = [run["objective"] for run in record["fits"] + record["peers"] if "objective" in run]
    return min(found, default=np.inf)


def excess(record, objective):
    """How far an objective is above the best, relative to the null model."""
    return (objective - best_objective(record)) / record["null"]


def violations(record):
    """Bounds above the best objective, and objectives further above it than certified."""
    lines = []
    for run in record["fits"]:
        if "gap" not in run:
            continue
        above = excess(record, run["dual"])
        if not above <= ROUNDING:
            lines.append(f"bound above the best objective by {above:.1e}")
        off = excess(record, run["objective"])
        if not off <= run["gap"] + ROUNDING:
            lines.append(f"objective {off:.1e} above the best, certified was {run['gap']:.1e}")
    return lines


def peer_failure(record, peer, accuracy):
    """Why a peer's time does not count."""
    if peer["failed"]:
        return peer["failed"]
    off = excess(record, peer["objective"])
    return None if off <= accuracy else f"{off:.0e} above the best"


def best_peer(record, tol):
    """The fastest peer that is right; None if none is."""
    accuracy = max(tol, CLOSE)
    right = [peer for peer in record["peers"] if not peer_failure(record, peer, accuracy)]
    return min(right, key=lambda peer: peer["seconds"], default=None)


def ratios(records):
    """(skpd's time over the best peer's, record, run, peer), the largest first."""
    found = []
    for record in records:
        for run in record["fits"]:
            peer = best_peer(record, run["tol"])
            if peer and peer["seconds"] >= BRIEF and not failure(run):
                found.append((run["seconds"] / peer["seconds"], record, run, peer))
    return sorted(found, key=lambda entry: -entry[0])


def where(record):
    intercept = "intercept" if record["fit_intercept"] else "no intercept"
    names = ", ".join(record[name] for name in ("data", "variant", "loss", "penalty"))
    return f"{names}, max/{record['strength']}, {intercept}"


def fits(records):
    return [(record, run) for record in records for run in record["fits"]]


def failures(records):
    """(record, run) of the fits that failed, the largest gap first."""
    failed = [(record, run) for record, run in fits(records) if failure(run)]
    return sorted(failed, key=lambda pair: -pair[1].get("gap", np.inf))


def counts(records):
    """Failures by the values of every factor."""
    lines = []
    for name in FACTORS:
        values = list(dict.fromkeys(record[name] for record in records))
        parts = []
        for value in values:
            runs = [run for record, run in fits(records) if record[name] == value]
            failed = sum(failure(run) is not None for run in runs)
            parts.append(f"{value} {failed}/{len(runs)}")
        lines.append(f"  {name}: {', '.join(parts)}")
    return lines


def failure_lines(records):
    failed = failures(records)
    constant = sum(run["constant"] for _, run in fits(records))
    lines = [
        f"{len(failed)} of {len(fits(records))} fits did not converge, warned or failed; "
        f"{constant} warned that all coefficients are 0"
    ]
    if failed:
        lines += counts(records)
    for record, run in failed[:LISTED]:
        lines.append(f"  {where(record)}, tol {run['tol']:g}: {failure(run)}")
    if len(failed) > LISTED:
        lines.append(f"  and {len(failed) - LISTED} more")
    return lines


def slowest_lines(records):
    """The slowest fits to the loosest tolerance."""
    tol = max(run["tol"] for _, run in fits(records))
    timed = [pair for pair in fits(records) if pair[1]["tol"] == tol and "seconds" in pair[1]]
    timed.sort(key=lambda pair: -pair[1]["seconds"])
    lines = [f"slowest fits at tol {tol:g}"]
    for record, run in timed[:WORST]:
        lines.append(f"  {run['seconds']:.2g} s, {run['n_iter']} iterations: {where(record)}")
    return lines


def ratio_lines(records):
    """skpd's times over the best peer's."""
    lines = []
    for tol in sorted({run["tol"] for _, run in fits(records)}, reverse=True):
        found = [entry for entry in ratios(records) if entry[2]["tol"] == tol]
        if not found:
            lines.append(f"no ratio at tol {tol:g}")
            continue
        values = np.array([ratio for ratio, *_ in found])
        lines.append(
            f"skpd over the best peer at tol {tol:g}: geometric mean "
            f"{two_digits(np.exp(np.mean(np.log(values))))} over {len(found)} fits with a peer "
            f"above {BRIEF:g} s, {np.sum(values > 1.0)} of them slower than the peer; the worst"
        )
        for ratio, record, run, peer in found[:WORST]:
            lines.append(
                f"  {two_digits(ratio)}: {where(record)}: {run['seconds']:.2g} s, "
                f"{peer['name']} {peer['seconds']:.2g} s"
            )
    return lines


def peer_lines(records):
    """Where the peers have no right answer."""
    lines = []
    for name in dict.fromkeys(peer["name"] for record in records for peer in record["peers"]):
        said = [
            peer_failure(record, peer, CLOSE)
            for record in records
            for peer in record["peers"]
            if peer["name"] == name
        ]
        wrong = sum(reason not in (None, CUT) for reason in said)
        lines.append(
            f"{name}: of {len(said)} problems {said.count(CUT)} were cut off, and {wrong} ended "
            f"in an error or more than {CLOSE:g} above the best"
        )
    return lines


def violation_lines(records):
    wrong = [(record, line) for record in records for line in violations(record)]
    return [f"{len(wrong)} wrong certificates"] + [
        f"  {where(record)}: {line}" for record, line in wrong
    ]


def report(records):
    """The summary of all records."""
    parts = [failure_lines, slowest_lines, ratio_lines, peer_lines, violation_lines]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := part(records)))
