"""The models of a regularisation path."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .._compat import available_if
from .._typing import Array, Indices, MatrixLike, PerRow
from ..certificates import Certificate
from ..formulation.offsets import without_none
from ..inspection.displays import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class RegularizationPath:
    """The models of a path, from the largest alpha to the smallest.

    Where more than two classes are handled one-vs-rest, the arrays have an axis of classes
    after that of the alphas, and every one of the certificates is a `Certificates`. For
    `MultiTaskPD` and `MultinomialPD` the coefficients and intercepts have an axis of outputs or
    classes.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    coefs : ndarray of shape (n_alphas, n_features)
    intercepts : ndarray of shape (n_alphas,)
    certificates : list of Certificate
        The interval that holds the optimal objective value, for every alpha.
    converged : ndarray of bool, of shape (n_alphas,)
        Whether the relative gap is at most the estimator's ``tol``.
    n_iters : ndarray of int, of shape (n_alphas,)
    models : list of estimators
        For every alpha an estimator with the attributes that make predictions, and those of its
        certificate, such as ``certificate_``, ``converged_`` and ``n_iter_``.
    steps : Pipeline or None
        The fitted steps of a pipeline before the last.
    parameter : str
        The parameter of the estimator whose values ``alphas`` holds: "alpha", or "epsilon" of
        `DRSVMClassifier`.
    covered : ndarray of shape (n_alphas, 2), or None
        For every model the least and the largest alpha for which it has the relative gap
        ``certified`` of `regularization_path`, and all between; None for a path on a grid.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import LassoPDCertified, regularization_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = regularization_path(LassoPDCertified(), X, y, alphas=5, eps=1e-2)
    >>> found
    RegularizationPath(5 alphas from 2.15 to 0.0215, 5 of 5 fits converged, 0 to 8 of 10 features)
    >>> found.predict(X[:3]).shape
    (5, 3)
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    certificates: list[Certificate]
    converged: np.ndarray
    n_iters: Indices
    models: list[Any]  # of the estimator's type
    steps: Pipeline | None = None
    parameter: str = "alpha"
    covered: Array | None = None

    @property
    def _sizes(self) -> Array:
        """The norm of each feature's coefficients over all outputs, for every alpha."""
        between = tuple(range(1, self.coefs.ndim - 1))
        return np.sqrt(np.sum(self.coefs**2, axis=between)) if between else np.abs(self.coefs)

    def __repr__(self) -> str:
        n_alphas, n_features = len(self.alphas), self.coefs.shape[-1]
        if not n_alphas:
            return f"{type(self).__name__}(no {self.parameter}s)"
        used = np.count_nonzero(self._sizes, axis=1)
        return (
            f"{type(self).__name__}({n_alphas} {self.parameter}s from {self.alphas[0]:.3g} to "
            f"{self.alphas[-1]:.3g}, {np.count_nonzero(self.converged)} of "
            f"{self.converged.size} fits converged, {used.min()} to {used.max()} of "
            f"{n_features} features)"
        )

    def index_at(self, alpha: float) -> int:
        """The place of a model that is certified for an alpha, on a path with ``certified``.

        Parameters
        ----------
        alpha : float

        Returns
        -------
        index : int
            Of several models that are certified the one whose own alpha is nearest in ratio.

        Raises
        ------
        ValueError
            If no model is certified for this alpha.
        """
        covered = np.zeros((0, 2)) if self.covered is None else self.covered
        good = np.flatnonzero((covered[:, 0] <= alpha) & (alpha <= covered[:, 1]))
        if not len(good):
            known = "the path has none, as it was found without certified"
            if len(covered):
                known = f"those of the path are for {covered.min():.3g} to {covered.max():.3g}"
            raise ValueError(f"No model is certified for {self.parameter}={alpha!r}: {known}.")
        return int(good[np.argmin(np.abs(np.log(self.alphas[good] / alpha)))])

    def predict(self, X: MatrixLike, offset: PerRow = None, exposure: PerRow = None) -> Array:
        """Predict targets or classes by every model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the format of the data of `path`; the earlier steps of a pipeline transform
            them.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `path`; 0 by default.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.

        Returns
        -------
        y : ndarray of shape (n_alphas, n_samples), or with another axis for outputs
            Targets of regressors, labels of classifiers.
        """
        X, rows = self._transformed(X), without_none(offset=offset, exposure=exposure)
        return np.stack([model.predict(X, **rows) for model in self.models])

    @available_if(lambda path: bool(path.models) and is_classifier(path.models[0]))
    def decision_function(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """The scores of the classes by every model of a classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as for `predict`.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as for `predict`.

        Returns
        -------
        scores : ndarray of shape (n_alphas, n_samples), or with another axis for classes
        """
        X, rows = self._transformed(X), without_none(offset=offset)
        return np.stack([model.decision_function(X, **rows) for model in self.models])

    def _transformed(self, X: MatrixLike) -> MatrixLike:
        if not self.models:
            raise ValueError("The path has no models to predict by: no alpha was finished.")
        return X if self.steps is None else self.steps.transform(X)

    def plot(
        self, ax: "Axes | None" = None, *, feature_names: Sequence[str] | None = None,
        n_named: int = 8, **kwargs: Any,
    ) -> "Axes":  # fmt: skip
        """Draw the coefficients against alpha, on a log scale.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        feature_names : array-like of shape (n_features,), default=None
            Names for the legend; by default those of a data frame, or those that the earlier
            steps of a pipeline give its columns, else numbers from 0.
        n_named : int, default=8
            Number of features that have a colour and a name: those whose coefficients are largest
            in size somewhere on the path. The others are grey.
        **kwargs : dict
            Passed on to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        ax : matplotlib Axes
            With several classes or outputs each feature has one line, the Euclidean norm of its
            coefficients.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there are not as many names as features.
        """
        plt = pyplot("RegularizationPath.plot")

        sizes, single = self._sizes, self.coefs.ndim == 2
        names = self._names() if feature_names is None else list(feature_names)
        if len(names) != sizes.shape[1]:
            raise ValueError(f"feature_names must hold {sizes.shape[1]} names, got {len(names)}.")
        legend: dict[str, str | tuple[float, float]] = {"fontsize": "small", "title": "feature"}
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
            legend |= {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        named, others = self._largest_features(n_named)
        curves = np.where(_not_between_zeros(sizes), self.coefs if single else sizes, np.nan)
        grey = {"color": "0.8", "linewidth": 0.8, "zorder": 1}
        ax.plot(self.alphas, curves[:, others], **{**grey, **kwargs})
        for j in named:
            ax.plot(self.alphas, curves[:, j], **{"label": names[j], **kwargs})
        ax.axhline(0.0, color="black", linewidth=0.5, zorder=0)
        ax.margins(x=0.0)
        quantity = "coefficient" if single else "norm of the coefficients"
        ax.set(xscale="log", xlabel=self.parameter, ylabel=quantity)
        if len(named):
            ax.legend(**legend)
        return ax

    def _largest_features(self, n: int) -> tuple[Indices, Indices]:
        """Features with the largest coefficients, sorted by their last ones, and the others."""
        largest = np.max(self._sizes, axis=0, initial=0.0)
        used = np.flatnonzero(largest)
        chosen = used[np.argsort(-largest[used], kind="stable")[:n]]
        ends = (self.coefs if self.coefs.ndim == 2 else self._sizes)[-1:, chosen]
        return chosen[np.argsort(-ends.ravel(), kind="stable")], np.setdiff1d(used, chosen)

    def _names(self) -> list:
        """Names of the features, without a column of tasks; numbers where there are none."""
        n_features = self.coefs.shape[-1]
        names = vars(self.models[0]).get("feature_names_in_", ()) if self.models else ()
        if len(names) != n_features and self.steps is not None:
            with suppress(AttributeError, ValueError):  # a step may have no names
                names = self.steps.get_feature_names_out()
        return list(names if len(names) == n_features else range(n_features))


def _not_between_zeros(sizes: Array) -> np.ndarray:
    """Where sizes on a path are not 0, and the neighbouring alphas, where their curves begin."""
    used = sizes > 0.0
    shown = used.copy()
    shown[1:] |= used[:-1]
    shown[:-1] |= used[1:]
    return shown
