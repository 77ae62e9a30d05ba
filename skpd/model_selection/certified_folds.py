"""Scores on the folds of a cross-validation along a path that is certified on all of them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..certificates import Certificate
from ..problems import Solution
from .certified_path import Covered, certified_models
from .fold_paths import FoldPath
from .path import solving_at, split_pipeline
from .score_bounds import Bounds, Score, score_bounds
from .scored_folds import ScoredFolds


class ScoredModels(NamedTuple):
    """The scores of the models for an alpha of a path, one for each fold.

    Attributes
    ----------
    covered : Covered
        The models with the alphas for which they are certified.
    values : list of float
        The score of each model.
    certificates : list of list of Certificate
        Those of each model.
    bounds : list of tuple
        Bounds on the score of an optimal model for the alphas from ``lowest`` on, for each fold.
    """

    covered: Covered
    values: list[float]
    certificates: list[list[Certificate]]
    bounds: list[Bounds]


def scored_models(folds: ScoredFolds, eps: float, score: Score | None) -> Iterator[ScoredModels]:
    """The scores for alphas of a path that is certified on all folds.

    Parameters
    ----------
    folds : ScoredFolds
        The folds, with the ends of the path as their alphas.
    eps : float
        The relative gap for every alpha between these ends.
    score : callable or None
        The function that bounds the score; None without bounds.
    """
    paths = [folds.path_of(k) for k in range(len(folds.folds))]
    problems = [problem.by_columns() for path in paths for problem in path.problems]
    owners = [path.estimator for path in paths for _ in path.problems]
    random_state = split_pipeline(folds.estimator)[1].random_state
    solve_at = solving_at(owners, problems, random_state)

    def bounds_of(path: FoldPath, solution: Solution, models: Covered) -> Bounds:
        if score is None or path.held_out is None or not models.converged:
            return -np.inf, np.inf
        lowest = path.problems[0].with_alpha(models.lowest)
        return score_bounds(score, lowest, solution, eps, path.held_out)

    first, last = folds.grids[0, [0, -1]]
    for models in certified_models(problems, solve_at, first, last, eps):
        each = iter(models.solutions)
        pairs = [(path, [next(each) for _ in path.problems]) for path in paths]
        yield ScoredModels(
            models,
            [float(path.values(np.array([models.alpha]), [row])[0]) for path, row in pairs],
            [[s.certificate.without_arrays() for s in solutions] for _, solutions in pairs],
            [bounds_of(path, solutions[0], models) for path, solutions in pairs],
        )
