"""A corner: one fit that was slow, what it is beside, and by how much it may differ.

Fits are timed in processor time, the least of three, or one where it takes more than `LONG`
seconds. Where the others are solvers of the same model, every contender is given the loosest of
its settings whose objective, evaluated here, is within `accuracy` of a certified lower bound,
relative to the objective of the best constant.
"""

import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.helpers.campaigns import unit_of

LONG = 20.0  # seconds, above which one fit is enough
TIGHTER = (1e-3, 1e-4, 1e-5, 1e-6)  # tolerances
CLOSE = 1e-2  # of the accuracy: how tight the lower bound is to which objectives are compared


@dataclass(frozen=True)
class Corner:
    """A row of the table.

    Attributes
    ----------
    name : str
    data : callable
        Makes the arguments of all fits.
    ours : callable
        The fit of a tolerance and these arguments; returns the model.
    aim : float
        The least time of the best peer over ours, or the most of ours over ``beside``.
    tols : tuple of float
        Those of our fits, the loosest first.
    peers : tuple of (name, settings, fit)
        Solvers of the same model; ``fit`` returns what ``objective`` takes.
    objective, of_ours : callable
        The objective of what a peer returns and the data, and what it takes of our model.
    beside : tuple of (str, callable) or None
        Another fit of ours, or a number of seconds, in place of peers.
    limit : float
        Seconds that are added to ``aim`` times those of the other.
    memory : float or None
        The most gigabytes that a fit may take beside X.
    clock : callable
        By default the processor time of this process, which leaves out workers of a cluster.
    """

    name: str
    data: Callable
    ours: Callable
    aim: float
    tols: tuple = (1e-4,)
    peers: tuple = ()
    objective: Callable | None = None
    of_ours: Callable = field(default=lambda model: (np.ravel(model.coef_), 0.0))
    beside: tuple | None = None
    limit: float = 0.0
    memory: float | None = None
    accuracy: float = 1e-6
    clock: Callable = time.process_time


def timed(fit, clock=time.process_time):
    """(seconds, result) of the fastest of three fits."""
    best, found = np.inf, None
    for _ in range(3):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")  # what a warning says takes its time
            start = clock()
            found = fit()
            seconds = clock() - start
        best = min(best, seconds)
        if seconds > LONG:
            break
    return best, found


def gigabytes():
    """The largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measured(corner):
    """What one corner takes, as a dict of plain numbers."""
    data = corner.data()
    before = gigabytes()
    if corner.peers:
        found = beside_peers(corner, data)
    else:
        seconds, model = timed(lambda: corner.ours(corner.tols[-1], *data))
        found = {"seconds": seconds, **facts(model), "gigabytes": gigabytes() - before}
        name, other = corner.beside
        theirs = other if np.isscalar(other) else timed(lambda: other(*data))[0]
        allowed = corner.aim * theirs + corner.limit
        found |= {"beside": name, "theirs": theirs, "ratio": seconds / theirs}
        found["met"] = bool(seconds <= allowed and found["converged"])
    if corner.memory is not None:
        found["met"] = bool(found["met"] and found["gigabytes"] <= corner.memory)
    return {"name": corner.name, "aim": aim_of(corner), **found}


def aim_of(corner):
    """The aim as text."""
    if corner.peers:
        return f"at least {corner.aim:g}"
    seconds = f" times and {corner.limit:g} s more" if corner.limit else ""
    memory = "" if corner.memory is None else f", with {corner.memory:g} GB"
    return f"at most {corner.aim:g}{seconds}{memory}"


def facts(model):
    """What our fit says of itself."""
    gap = getattr(model, "relative_gap_", np.nan)
    return {
        "gap": float(np.max(gap)),
        "iterations": int(np.sum(getattr(model, "n_iter_", 0))),
        "converged": bool(np.all(getattr(model, "converged_", True))),
    }


def beside_peers(corner, data):
    """The fastest setting of each contender that reaches the accuracy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tight = corner.ours(CLOSE * corner.accuracy, *data)
    certificate = tight.certificate_
    enough = certificate.dual + corner.accuracy * unit_of(certificate)
    found = {"converged": False, "seconds": np.nan, "beside": "none", "theirs": np.inf}
    for tol in corner.tols:
        seconds, model = timed(lambda tol=tol: corner.ours(tol, *data), corner.clock)
        found |= {"seconds": seconds, **facts(model)}
        if np.all(corner.objective(corner.of_ours(model), *data) <= enough):
            break
    for name, settings, fit in corner.peers:
        for setting in settings:
            seconds, result = timed(
                lambda fit=fit, setting=setting: fit(setting, *data), corner.clock
            )
            if np.all(corner.objective(result, *data) <= enough):
                if seconds < found["theirs"]:
                    found |= {"beside": f"{name}, {setting}", "theirs": seconds}
                break
            if seconds > 5 * LONG:
                break
    found["ratio"] = found["theirs"] / found["seconds"]
    found["met"] = bool(found["ratio"] >= corner.aim and found["converged"])
    return found
