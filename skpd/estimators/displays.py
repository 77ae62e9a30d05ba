"""Plots of certified convergence."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from .wrappers import final_estimator, full_name

__all__ = ["GapDisplay"]


class GapDisplay:
    """How the certified interval of a fitted estimator closed in on the optimum.

    Use `from_estimator` to create one.

    Parameters
    ----------
    histories : list of structured ndarray
        The ``gap_history_`` of each fit.
    names : list of str
        A name for each.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Above the gap on a log scale, below objective and lower bound; or the one
        requested.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The curves of the gap.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import GapDisplay, PdproxSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = PdproxSVC(alpha=0.01).fit(StandardScaler().fit_transform(X), y)
    >>> display = GapDisplay.from_estimator(clf)
    >>> plt.show()
    """

    def __init__(self, *, histories, names):
        self.histories = histories
        self.names = names

    def plot(self, ax=None, *, x="seconds", kind="both", **kwargs):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them for kind="both", default=None
            Where to draw; a new figure by default.
        x : {"seconds", "n_iter"}, default="seconds"
            What the horizontal axis counts.
        kind : {"both", "gap", "interval", "iterates"}, default="both"
            The gap on a log scale, objective and lower bound closing in, or both; or the gap
            with, as points, the objective of each recorded iterate itself above the best bound.
        **kwargs : dict
            Passed on to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : GapDisplay

        Raises
        ------
        ValueError
            If ``x``, ``kind`` or the number of axes is not one of these.
        """
        check_matplotlib_support("GapDisplay")
        import matplotlib.pyplot as plt

        labels = {"seconds": "seconds", "n_iter": "iterations"}
        panels = {
            "both": ("gap", "interval"), "gap": ("gap",), "interval": ("interval",),
            "iterates": ("iterates",),
        }  # fmt: skip
        for name, value, allowed in (("x", x, labels), ("kind", kind, panels)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {set(allowed)}, got {value!r}.")
        panels = panels[kind]
        if ax is None:
            _, ax = plt.subplots(
                len(panels), sharex=True, figsize=(6.4, 2.8 * len(panels)), layout="constrained"
            )
        axes = np.atleast_1d(ax)
        if len(axes) != len(panels):
            raise ValueError(
                f"ax must hold {len(panels)} axes for kind={kind!r}, got {len(axes)}."
            )

        self.axes_, self.figure_, self.lines_ = axes, axes[0].figure, []
        for panel, axis in zip(panels, axes, strict=True):
            for history, name in zip(self.histories, self.names, strict=True):
                if panel in ("gap", "iterates"):
                    gap = np.where(history["gap"] > 0, history["gap"], np.nan)
                    self.lines_ += axis.plot(
                        history[x], gap, **{"label": name, "drawstyle": "steps-post", **kwargs}
                    )
                    if panel == "iterates":
                        above = history["iterate_primal"] - history["dual"][-1]
                        style = {**kwargs, "color": self.lines_[-1].get_color(), "linestyle": ""}
                        axis.plot(history[x], above, **{"marker": ".", "ms": 3, **style})
                else:
                    (line,) = axis.plot(
                        history[x], history["primal"], **{"drawstyle": "steps-post", **kwargs}
                    )
                    style = {**kwargs, "color": line.get_color(), "linestyle": "--"}
                    axis.plot(history[x], history["dual"], **{"drawstyle": "steps-post", **style})
                    axis.fill_between(
                        history[x], history["dual"], history["primal"],
                        step="post", alpha=0.15, color=line.get_color(), linewidth=0,
                    )  # fmt: skip
            if panel in ("gap", "iterates"):
                label = (
                    "duality gap" if panel == "gap" else "duality gap (line)\niterates (points)"
                )
                axis.set(yscale="log", ylabel=label)
                if len(self.names) > 1 or "label" in kwargs:
                    axis.legend(fontsize="small", ncols=2 if len(self.names) > 5 else 1)
                else:
                    axis.set_title(self.names[0], fontsize="medium")
                axis.grid(alpha=0.3)
            else:
                axis.set(ylabel="objective (solid)\nlower bound (dashed)")
                axis.grid(alpha=0.3)
        axes[-1].set_xlabel(labels[x])
        return self

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, x="seconds", kind="both", name=None, **kwargs):
        """Create the display of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``gap_history_``; or a pipeline or search over parameters whose (last,
            best) estimator is.
        ax, x, kind, **kwargs
            As for `plot`.
        name : str, default=None
            Name for the curve; the estimator's class by default. One-vs-rest fits are
            named by their class labels.

        Returns
        -------
        display : GapDisplay

        Raises
        ------
        TypeError
            If the estimator is fitted but has no ``gap_history_``.
        """
        estimator = final_estimator(estimator)[0]
        check_is_fitted(estimator)
        if not hasattr(estimator, "gap_history_"):
            raise TypeError(
                "GapDisplay draws the gap_history_ of a fitted estimator of skpd, got "
                f"{full_name(estimator)}, which has none."
            )
        name = type(estimator).__name__ if name is None else name
        histories, names = estimator.gap_history_, [name]
        if isinstance(histories, list):
            names = [f"{name}, class {label}" for label in estimator.classes_]
        else:
            histories = [histories]
        return cls(histories=histories, names=names).plot(ax, x=x, kind=kind, **kwargs)
