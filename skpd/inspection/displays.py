"""Plots of the convergence of certified intervals."""

from types import ModuleType

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators.wrappers import final_estimator, full_name

FEW = 5  # lines at most whose names fit among them, and whose areas do not hide each other
LABELS = {"seconds": "seconds", "n_iter": "iterations"}
PANELS = {
    "both": ("gap", "interval"), "gap": ("gap",), "interval": ("interval",),
    "iterates": ("iterates",),
}  # fmt: skip
Y_LABELS = {
    "gap": "duality gap",
    "iterates": "duality gap (line)\niterates (points)",
    "interval": "objective (solid)\nlower bound (dashed)",
}


def pyplot(caller: str) -> ModuleType:
    """`matplotlib.pyplot`, or an ImportError that says what to install."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib. Install it by: pip install matplotlib"
        ) from error
    return matplotlib.pyplot


class GapDisplay:
    """Plot of the certified interval of a fitted estimator over time or iterations.

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
        The axes: by default the upper one for the gap on a log scale, the lower one for the
        objective and the lower bound.
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
            Unit of the horizontal axis: seconds or iterations.
        kind : {"both", "gap", "interval", "iterates"}, default="both"
            "gap" is the gap on a log scale, "interval" the objective and the lower bound, "both"
            one above the other; "iterates" is the gap, with points for the difference between the
            objective of each recorded iterate and the best lower bound.
        **kwargs : dict
            Passed on to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : GapDisplay

        Raises
        ------
        ValueError
            If ``x``, ``kind`` or the number of axes is not among the allowed values.
        """
        for argument, value, allowed in (("x", x, LABELS), ("kind", kind, PANELS)):
            if value not in allowed:
                raise ValueError(f"{argument} must be one of {set(allowed)}, got {value!r}.")
        panels, ours = PANELS[kind], ax is None
        axes = self._own_axes(len(panels)) if ours else np.atleast_1d(ax)
        if len(axes) != len(panels):
            raise ValueError(
                f"ax must hold {len(panels)} axes for kind={kind!r}, got {len(axes)}."
            )
        self.axes_, self.figure_, self.lines_ = axes, axes[0].figure, []
        for panel, axis in zip(panels, axes, strict=True):
            axis.grid(alpha=0.3)
            for history, name in zip(self.histories, self.names, strict=True):
                style = {"label": name, "drawstyle": "steps-post", **kwargs}
                if panel == "interval":
                    self._draw_interval(axis, history, x, style)
                else:
                    self._draw_gap(axis, history, x, style)
                    if panel == "iterates":
                        self._draw_iterates(axis, history, x, kwargs)
            axis.set(ylabel=Y_LABELS[panel], yscale="linear" if panel == "interval" else "log")
        self._name_lines(axes[0], outside=ours, labelled="label" in kwargs)
        axes[-1].set_xlabel(LABELS[x])
        return self

    def _own_axes(self, n_panels):
        """Axes one above the other, in a figure with room for the names of many lines."""
        plt = pyplot("GapDisplay")

        width = 6.4 if len(self.names) <= FEW else 8.4
        size = (width, 2.8 * n_panels)
        _, axes = plt.subplots(n_panels, sharex=True, figsize=size, layout="constrained")
        return np.atleast_1d(axes)

    def _draw_gap(self, axis, history, x, style):
        gap = np.where(history["gap"] > 0, history["gap"], np.nan)
        self.lines_ += axis.plot(history[x], gap, **style)

    def _draw_iterates(self, axis, history, x, style):
        """Draw the difference between each iterate's objective and the best bound."""
        above = history["iterate_primal"] - history["dual"][-1]
        style = {**style, "color": self.lines_[-1].get_color(), "linestyle": ""}
        axis.plot(history[x], above, **{"marker": ".", "ms": 3, **style})

    def _draw_interval(self, axis, history, x, style):
        (line,) = axis.plot(history[x], history["primal"], **style)
        style = {**style, "color": line.get_color(), "linestyle": "--", "label": None}
        axis.plot(history[x], history["dual"], **style)
        if len(self.names) <= FEW:  # areas over areas hide each other
            axis.fill_between(
                history[x], history["dual"], history["primal"],
                step="post", alpha=0.15, color=line.get_color(), linewidth=0,
            )  # fmt: skip

    def _name_lines(self, axis, *, outside, labelled):
        """Add a title for a single line, a legend for several; beside the axes for many."""
        if len(self.names) == 1 and not labelled:
            axis.set_title(self.names[0], fontsize="medium")
        elif outside and len(self.names) > FEW:
            position = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.02), "frameon": False}
            axis.legend(fontsize="small", **position)
        else:
            axis.legend(fontsize="small", ncols=2 if len(self.names) > FEW else 1)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, x="seconds", kind="both", name=None, **kwargs):
        """Create the display of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``gap_history_``; or a pipeline or search over parameters whose (last,
            best) estimator is.
        ax, x, kind, **kwargs
            Arguments of `plot`.
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
