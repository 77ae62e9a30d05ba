"""What the raw results of the peers benchmark say: times to an accuracy, tables, checks.

A case is a dict: data, model, rule, alpha, zero (the objective of w = 0), and races, a dict
of `benchmarks.helpers.race.race` for every contender and variant. Where alpha is a list, so are
the objectives and the lower bounds of a run, and its accuracy is the worst over the alphas.
"""

from dataclasses import dataclass

import numpy as np

LOW, HIGH = 1e-3, 1e-6
ROUNDING = 1e-10
OURS = "skpd"


@dataclass(frozen=True)
class Outcome:
    """How a contender fared: "reached", "cut" (by the limit), "stops", "failed", "missing".

    ``seconds`` is the time to the accuracy or, of one cut off, a lower bound on it.
    ``accuracy`` is the best reached.
    """

    kind: str
    seconds: float = np.inf
    accuracy: float = np.inf


def best_objective(case):
    """The least objective that anyone reached, for every alpha."""
    values = [run["objective"] for race in case["races"] for run in race["runs"]]
    return np.min(values, axis=0) if values else np.inf


def certified(case):
    """The largest lower bound that skpd proved, for every alpha; -inf if there is none."""
    runs = [run for race in case["races"] if race["name"] == OURS for run in race["runs"]]
    return np.max([run["dual"] for run in runs], axis=0) if runs else -np.inf


def excess(case, objective, reference):
    """An objective less a reference, as a share of that of w = 0; the worst over the alphas."""
    return float(np.max((np.asarray(objective) - reference) / case["zero"]))


def peers(case):
    """The names of all but skpd, in order."""
    return list(dict.fromkeys(race["name"] for race in case["races"] if race["name"] != OURS))


def outcome(case, name, accuracy):
    """How a contender, at the best of its variants, fared on the way to an accuracy."""
    races = [race for race in case["races"] if race["name"] == name]
    best = best_objective(case)
    runs = [
        (excess(case, run["objective"], best), run["seconds"])
        for race in races
        for run in race["runs"]
    ]
    within = [seconds for distance, seconds in runs if distance <= accuracy]
    closest = min((distance for distance, _ in runs), default=np.inf)
    if within:
        return Outcome("reached", min(within), closest)
    # a tighter setting goes on where a looser one stopped, so takes no less time
    cut = [
        max([race["cut"], *(run["seconds"] for run in race["runs"])])
        for race in races
        if race["cut"] is not None
    ]
    if cut:
        return Outcome("cut", min(cut), closest)
    if any(race["failed"] for race in races):
        return Outcome("failed")
    return Outcome("stops", accuracy=closest) if runs else Outcome("missing")


def ratio(case, name, accuracy):
    """(sign, a peer's time over skpd's): sign is "", ">" or "<" for bounds; None without one."""
    ours, peer = outcome(case, OURS, accuracy), outcome(case, name, accuracy)
    if peer.kind not in ("reached", "cut") or ours.kind not in ("reached", "cut"):
        return None
    if peer.kind == ours.kind == "cut" or not peer.seconds:
        return None
    sign = ">" if peer.kind == "cut" else "<" if ours.kind == "cut" else ""
    return sign, peer.seconds / ours.seconds


def best_peer(case, accuracy=HIGH):
    """(name, sign, ratio) of the fastest peer; a bound where one that was cut may be faster."""
    found = [(name, *pair) for name in peers(case) if (pair := ratio(case, name, accuracy))]
    return min(found, key=lambda entry: entry[2], default=None)


def two_digits(x):
    """A number to two significant digits."""
    return f"{float(f'{x:.2g}'):g}"


def alpha_text(case):
    """The rule that gave alpha, or its number."""
    rule = case["rule"]
    return rule if isinstance(rule, str) else f"{rule:g}"


def cell(case, name, accuracy):
    """A peer's entry in the table."""
    peer = outcome(case, name, accuracy)
    if peer.kind == "stops":
        return f"stops at {peer.accuracy:.0e}"
    if peer.kind in ("failed", "missing"):
        return peer.kind
    if not peer.seconds:
        return "cut off"
    pair = ratio(case, name, accuracy)
    return f"{pair[0]} {two_digits(pair[1])}".strip() if pair else f"{peer.seconds:.2g} s"


def seconds_text(case, accuracy):
    """skpd's entry in the table."""
    ours = outcome(case, OURS, accuracy)
    return {
        "reached": f"{ours.seconds:.2g} s",
        "cut": f"> {ours.seconds:.2g} s",
        "stops": f"stops at {ours.accuracy:.0e}",
    }.get(ours.kind, ours.kind)


def convergence(case, tol):
    """Whether skpd's fit at a tolerance converged without any warning, with its iterations."""
    race = next(race for race in case["races"] if race["name"] == OURS)
    for run in race["runs"]:
        if run["setting"] == tol:
            fine = run["converged"] and not run["warnings"]
            return f"{'yes' if fine else 'no'} ({run['n_iter']})"
    return "failed" if race["failed"] else "cut off"


def pairs_text(case):
    """skpd's time to the high accuracy in product pairs."""
    race = next(race for race in case["races"] if race["name"] == OURS)
    ours = outcome(case, OURS, HIGH)
    return two_digits(ours.seconds / race["pair"]) if ours.kind == "reached" else "-"


def table(cases):
    """The Markdown table of the cases of one model."""
    names = list(dict.fromkeys(name for case in cases for name in peers(case)))
    header = ["data", "alpha", f"skpd {LOW:g}", f"skpd {HIGH:g}"]
    header += [f"{name} {accuracy:g}" for name in names for accuracy in (LOW, HIGH)]
    header += ["pairs", "tol 1e-6", "tol 1e-9"]
    rows = [header, ["---"] * len(header)]
    for case in cases:
        row = [case["data"], alpha_text(case), seconds_text(case, LOW), seconds_text(case, HIGH)]
        row += [cell(case, name, accuracy) for name in names for accuracy in (LOW, HIGH)]
        row += [pairs_text(case), convergence(case, 1e-6), convergence(case, 1e-9)]
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def summary(cases):
    """Geometric mean and worst case of the best peer's time over skpd's."""
    found = [(case, entry) for case in cases if (entry := best_peer(case))]
    if not found:
        return f"No ratio at {HIGH:g}."
    mean = np.exp(np.mean([np.log(entry[2]) for _, entry in found]))
    bounds = sum(entry[1] != "" for _, entry in found)
    case, (name, sign, worst) = min(found, key=lambda pair: pair[1][2])
    text = (
        f"Best peer over skpd at {HIGH:g}: geometric mean {two_digits(mean)} over {len(found)} "
        f"of {len(cases)} cases, worst {sign}{two_digits(worst)} "
        f"({name}, {case['data']}, alpha {alpha_text(case)})"
    )
    return text + (f"; {bounds} of them bounds." if bounds else ".")


def by_peer(cases):
    """A Markdown table of each peer's time over skpd's at the high accuracy.

    Where a peer stopped short or failed there is no ratio, and where it was cut off a bound.
    """
    rows = [["peer", "cases", "ratios", "bounds", "geometric mean", "below 1", "worst"]]
    rows.append(["---"] * len(rows[0]))
    for name in dict.fromkeys(name for case in cases for name in peers(case)):
        entered = [case for case in cases if name in peers(case)]
        found = [(case, pair) for case in entered if (pair := ratio(case, name, HIGH))]
        if not found:
            rows.append([name, f"{len(entered)}", "0", *["-"] * 4])
            continue
        values = [pair[1] for _, pair in found]
        case, (sign, worst) = min(found, key=lambda entry: entry[1][1])
        where = f"{case['model']}, {case['data']}, alpha {alpha_text(case)}"
        rows.append([
            name, f"{len(entered)}", f"{len(found)}",
            f"{sum(pair[0] != '' for _, pair in found)}",
            two_digits(np.exp(np.mean(np.log(values)))),
            f"{sum(value < 1.0 for value in values)}",
            f"{sign}{two_digits(worst)} ({where})",
        ])  # fmt: skip
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def notes(cases):
    """What a table leaves out: missing, failing and compiling peers, impossible objectives."""
    lines = []
    for case in cases:
        where = f"{case['data']}, alpha {alpha_text(case)}"
        for race in case["races"]:
            name = f"{race['name']} {race['variant']}".strip()
            if "missing" in race:
                lines.append(
                    f"missing: {race['missing']} (pip install -r benchmarks/requirements.txt)"
                )
            if race["failed"]:
                lines.append(f"failed: {name} on {where}: {race['failed']}")
            if race["compiles"] and "first_fit" in race:
                lines.append(
                    f"{name} on {where}: first fit in the process, of a tiny problem, "
                    f"{race['first_fit']:.1f} s"
                )
            for run in race["runs"]:
                below = excess(case, certified(case), np.asarray(run["objective"]))
                if below > ROUNDING:
                    lines.append(
                        f"ERROR: {name}, setting {run['setting']}, on {where}: objective below "
                        f"skpd's certified bound by {below:.1e}"
                    )
    return list(dict.fromkeys(lines))


def report(cases):
    """All tables, one section per model."""
    sections = []
    for model in dict.fromkeys(case["model"] for case in cases):
        mine = [case for case in cases if case["model"] == model]
        lines = [f"## {model}", "", table(mine), "", summary(mine)]
        if said := notes(mine):
            lines += ["", *(f"- {line}" for line in said)]
        sections.append("\n".join(lines))
    sections.append(f"## Each peer's time over skpd's at {HIGH:g}\n\n{by_peer(cases)}")
    return "\n\n".join(sections)
