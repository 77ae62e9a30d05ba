"""The warning of a model whose coefficients are all 0."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from .._compat import StrOptions
from ..problems import Problem

SMALLER = 0.1  # of the alpha from which on 0 is optimal, as one to try
NEAR = 0.99  # of the best constant's objective: free numbers beside an intercept may reach less


def constant_model_message(estimator: Any, problems: Sequence[Problem]) -> str:
    """Reasons why all coefficients of a fitted model are 0, and what to try.

    Parameters
    ----------
    estimator : PrimalDualEstimator
        A fitted estimator.
    problems : sequence of Problem
        The problems that it solved; one for each class of one-vs-rest.
    """
    problem = max(problems, key=lambda each: each.largest_alpha)
    parameter, largest = estimator._path_parameter, problem.largest_alpha
    others, given = _other_models(estimator, problem), estimator.get_params(deep=False)
    primal = max(each.primal for each in np.atleast_1d(estimator.certificate_))
    if all(each.features_say_nothing for each in problems):
        reason = (
            "No change of a coefficient that bounds allow lowers the loss of the best constant "
            "prediction, as where y or all features are constant"
        )
        advice = (
            ["look at X and y"] if given.get("fit_intercept", True) else ["fit_intercept=True"]
        )
    elif problem.alpha >= largest:
        reason = (
            f"0 is optimal from about {parameter}={largest:.3g} on, and it is {problem.alpha:.3g}"
        )
        advice = [f"a smaller one, such as {parameter}={SMALLER * largest:.2g}", *others]
    elif not estimator.converged_:
        reason, advice = "The fit has not converged", ["a larger max_iter"]
    elif given.get("noise_budget") is not None:
        reason = "With a small noise_budget few samples count, and 0 is often optimal"
        advice = ["a larger noise_budget", f"a smaller {parameter}"]
    elif others and given.get("constraints") is None and primal >= NEAR * problem.null_objective:
        reason = (
            f"The loss {problem.loss!r} has a kink at the best constant prediction, which may be "
            "optimal whatever the features are, as where one class or value is much more frequent"
        )
        advice = [*others, f"a smaller {parameter}"]
    else:
        reason = f"Its objective is within tol={estimator.tol:.3g} of the least"
        advice = [f"a smaller {parameter}", "a smaller tol"]
    return (
        f"{type(estimator).__name__} {estimator._constant_model}: all coefficients are 0. "
        f"{reason}. What to try: {', or '.join(advice)}."
    )


def _other_models(estimator: Any, problem: Problem) -> list[str]:
    """Parameters that may help where the loss has kinks; an empty list for other losses."""
    given, constraints = estimator.get_params(deep=False), estimator._parameter_constraints
    lists = [some for some in constraints.get("loss", []) if isinstance(some, StrOptions)]
    if not (lists or "class_weight" in given) or problem.loss.smoothness < inf:
        return []
    found = ["class_weight='balanced'"] if given.get("class_weight", "") is None else []
    of_classes = problem.loss.of_labels or problem.loss.of_classes
    smooth = ("logistic", "softmax") if of_classes else ("huber",)
    if given.get("noise_budget") is None:
        found += [f"loss={name!r}" for some in lists for name in smooth if name in some.options]
    return found
