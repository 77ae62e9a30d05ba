"""The models on everyday data: what each is made of, and which of them are tried."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks.helpers import conic, models
from benchmarks.helpers.everyday_data import LOADERS, TEN, VARIANTS, everyday
from skpd import PdproxRegressor, PdproxSVC, losses, penalties
from skpd.designs import Design
from skpd.problems import linear_problem

MARGIN_LOSSES = {
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "smoothed_hinge": losses.SmoothedHinge(models.SMOOTHING),
    "generalized_hinge": losses.GeneralizedHinge(models.SLOPE),
    "logistic": losses.Logistic(),
    "modified_huber": losses.ModifiedHuber(),
}
LOSSES = {
    **MARGIN_LOSSES,
    "absolute": losses.Absolute(),
    "epsilon_insensitive": losses.EpsilonInsensitive(models.EPSILON),
    "pinball": losses.Pinball(models.QUANTILE),
    "huber": losses.Huber(models.DELTA),
    "squared": losses.Squared(),
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive(models.EPSILON),
}
# from the number of features and alpha
PENALTIES = {
    "l1": lambda d, alpha: penalties.L1(),
    "l2": lambda d, alpha: penalties.SquaredL2(),
    "l2_norm": lambda d, alpha: penalties.L2Norm(),
    "linf": lambda d, alpha: penalties.LInf(),
    "elastic-net": lambda d, alpha: penalties.ElasticNet(models.L1_RATIO),
    "group": lambda d, alpha: penalties.GroupL2(models.group_sizes(d)),
    "sparse_group": lambda d, alpha: penalties.SparseGroup(
        models.group_sizes(d), l1_ratio=models.L1_RATIO
    ),
    "total_variation": lambda d, alpha: penalties.TotalVariation(),
    "fused_lasso": lambda d, alpha: penalties.FusedLasso(models.L1_RATIO),
    "nonnegative_l1": lambda d, alpha: penalties.NonNegativeL1(),
    "box": lambda d, alpha: penalties.Box(-alpha, alpha),
    "l1_ball": lambda d, alpha: penalties.L1Ball(alpha),
}
# the nearest point that a constraint allows, or almost: peers miss it by their tolerance
FEASIBLE = {
    "nonnegative_l1": lambda w, alpha: np.maximum(w, 0.0),
    "box": lambda w, alpha: np.clip(w, -alpha, alpha),
    "l1_ball": lambda w, alpha: w * min(1.0, alpha / max(np.abs(w).sum(), alpha)),
}
CONSTRAINTS = ("box", "l1_ball")  # for which alpha is the size
ROUNDING = 1e-9  # of a sum of terms, relative to their sizes
STRENGTHS = (10, 100, 1000, 10_000)


@dataclass(frozen=True)
class Case:
    """A model on data; ``strength`` is the largest alpha of interest over that of the model.

    Where the penalty has no such alpha, that is the size of the gradient of the best constant
    prediction, in the Euclidean norm for ridge and in the dual norm over coefficients of mean
    0 for total variation; where it is 0 (centred features without intercept), that of the model
    with an intercept. The radius of an l1 ball and half the width of a box are strength /
    1000 of the deviation of y (1 for labels) over the median deviation of the features.
    """

    data: str
    variant: str
    loss: str
    penalty: str
    strength: int
    fit_intercept: bool

    def rows(self):
        """(X, y) of the case."""
        return everyday(self.data, self.variant, labels=self.loss in MARGIN_LOSSES)

    @property
    def outputs(self):
        """The targets of the problems behind a fit."""
        y = self.rows()[1]
        return [np.where(y == k, 1.0, -1.0) for k in range(10)] if self.data == TEN else [y]

    @property
    def is_linear(self):
        return self.loss in conic.LINEAR_LOSSES and self.penalty in conic.LINEAR_PENALTIES

    def estimator(self, **parameters):
        """The estimator of skpd."""
        alpha = scale(self)[0]
        penalty = PENALTIES[self.penalty](self.rows()[0].shape[1], alpha)
        kind = PdproxSVC if self.loss in MARGIN_LOSSES else PdproxRegressor
        return kind(
            1.0 if self.penalty in CONSTRAINTS else alpha,
            loss=LOSSES[self.loss],
            penalty=penalty,
            fit_intercept=self.fit_intercept,
            **parameters,
        )

    def objective(self, coef, intercept):
        """The objective of coefficients, from the definitions; its sum over the outputs."""
        X, alpha = self.rows()[0], scale(self)[0]
        total = 0.0
        for y, w, b in zip(
            self.outputs, np.atleast_2d(coef), np.atleast_1d(intercept), strict=True
        ):
            v = FEASIBLE.get(self.penalty, lambda w, alpha: w)(w, alpha)
            total += np.mean(models.LOSSES[self.loss](y, X @ v + b))
            if self.penalty in models.PENALTIES:
                total += alpha * models.PENALTIES[self.penalty](v)
        return float(total)


def largest_alpha(case, problem):
    """The largest alpha of interest of one output, 0 where it is a rounding error."""
    gradient, X = problem.null_gradient, np.abs(case.rows()[0])
    rounding = ROUNDING * ((problem.weights * abs(problem.null_point.dual_coef)) @ X)
    if np.all(np.abs(gradient) <= rounding):
        return 0.0
    if case.penalty == "l2":
        return np.linalg.norm(gradient)
    if case.penalty == "total_variation":
        # that of features which share a shift is of what the shift leaves
        largest = problem.penalty.dual_norm(gradient)
        return largest if largest > np.max(rounding) else 0.0
    # where a coefficient may only grow, perhaps none helps
    return problem.largest_alpha or np.abs(gradient).max()


@lru_cache(maxsize=4)
def scale(case):
    """(alpha, the objective of the best constant prediction, over the outputs in sum)."""
    X, y = case.rows()
    penalty, loss = PENALTIES[case.penalty](X.shape[1], 1.0), LOSSES[case.loss]
    design, weights = Design(X), np.full(len(y), 1.0 / len(y))

    def problems(fit_intercept):
        return [
            linear_problem(design, output, weights, loss, penalty, 1.0, fit_intercept)
            for output in case.outputs
        ]

    nulls = [
        np.mean(models.LOSSES[case.loss](p.y, np.full(len(y), p.null_point.intercept)))
        for p in problems(case.fit_intercept)
    ]
    if case.penalty in CONSTRAINTS:
        unit = 1.0 if case.loss in MARGIN_LOSSES else np.std(y)
        deviations = X.std(axis=0)
        unit /= np.median(deviations[deviations > 0.0])
        return float(unit * case.strength / 1000.0), float(sum(nulls))
    largest = max(largest_alpha(case, problem) for problem in problems(case.fit_intercept))
    if largest == 0.0:
        largest = max(largest_alpha(case, problem) for problem in problems(True))
    return float(largest / case.strength), float(sum(nulls))


def cases(selection="default"):
    """The cases of a selection: "quick", "default" or "full".

    "quick" has every loss with every penalty once, "default" once on every variant of the
    data; what else a case is made of comes in turn, such that any two values meet.
    """
    rest = list(product(STRENGTHS, (True, False), LOADERS))
    found = []
    for number, (loss, penalty) in enumerate(product(LOSSES, PENALTIES)):
        margin = loss in MARGIN_LOSSES
        variants = [variant for variant in VARIANTS if margin or variant != "separable"]
        if selection == "quick":
            variants = [variants[number % len(variants)]]
        for variant in variants:
            if selection == "full":
                every = product(STRENGTHS, (True, False), [*LOADERS, TEN] if margin else LOADERS)
            else:
                turn = len(found) + len(found) // len(rest)  # in step with nothing else
                every = [rest[turn % len(rest)]]
                if margin and selection == "default" and turn % 23 == 0:
                    every.append((*every[0][:2], TEN))
            found += [
                Case(data, variant, loss, penalty, strength, fit_intercept)
                for strength, fit_intercept, data in every
            ]
    return found
