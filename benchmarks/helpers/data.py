"""Real data from the folder that the environment variable SKPD_DATA names, and generated data."""

import bz2
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.io import loadmat
from sklearn.datasets import load_digits, load_svmlight_file

TARGETS = ("labels", "response", "classes", "targets")
WIDTHS = {"a1a": 123, "a9a": 123, "reuters": 8315}


@dataclass(frozen=True)
class Data:
    """X with labels -1 and 1, and a real response (the labels where there is none).

    Or, where there are several outputs, with classes from 0 on and a column of real targets for
    each output.
    """

    X: np.ndarray | sp.csr_array
    labels: np.ndarray | None = None
    response: np.ndarray | None = None
    classes: np.ndarray | None = None
    targets: np.ndarray | None = None


def folder_of_data():
    """The folder of the real data."""
    folder = os.environ.get("SKPD_DATA")
    if not folder:
        raise SystemExit("set SKPD_DATA to the folder that holds the data sets")
    return Path(folder)


def load(name):
    """(X, y) of a data set, X as CSR; with ".t" behind the name of its test data."""
    with bz2.open(folder_of_data() / f"{name}.bz2") as file:
        X, y = load_svmlight_file(file, n_features=WIDTHS[name.removesuffix(".t")])
    return with_short_indices(X), y


def with_short_indices(X):
    """X with indices of 32 bits: LinearSVC takes no others."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def few_true(rng, d, n_true, among=None):
    """Coefficients of which a few, among the first, are drawn and the others are 0."""
    coef = np.zeros(d)
    coef[rng.choice(among or d, n_true, replace=False)] = rng.standard_normal(n_true)
    return coef


def gaussian(rng, n, d, n_true, noise):
    """Standard normal features, a response from the first few coefficients drawn."""
    X = rng.standard_normal((n, d))
    return with_response(rng, X, few_true(rng, d, n_true), noise)


def power_law(rng, n, d, density, n_true, noise):
    """Counts whose columns are drawn with probabilities 1 / j^0.8, as words in documents."""
    frequency = np.arange(1, d + 1) ** -0.8
    n_draws = int(density * n * d)
    columns = rng.choice(d, n_draws, p=frequency / frequency.sum())
    rows = rng.integers(n, size=n_draws)
    X = sp.coo_array((np.ones(n_draws), (rows, columns)), shape=(n, d)).tocsr()
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    # frequent columns, so that most rows hold some of them
    return with_response(rng, with_short_indices(X), few_true(rng, d, n_true, d // 50), noise)


def uniform_sparse(rng, n, d, density, n_true, noise):
    """Standard normal entries at places drawn uniformly."""
    X = sp.random_array((n, d), density=density, format="csr", random_state=rng)
    X.data = rng.standard_normal(X.nnz)
    return with_response(rng, X, few_true(rng, d, n_true), noise)


def heavy_tailed(rng, n, d, n_true, noise):
    """Standard normal features, neighbours correlated by a half, and noise of infinite variance.

    The noise has Student's distribution of two degrees of freedom: what Huber's loss and
    quantiles are for.
    """
    steps = rng.standard_normal((n, d))
    X = steps.copy()
    for j in range(1, d):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * steps[:, j]
    z = X @ few_true(rng, d, n_true)
    response = z + noise * z.std() * rng.standard_t(2.0, size=n)
    return Data(X, np.where(response > 0, 1.0, -1.0), response)


def one_hot(rng, n, levels, noise):
    """A column for each level of some categories, of which few are frequent, as in insurance.

    Every row has a one for each category. The probabilities of a category's levels fall as
    1 / k, and every level has an effect of its own.
    """
    starts = np.cumsum([0, *levels[:-1]])
    codes = []
    for n_levels in levels:
        frequency = 1.0 / np.arange(1, n_levels + 1)
        codes.append(rng.choice(n_levels, n, p=frequency / frequency.sum()))
    columns = np.column_stack(codes) + starts
    places = np.arange(0, columns.size + 1, len(levels))
    X = sp.csr_array((np.ones(columns.size), columns.ravel(), places), shape=(n, sum(levels)))
    return with_response(rng, with_short_indices(X), rng.standard_normal(sum(levels)), noise)


def text(rng, n, d, density, n_true, noise):
    """The counts of `power_law` in rows of Euclidean norm 1, as text is fed to solvers."""
    X = power_law(rng, n, d, density, n_true, noise).X
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return with_response(rng, X, few_true(rng, d, n_true, d // 50), noise)


def with_response(rng, X, coef, noise):
    """X with the response X coef plus noise, relative to its deviation, and its signs."""
    z = X @ coef
    response = z + noise * z.std() * rng.standard_normal(len(z))
    return Data(X, np.where(response > 0, 1.0, -1.0), response)


def with_outputs(rng, X, W, noise):
    """X with the targets X W plus noise, and the class whose target is the largest.

    The noise is relative to the deviation of each column of X W, and the columns count for the
    classes in units of that deviation around their means, such that no class is rare.
    """
    Z = X @ W
    deviation = Z.std(axis=0)
    Y = Z + noise * deviation * rng.standard_normal(Z.shape)
    return Data(X, classes=((Y - Z.mean(axis=0)) / deviation).argmax(axis=1), targets=Y)


def correlated_outputs(rng, n, d, n_true, n_outputs, n_factors, noise):
    """Standard normal features, a few of which act on all outputs by way of fewer factors."""
    X, W = rng.standard_normal((n, d)), np.zeros((d, n_outputs))
    factors = rng.standard_normal((n_true, n_factors))
    W[rng.choice(d, n_true, replace=False)] = factors @ rng.standard_normal((n_factors, n_outputs))
    return with_outputs(rng, X, W, noise)


def gaussian_classes(rng, n, d, n_true, n_outputs, noise):
    """Standard normal features, a few of which act on all outputs."""
    X, W = rng.standard_normal((n, d)), np.zeros((d, n_outputs))
    W[rng.choice(d, n_true, replace=False)] = rng.standard_normal((n_true, n_outputs))
    return with_outputs(rng, X, W, noise)


GENERATED = {
    "dense": (gaussian, {"n": 1_000, "d": 10_000, "n_true": 50}),
    "power-law": (power_law, {"n": 20_000, "d": 50_000, "density": 0.002, "n_true": 100}),
    "tall": (gaussian, {"n": 500_000, "d": 50, "n_true": 25}),
    "regression": (gaussian, {"n": 20_000, "d": 100, "n_true": 20}),
    "heavy-tailed": (heavy_tailed, {"n": 40_000, "d": 100, "n_true": 20}),
    "one-hot": (one_hot, {"n": 200_000, "levels": (2, 3, 5, 8, 12, 20, 30, 50, 70, 100)}),
    "short-rows": (gaussian, {"n": 100_000, "d": 20, "n_true": 10}),
    "text": (text, {"n": 50_000, "d": 20_000, "density": 0.003, "n_true": 100}),
    "wide": (
        correlated_outputs,
        {"n": 500, "d": 5_000, "n_true": 50, "n_outputs": 20, "n_factors": 5},
    ),
    "gen": (gaussian_classes, {"n": 20_000, "d": 500, "n_true": 50, "n_outputs": 10}),
}


def digits(quick):
    """Images of digits, with pixels from 0 to 1 and the digits as classes and one-hot targets."""
    X, classes = load_digits(return_X_y=True)
    step = 10 if quick else 1
    return Data(X[::step] / 16.0, classes=classes[::step], targets=np.eye(10)[classes[::step]])


def reuters_classes(quick, n_outputs=10, n_true=50, noise=0.3):
    """The text of Reuters with drawn classes, each of which has frequent words of its own.

    The data itself has no more than two classes. The targets are 1 for the class, 0 elsewhere.
    """
    X, rng = load("reuters")[0], np.random.default_rng(0)
    X = with_short_indices(sp.csr_array(X[::10] if quick else X))
    frequent = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]))[: X.shape[1] // 20]
    W = np.zeros((X.shape[1], n_outputs))
    for k in range(n_outputs):
        W[rng.choice(frequent, n_true, replace=False), k] = rng.standard_normal(n_true)
    classes = with_outputs(rng, X, W, noise).classes
    return Data(X, classes=classes, targets=np.eye(n_outputs)[classes])


def school(quick):
    """The examination scores of School's students, and their features after the school's number.

    Every column is divided by its largest value, as in the example.
    """
    stored = loadmat(folder_of_data() / "school.mat")
    sizes = [len(cell) for cell in stored["X"].ravel()]
    X = np.vstack(stored["X"].ravel()).astype(float)
    y = np.concatenate([np.ravel(cell) for cell in stored["Y"].ravel()]).astype(float)
    X = np.column_stack([np.repeat(np.arange(len(sizes)), sizes), X / X.max(axis=0)])
    step = 10 if quick else 1
    return Data(X[::step], response=y[::step])


SEVERAL_OUTPUTS = {"digits": digits, "reuters-10": reuters_classes, "school": school}


def tiny(*, sparse):
    """60 rows of 15 features with targets of every kind, for a first fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 15))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(60) > 0, 1.0, -1.0)
    outputs = with_outputs(rng, X, np.eye(15, 3), 0.3)
    X = sp.csr_array(X) if sparse else X
    return Data(X, y, y, outputs.classes, outputs.targets)


def dataset(name, *, quick=False):
    """The data of a name: always the same, with a tenth of the rows if quick."""
    if name in SEVERAL_OUTPUTS:
        return SEVERAL_OUTPUTS[name](quick)
    if name not in GENERATED:
        X, y = load(name)
        if quick:
            X, y = X[::10], y[::10]
        return Data(sp.csr_array(X), y, y)
    make, sizes = GENERATED[name]
    if quick:
        sizes = {**sizes, "n": sizes["n"] // 10}
    return make(np.random.default_rng(0), noise=0.3, **sizes)


def save(data, folder):
    """Write data such that `saved` reads it quickly."""
    folder.mkdir()
    if sp.issparse(data.X):
        sp.save_npz(folder / "X.npz", data.X, compressed=False)
    else:
        np.save(folder / "X.npy", data.X)
    given = {name: getattr(data, name) for name in TARGETS}
    np.savez(folder / "y.npz", **{name: y for name, y in given.items() if y is not None})


def saved(folder):
    """The data that `save` wrote."""
    y = np.load(folder / "y.npz")
    sparse = (folder / "X.npz").exists()
    X = sp.csr_array(sp.load_npz(folder / "X.npz")) if sparse else np.load(folder / "X.npy")
    return Data(X, **{name: y[name] for name in y})
