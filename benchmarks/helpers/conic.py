"""The models of the benchmarks as the smallest conic programme, for HiGHS and Clarabel.

That is the dual, whose equations are as few as the features. With n times the mean loss it is

    minimise   sum_i l_i*(theta_i) + (n alpha R)*(v)   over   X' theta + v = 0, 1' theta = 0

and the multipliers of its equations are the coefficients and the intercept. theta and v are
sums of the variables of a few `Part`s, each with a cost and bounds of its own. All is written
from the definitions of `benchmarks.helpers.models`, nothing is taken from skpd.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.helpers import models

INF = np.inf
# what makes linear programmes together
LINEAR_LOSSES = ("hinge", "generalized_hinge", "absolute", "epsilon_insensitive", "pinball")
LINEAR_PENALTIES = (
    "l1", "nonnegative_l1", "linf", "total_variation", "fused_lasso", "box", "l1_ball",
)  # fmt: skip


@dataclass
class Part:
    """Variables of a programme and what they add to its cost, equations and constraints.

    Each has the cost linear x + quadratic x^2 / 2, lower <= x <= upper, and a column in the
    equations. Beside that ``offset - matrix x`` lies in a product of ``cones`` of one kind.
    """

    columns: Any
    linear: Any = 0.0
    quadratic: Any = 0.0
    lower: Any = -INF
    upper: Any = INF
    kind: str | None = None  # "nonnegative", "second order" or "exponential"
    sizes: tuple = ()
    matrix: Any = None
    offset: Any = None

    def __post_init__(self):
        self.columns = sp.csc_array(self.columns)
        count = self.columns.shape[1]
        for name in ("linear", "quadratic", "lower", "upper"):
            setattr(self, name, np.broadcast_to(getattr(self, name), count).astype(float))


def logistic_part(columns):
    """a log a + (1 - a) log(1 - a), as the sum of r >= a log a and q >= (1 - a) log(1 - a).

    r >= a log a is a exp(-r / a) <= 1: (-r, a, 1) lies in the exponential cone.
    """
    n = columns.shape[1]
    rows = np.arange(n)
    # (r, a, 1) and (q, 1 - a, 1) by rows, the variables are a, r and q
    places = np.concatenate([6 * rows, 6 * rows + 1, 6 * rows + 3, 6 * rows + 4])
    variables = np.concatenate([n + rows, rows, 2 * n + rows, rows])
    signs = np.repeat([1.0, -1.0, 1.0, 1.0], n)
    return Part(
        sp.hstack([columns, sp.csc_array((columns.shape[0], 2 * n))]),
        linear=np.repeat([0.0, 1.0, 1.0], n),
        kind="exponential",
        sizes=(3,) * (2 * n),
        matrix=sp.csc_array((signs, (places, variables)), shape=(6 * n, 3 * n)),
        offset=np.tile([0.0, 0.0, 1.0, 0.0, 1.0, 1.0], n),
    )


def loss_parts(loss, A, y):
    """The conjugates of the losses of the rows of A, one for every row.

    For a loss of the margin in a = -y theta >= 0, for one of the residual in theta, or in the
    two parts p - q of it with p, q >= 0.
    """
    margin, residual = -(sp.diags_array(y) @ A).T, A.T
    half = models.EPSILON
    tube = [(1.0, y + half), (-1.0, half - y)]  # of p and of q, by sign and slope
    return {
        "hinge": lambda: [Part(margin, -1.0, 0.0, 0.0, 1.0)],
        "generalized_hinge": lambda: [
            Part(margin, -1.0, 0.0, 0.0, 1.0),
            Part(margin, 0.0, 0.0, 0.0, models.SLOPE - 1.0),
        ],
        "smoothed_hinge": lambda: [Part(margin, -1.0, models.SMOOTHING, 0.0, 1.0)],
        "squared_hinge": lambda: [Part(margin, -1.0, 0.5, 0.0)],
        "modified_huber": lambda: [Part(margin, -1.0, 0.5, 0.0, 4.0)],
        "logistic": lambda: [logistic_part(margin)],
        "absolute": lambda: [Part(residual, y, 0.0, -1.0, 1.0)],
        "epsilon_insensitive": lambda: [Part(s * residual, t, 0.0, 0.0, 1.0) for s, t in tube],
        "pinball": lambda: [Part(residual, y, 0.0, -models.QUANTILE, 1.0 - models.QUANTILE)],
        "huber": lambda: [Part(residual, y, 1.0, -models.DELTA, models.DELTA)],
        "squared": lambda: [Part(residual, y, 1.0)],
        "squared_epsilon_insensitive": lambda: [Part(s * residual, t, 0.5, 0.0) for s, t in tube],
    }[loss]()


def balls(columns, radii, sizes):
    """v of which each group of a size lies in the Euclidean ball of a radius."""
    sizes, d = np.asarray(sizes), columns.shape[1]
    # each group gives (radius, v_g), its first row the radius
    places = np.arange(d) + np.repeat(np.arange(len(sizes)), sizes) + 1
    offset = np.zeros(d + len(sizes))
    offset[np.cumsum(sizes + 1) - sizes - 1] = radii
    return Part(
        columns,
        kind="second order",
        sizes=tuple(int(size) + 1 for size in sizes),
        matrix=sp.csc_array((-np.ones(d), (places, np.arange(d))), shape=(len(offset), d)),
        offset=offset,
    )


def penalty_parts(penalty, E, n, alpha):
    """(n alpha R)*(v) for coefficients of which E gives the rows of the equations.

    alpha is the radius of an l1 ball, and half the width of a box.
    """
    d, total, share = E.shape[1], n * alpha, models.L1_RATIO * n * alpha
    rest, sizes = total - share, models.group_sizes(d)
    roots, D = np.sqrt(sizes), sp.csc_array(np.diff(np.eye(d), axis=0).T)

    def box(columns, reach):
        return Part(columns, 0.0, 0.0, -reach, reach)

    def split(cost, **options):  # v = p - q
        return Part(sp.hstack([E, -E]), cost, 0.0, 0.0, **options)

    def l1_ball():  # radius max |v_j|
        eye, ones = sp.eye_array(d), np.ones((d, 1))
        return Part(
            sp.hstack([E, sp.csc_array((E.shape[0], 1))]),
            np.append(np.zeros(d), alpha),
            kind="nonnegative",
            sizes=(2 * d,),
            matrix=sp.csc_array(sp.block_array([[eye, -ones], [-eye, -ones]])),
            offset=np.zeros(2 * d),
        )

    return {
        "l1": lambda: [box(E, total)],
        "nonnegative_l1": lambda: [Part(E, upper=total)],
        "l2": lambda: [Part(E, quadratic=1.0 / total)],
        "l2_norm": lambda: [balls(E, [total], [d])],
        "linf": lambda: [
            split(0.0, kind="nonnegative", sizes=(1,),
                  matrix=sp.csc_array(np.ones((1, 2 * d))), offset=np.array([total]))
        ],
        "elastic-net": lambda: [box(E, share), Part(E, quadratic=1.0 / rest)],
        "group": lambda: [balls(E, total * roots, sizes)],
        "sparse_group": lambda: [box(E, share), balls(E, rest * roots, sizes)],
        "total_variation": lambda: [box(E @ D, total)],
        "fused_lasso": lambda: [box(E, share), box(E @ D, rest)],
        "box": lambda: [split(alpha)],
        "l1_ball": lambda: [l1_ball()],
    }[penalty]()  # fmt: skip


def programme(loss, penalty, X, y, alpha, fit_intercept):
    """The parts of the programme of a model.

    Of the squared loss the triangular factor of [X, 1, y] says as much as all rows.
    """
    n, d = X.shape
    A = np.column_stack([X, np.ones(n)]) if fit_intercept else X
    parts = penalty_parts(penalty, sp.eye_array(A.shape[1], d, format="csc"), n, alpha)
    if loss == "squared":
        R = np.linalg.qr(np.column_stack([A, y]), mode="r")
        A, y = R[:, :-1], R[:, -1]
    return [*loss_parts(loss, A, y), *parts]


def joined(parts, name):
    return np.concatenate([getattr(part, name) for part in parts])


def constraints(parts):
    """The matrix and offset of the constraints of all parts, and those who have any."""
    blocks = [
        sp.csc_array((0, part.columns.shape[1])) if part.kind is None else part.matrix
        for part in parts
    ]
    own = [part for part in parts if part.kind is not None]
    offset = np.concatenate([np.empty(0), *(part.offset for part in own)])
    return sp.block_diag(blocks, format="csc"), offset, own


def solve_by_highs(parts, method, limit=np.inf):
    """(seconds, the multipliers of the equations) of a linear programme by HiGHS.

    A TimeoutError after the limit, in seconds.
    """
    A_ub, b_ub, _ = constraints(parts)
    A_eq = sp.csc_array(sp.hstack([part.columns for part in parts]))
    bounds = np.column_stack([joined(parts, "lower"), joined(parts, "upper")])
    cost, zero = joined(parts, "linear"), np.zeros(A_eq.shape[0])
    rows = {"A_ub": A_ub, "b_ub": b_ub} if len(b_ub) else {}
    start = time.perf_counter()
    found = linprog(
        cost, A_eq=A_eq, b_eq=zero, bounds=bounds, method=method,
        options={"time_limit": limit}, **rows,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if found.status != 0:
        raise TimeoutError if found.status == 1 else RuntimeError(found.message)
    return seconds, np.array(found.eqlin.marginals)


def solve_by_clarabel(parts, limit=np.inf, tol=None):
    """(seconds, the multipliers of the equations) by Clarabel, by default with its tolerances.

    After the limit, in seconds, they are the last ones.
    """
    import clarabel

    matrix, offset, own = constraints(parts)
    lower, upper = joined(parts, "lower"), joined(parts, "upper")
    above, below = np.flatnonzero(upper < INF), np.flatnonzero(lower > -INF)
    eye = sp.eye_array(len(lower), format="csr")
    equations = sp.hstack([part.columns for part in parts])
    A = sp.csc_matrix(sp.vstack([equations, eye[above], -eye[below], matrix]))
    b = np.concatenate([np.zeros(equations.shape[0]), upper[above], -lower[below], offset])
    cones = [
        clarabel.ZeroConeT(equations.shape[0]),
        clarabel.NonnegativeConeT(len(above) + len(below)),
    ]
    for part in own:
        if part.kind == "exponential":
            cones += [clarabel.ExponentialConeT()] * len(part.sizes)
        else:
            cone = {
                "nonnegative": clarabel.NonnegativeConeT,
                "second order": clarabel.SecondOrderConeT,
            }[part.kind]
            cones += [cone(size) for size in part.sizes]
    P, cost = sp.csc_matrix(sp.diags_array(joined(parts, "quadratic"))), joined(parts, "linear")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = limit
    if tol is not None:
        settings.max_iter = 1000
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    start = time.perf_counter()
    found = clarabel.DefaultSolver(P, cost, A, b, cones, settings).solve()
    seconds = time.perf_counter() - start
    return seconds, -np.array(found.z)[: equations.shape[0]]
