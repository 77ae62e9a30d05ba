"""Scores on the folds of a cross-validation along a path that is certified on all of them."""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from .certified_path import certified_models
from .fold_paths import FollowedPaths
from .path import solving_at, split_pipeline
from .score_bounds import Score, score_bounds
from .scored_folds import ScoredFolds


@dataclass(frozen=True)
class CertifiedFolds:
    """Values and certificates of models for alphas that are certified on all folds.

    Attributes
    ----------
    values : list of list of float
        The score of each model, for each fold.
    certificates : list
        As in `FollowedPaths`.
    alphas : list of float
        Decreasing.
    ranges : list of tuple
        The least and the largest alpha for which each model is certified and the one before not.
    bounds : list of list of tuple
        For each range bounds on the score of an optimal model, for each fold.
    missed : list of float
        The alphas near which the relative gap is not reached.
    interrupted : bool
        Whether Ctrl-C has ended the path.
    """

    values: list
    certificates: list
    alphas: list
    ranges: list
    bounds: list
    missed: list
    interrupted: bool = False

    @property
    def followed(self) -> FollowedPaths:
        """The values and certificates in the form of paths on a grid."""
        values = np.reshape(self.values, (len(self.values), len(self.alphas)))
        grids = np.array([self.alphas])
        return FollowedPaths(grids, values, self.certificates, self.interrupted)


def follow_certified(folds: ScoredFolds, eps: float, score: Score | None) -> CertifiedFolds:
    """The scores for alphas of a path that is certified on all folds.

    Parameters
    ----------
    folds : ScoredFolds
        The folds, with the ends of the path as their alphas.
    eps : float
        The relative gap.
    score : callable or None
        The function of `bounds_of_score`, for bounds on the scores.
    """
    paths = [folds.path_of(k) for k in range(len(folds.folds))]
    problems = [problem.by_columns() for path in paths for problem in path.problems]
    owners = [path.estimator for path in paths for _ in path.problems]
    random_state = split_pipeline(folds.estimator)[1].random_state
    solve_at = solving_at(owners, problems, random_state)
    certified = CertifiedFolds([[] for _ in paths], [[] for _ in paths], [], [], [], [])
    highest = float(folds.grids[0, 0])
    with suppress(KeyboardInterrupt):
        ends = highest, float(folds.grids[0, -1])
        for models in certified_models(problems, solve_at, *ends, eps):
            each = iter(models.solutions)
            of_folds = [[next(each) for _ in path.problems] for path in paths]
            values, bounds = [], []
            for path, solutions in zip(paths, of_folds, strict=True):
                values.append(path.value(models.alpha, solutions))
                bounds.append((-np.inf, np.inf))
                if score is not None and path.held_out is not None and models.converged:
                    lowest = path.problems[0].with_alpha(models.lowest)
                    bounds[-1] = score_bounds(score, lowest, solutions[0], eps, path.held_out)
            # all folds at once, so that Ctrl-C leaves each with the same number of models
            for k, solutions in enumerate(of_folds):
                certified.values[k].append(values[k])
                brief = [solution.certificate.without_arrays() for solution in solutions]
                certified.certificates[k].append(brief)
            certified.bounds.append(bounds)
            certified.ranges.append((models.lowest, highest))
            certified.alphas.append(models.alpha)
            if not models.converged:
                certified.missed.append(models.alpha)
            highest = models.lowest
        return certified
    return replace(certified, interrupted=True)
