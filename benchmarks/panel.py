"""Two hundred fits of one state of the code, bit by bit, and beside those of another.

A change of structure leaves every iterate, certificate and product with the data as it was. The
fits are of all estimators, losses, penalties and layouts: hostile small ones of `benchmarks.fuzz`,
and models of the data that scikit-learn bundles, with paths, blocks of rows and published methods.
Nothing depends on time, but threads and processors may round in another way: compare files of one
machine, made with the same number of threads.

    python -m benchmarks panel before.json
    python -m benchmarks panel after.json --against before.json
"""

import hashlib
import json
import warnings
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import skpd
from benchmarks.fuzz import NEWER
from benchmarks.helpers.fuzz_small import converging
from benchmarks.helpers.publish import machine
from benchmarks.products import counted

SMALL, HOSTILE = 80, 80  # fits of each campaign
SEED = 15
LEFT_OUT = {"seconds"}  # of a history
NOT_SAID = {"callback_"}


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def bits(value):
    """A value without what differs from run to run, floats by their bits."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        kept = [name for name in value.dtype.names if name not in LEFT_OUT]
        return {name: bits(np.ascontiguousarray(value[name])) for name in kept}
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{list(value.shape)} {digest(np.ascontiguousarray(value).tobytes())}"
    if sp.issparse(value):
        return [bits(value.tocsr().data), bits(value.tocsr().indices)]
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, bool | int | str | None | np.integer | np.bool_):
        return str(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [bits(each) for each in value]
    if isinstance(value, dict):
        return {str(key): bits(each) for key, each in value.items()}
    if is_dataclass(value):
        return {each.name: bits(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, BaseEstimator):
        return attributes(value)
    return type(value).__name__


def attributes(model):
    names = sorted(name for name in vars(model) if name.endswith("_") and name[0] != "_")
    return {name: bits(getattr(model, name)) for name in names if name not in NOT_SAID}


def repeatable(estimator):
    """An estimator, set to the same random numbers in every run."""
    names = [name for name in estimator.get_params() if name.endswith("random_state")]
    return estimator.set_params(**dict.fromkeys(names, 0))


def standardised(load, **options):
    X, y = load(return_X_y=True, **options)
    return StandardScaler().fit_transform(X), y


def bundled():
    """Names and fits of models of the data that scikit-learn bundles."""
    cancer, diabetes, wine = map(standardised, (load_breast_cancer, load_diabetes, load_wine))
    X, y = load_digits(return_X_y=True)
    digits = X[:400] / 16.0, y[:400]
    layouts = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sp.csr_array,
               "CSC": sp.csc_array, "float32": np.float32}  # fmt: skip
    cases = []

    def add(estimator, data, how=None):
        name = f"{repeatable(estimator)}".replace("\n", " ")
        cases.append((name, lambda: (how or estimator.fit)(*data)))

    for layout in layouts.values():
        add(skpd.PdproxSVC(0.01), (layout(cancer[0]), cancer[1]))
        add(skpd.PdproxSVC(1e-3, penalty="l2"), (layout(cancer[0]), cancer[1]))
        add(skpd.LassoPDCertified(0.5), (layout(diabetes[0]), diabetes[1]))
    for solver in ("isg", "ippa", "hybrid"):
        add(skpd.DRSVMClassifier(0.01, solver=solver, max_iter=30), cancer)
    for norm in (1, 2, np.inf):
        add(skpd.DRSVMClassifier(0.01, norm=norm), cancer)
    for solver in ("pdprox-dual", "pdprox-primal"):
        add(skpd.PdproxSVC(0.01, solver=solver, max_iter=200), cancer)
        add(skpd.MultiTaskPD(0.01, solver=solver, max_iter=50), (wine[0], wine[0][:, :2]))
    for solver in ("cd", "approx", "agm"):
        add(skpd.ElasticNetPD(0.5, solver=solver, max_iter=200), diabetes)
    add(skpd.ElasticNetPD(0.5, l1_radius=50.0, solver="pdbfw", max_iter=200), diabetes)
    add(skpd.ElasticNetPD(0.5, l1_radius=50.0), diabetes)
    add(skpd.LogisticPD(0.01), wine)
    add(skpd.LogisticPD(0.01, penalty="group", groups=[4, 4, 5]), wine)
    add(skpd.MultinomialPD(0.01, loss="crammer_singer"), digits)
    add(skpd.MultinomialPD(0.01, loss="crammer_singer", fit_intercept=False), digits)
    add(skpd.MultinomialPD(0.01, penalty="trace"), digits)
    add(skpd.TraceNormPD(0.01), (wine[0], wine[0][:, :4]))
    add(skpd.PdproxSVC(0.05), digits)
    add(skpd.GroupLassoPD(2.0, groups=2), diabetes)
    add(skpd.QuantilePD((0.1, 0.5, 0.9), alpha=0.01), diabetes)
    add(skpd.KernelPdproxSVC(0.01), wine)
    add(skpd.LassoPDCertifiedCV(alphas=10, cv=3), diabetes)
    add(skpd.PathCV(skpd.PdproxSVC(), alphas=8, cv=3), cancer)
    for estimator, data in ((skpd.PdproxSVC(0.01), cancer), (skpd.ElasticNetPD(0.5), diabetes)):
        add(estimator, (skpd.RowBlocks(np.array_split(data[0], 4)), data[1]))
        add(estimator, data, partial(skpd.regularization_path, estimator, alphas=10))
    return cases


def panel():
    """The name and the fit of every case."""
    drawn = {"small": (SMALL, {"": converging}), "hostile": (HOSTILE, NEWER)}
    for kind, (count, families) in drawn.items():
        for number in range(count):
            family = list(families)[number % len(families)]
            with np.errstate(all="ignore"):
                case = families[family](np.random.default_rng([SEED, number]))
            name = family or type(case.estimator).__name__
            yield f"{kind} {number}: {name}", lambda: case.fit(repeatable(case.estimator))  # noqa: B023 (called at once)
    yield from bundled()


def recorded(fit):
    """What a fit has left, said and multiplied."""
    with warnings.catch_warnings(record=True) as caught, counted() as calls:
        warnings.simplefilter("always")
        try:
            found = fit()
        except ValueError as error:
            return {"error": str(error)}
    said = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    left = bits(found) if is_dataclass(found) else attributes(found)
    return {**left, "warnings": said, "products": dict(sorted(calls.items()))}


def differences(before, after):
    """A line for each fit that differs, with the attributes that do."""
    for name in before | after:
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            yield f"{name}: in one of the files only"
        elif one != other:
            names = [key for key in one | other if one.get(key) != other.get(key)]
            yield f"{name}: {', '.join(names)}"


OPTIONS = {
    "file": {"type": Path, "help": "where the fits go"},
    "--against": {"type": Path, "help": "a file of another state of the code"},
}


def main(options):
    found = {}
    for number, (name, fit) in enumerate(panel()):
        found[f"{number} {name}"] = recorded(fit)
    options.file.write_text(json.dumps({"machine": machine(), "fits": found}, indent=1))
    print(f"{len(found)} fits")
    if options.against is None:
        return
    other = json.loads(options.against.read_text())
    if other["machine"] != machine():
        raise SystemExit(f"{options.against} is of another machine: {other['machine']}")
    lines = list(differences(other["fits"], found))
    print(*lines, f"{len(lines)} of {len(found)} fits differ", sep="\n")
    raise SystemExit(1 if lines else 0)
