"""Scores of survival models: deviance, concordance, Brier scores and areas under ROC curves."""

from .models.survival.metrics import (
    SurvivalScorer,
    brier_score,
    concordance_index,
    cumulative_dynamic_auc,
    partial_likelihood_deviance,
)

__all__ = [
    "SurvivalScorer", "brier_score", "concordance_index", "cumulative_dynamic_auc",
    "partial_likelihood_deviance",
]  # fmt: skip
