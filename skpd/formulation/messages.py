"""Warnings of fits that did not converge and of models that are constant, with what to try."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from typing import Any

import numpy as np

from .._typing import Indices
from .._warn import warn_of_convergence
from ..certificates import Certificate
from ..problems import Problem, Solution
from .separation import MOST_NAMES, Separation

SMALLER = 0.1  # the ratio of an alpha to try to the one from which on 0 is optimal
# the share of the objective of the best constant above which a model is no better: unpenalised
# coefficients beside the intercept may lower it a little
NEAR = 0.99


@dataclass(frozen=True)
class Wording:
    """Words for messages about the models of an estimator.

    Attributes
    ----------
    constant_model : str
        What a model does whose coefficients are all 0.
    advice : str
        What may be done, beside an increase of ``tol``, where a fit does not converge.
    """

    constant_model: str = "ignores all features"
    advice: str = "bring the features to a common scale"


@dataclass(frozen=True)
class Description:
    """What messages say of an estimator.

    Attributes
    ----------
    estimator_name : str
    parameters : dict
        The parameters of the estimator, as of ``get_params``.
    wording : Wording
    path_parameter : str
        The parameter from a value of which on 0 is optimal.
    loss_names : frozenset of str
        The names that the parameter ``loss`` takes.
    feature_names : sequence of str or None
        The names of the features, where they have names.
    """

    estimator_name: str
    parameters: dict[str, Any]
    wording: Wording
    path_parameter: str
    loss_names: frozenset[str]
    feature_names: Sequence[str] | None = None

    def names_of(self, features: Indices) -> str:
        """The names or indices of some features, in words."""
        names = self.feature_names
        words = [f"feature {j}" if names is None else repr(str(names[j])) for j in features]
        return ", ".join([*words[:MOST_NAMES], "others"][: len(words)])


def warn_of_gap(
    description: Description, solutions: Sequence[Solution], labels: list[str] | None
) -> None:
    """Warn of the largest relative gap, and say what may be done about it."""
    unfinished = [-inf if s.converged else s.certificate.relative_gap for s in solutions]
    k = int(np.argmax(unfinished))
    worst, n_iter = solutions[k].certificate, solutions[k].n_iter
    label = "" if labels is None else f" for {labels[k]}"
    tol, max_iter = description.parameters["tol"], description.parameters["max_iter"]
    if solutions[k].stopped:
        ending, advice = "was stopped by a callback", "Remove the callback or increase tol"
    elif solutions[k].before_rounding <= tol:
        ending = "is less precise in float32 than asked for"
        advice = "Pass X in float64, bring the features to a common scale or increase tol"
    else:
        ending = "did not converge"
        advice = "Rounding of numbers of this size may allow no smaller gap. Increase tol"
        if n_iter >= max_iter:
            advice = f"Increase max_iter (now {max_iter}) or tol"
        advice += f", or {description.wording.advice}"
    warn_of_convergence(
        f"{description.estimator_name} {ending}{label}: after {n_iter} iterations its "
        f"{_shortfall(worst, tol)}. Its objective, {worst.primal:.6g}, is certified to be at most "
        f"{worst.gap:.2e} above the optimum. {advice}."
    )


def warn_of_separation(
    description: Description, separated: Sequence[Separation], labels: list[str] | None
) -> None:
    """Warn of unpenalised features without optimal coefficients, in sets for each problem.

    Where it cannot be decided whether there are any, the warning says so.
    """
    for label, (sets, is_decided, _) in zip(labels or [""], separated, strict=True):
        if not (sets or is_decided):
            warn_of_convergence(
                f"It could not be decided whether {description.estimator_name} has an optimum"
                f"{label and f' for {label}'} with finite coefficients of its features without a "
                "penalty. If some are large, give them one (a small alpha or positive "
                "penalty_weights)."
            )
        if sets:
            features = "; ".join(description.names_of(features) for features in sets)
            warn_of_convergence(
                f"{description.estimator_name} has no optimum{label and f' for {label}'}: "
                f"features without a penalty separate the targets: {features}. Their coefficients "
                "grow for ever, and show only where the solver stopped. Give them a penalty (a "
                "small alpha or positive penalty_weights) or leave them out. A level whose rows "
                "are all of one class, or whose counts are all 0, may be joined with another."
            )


def _shortfall(certificate: Certificate, tol: float) -> str:
    """Which of the two gaps that ``tol`` asks for is too large, and by how much."""
    if not certificate.relative_gap <= tol:
        return f"relative gap is {certificate.relative_gap:.2e}, above tol={tol:.2e}"
    share = certificate.gap / certificate.primal
    return f"gap is a share of {share:.2e} of its objective, above 100 tol={100.0 * tol:.2e}"


def warn_of_missed_fits(
    estimator_name: str, missed: Sequence[Solution], n_fits: int, tol: float, max_iter: int
) -> None:
    """Warn of the fits of a path that did not converge, if there are any."""
    if not missed:
        return
    worst = max((s.certificate for s in missed), key=attrgetter("relative_gap"))
    warn_of_convergence(
        f"{estimator_name} did not converge for {len(missed)} of {n_fits} fits of a path: the "
        f"largest {_shortfall(worst, tol)}. Increase max_iter (now {max_iter}) or tol, or leave "
        "out the smallest alphas."
    )


def constant_model_message(
    description: Description, problems: Sequence[Problem], solutions: Sequence[Solution]
) -> str:
    """Reasons why all coefficients of a fitted model are 0, and what to try.

    Parameters
    ----------
    description : Description
    problems : sequence of Problem
        The problems of the fit; one for each class of one-vs-rest.
    solutions : sequence of Solution
    """
    problem = max(problems, key=lambda each: each.largest_alpha)
    parameter, largest = description.path_parameter, problem.largest_alpha
    others, parameters = _other_models(description, problem), description.parameters
    primal = max(solution.certificate.primal for solution in solutions)
    stays_at_constant = primal >= NEAR * problem.null_objective
    if all(each.features_say_nothing for each in problems):
        reason = (
            "No coefficient that bounds allow makes the loss less than that of a constant, as "
            "where y or all features are constant and there is nothing to learn"
        )
        fits_intercept = parameters.get("fit_intercept", True)
        advice = ["look at X and y" if fits_intercept else "fit_intercept=True"]
    elif problem.alpha >= largest:
        reason = f"That holds for any {parameter} of at least about {largest:.3g}"
        reason += f"; {parameter} is {problem.alpha:.3g}"
        advice = [f"a smaller one, such as {parameter}={SMALLER * largest:.2g}", *others]
    elif not all(solution.converged for solution in solutions):
        reason, advice = "The fit has not converged", ["a larger max_iter"]
    elif parameters.get("noise_budget") is not None:
        reason = "With a small noise_budget few samples count, and 0 is often optimal"
        advice = ["a larger noise_budget", f"a smaller {parameter}"]
    elif others and parameters.get("constraints") is None and stays_at_constant:
        reason = (
            f"The loss {problem.loss!r} has a kink at the best constant prediction, which may be "
            "optimal whatever the features are, as where one class or value is much more frequent"
        )
        advice = [*others, f"a smaller {parameter}"]
    else:
        reason = f"Its objective is within tol={parameters['tol']:.3g} of the least"
        advice = [f"a smaller {parameter}", "a smaller tol"]
    return (
        f"{description.estimator_name} {description.wording.constant_model}: all coefficients "
        f"are 0. {reason}. What to try: {', or '.join(advice)}."
    )


def _other_models(description: Description, problem: Problem) -> list[str]:
    """Parameters that may help where the loss has kinks; an empty list for other losses."""
    parameters, names = description.parameters, description.loss_names
    if not (names or "class_weight" in parameters) or not problem.loss.has_kinks:
        return []
    advice = ["class_weight='balanced'"] if parameters.get("class_weight", "") is None else []
    of_classes = problem.loss.of_labels or problem.loss.of_classes
    smooth = ("logistic", "softmax") if of_classes else ("huber",)
    if parameters.get("noise_budget") is None:
        advice += [f"loss={name!r}" for name in smooth if name in names]
    return advice
