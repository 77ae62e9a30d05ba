"""Newton steps in (w, b, lam) under the constraint that lam is at least the norm of w.

The smoothed losses have second derivatives H in the predictions, g in a prediction and lam, and k
in lam. If lam = ||w||, lam changes by u.dw with u = w / ||w||, and the constraint has the
curvature t (I - u u') for t = (derivative in lam) / ||w||. With nu the change of that derivative,
a step is the solution of ::

    ( X'HX + (ridge + t) I   X'H1   X'g - t u    u ) ( dw   )     ( g_w   )
    ( 1'HX                   1'H1   1'g          0 ) ( db   ) = - ( g_b   )
    ( (X'g - t u)'           g'1    k + t       -1 ) ( dlam )     ( g_lam )
    ( u'                     0      -1           0 ) ( nu   )     ( 0     )

If lam is larger than ||w||, the terms with t and the last row and column are left out.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array
from ...designs import newton_cost
from ..conjugate_gradients import conjugate_gradients
from ..interior.systems import FeatureSystem
from .rows import Curvature


@dataclass(frozen=True)
class Model:
    """A quadratic model of the objective.

    Attributes
    ----------
    rows : Curvature
    diagonal : ndarray of shape (n_features + 2,)
        A diagonal that is added to the curvature of w, b and lam.
    gradient : ndarray of shape (n_features + 2,)
    normal : ndarray of shape (n_features,) or None
        The vector u; None if lam is larger than the norm.
    bend : float
        The number t.
    fit_intercept : bool
        Whether b is free.
    """

    rows: Curvature
    diagonal: Array
    gradient: Array
    normal: Array | None
    bend: float
    fit_intercept: bool

    def reduced(self, gradient: Array) -> Array:
        """The derivatives in the free unknowns, without lam if it is the norm of w."""
        out = gradient.copy()
        if not self.fit_intercept:
            out[-2] = 0.0
        if self.normal is not None:
            out[:-2] += out[-1] * self.normal
            out[-1] = 0.0
        return out

    def whole(self, direction: Array) -> Array:
        """The direction with the change of lam, which follows from that of w on the sphere."""
        if self.normal is None:
            return direction
        return np.append(direction[:-1], float(self.normal @ direction[:-2]))

    def times(self, direction: Array) -> Array:
        """The product of the reduced Hessian with a direction of the free unknowns."""
        rows, x = self.rows, self.whole(direction)
        w, lam = x[:-2], float(x[-1])
        z = rows.design.matvec(w) + x[-2]
        slopes = rows.predictions * z + rows.mixed * lam
        last = float(rows.mixed @ z) + rows.lam * lam
        out = np.concatenate([rows.design.rmatvec(slopes), [float(np.sum(slopes)), last]])
        out += self.diagonal * x
        if self.normal is not None:
            out[:-2] += self.bend * (w - lam * self.normal)
        return self.reduced(out)

    def system(self) -> FeatureSystem:
        """The factorised system of the model."""
        design, predictions, mixed, lam_twice = self.rows
        d = design.shape[1]
        intercept, lam, multiplier = d, d + 1, d + 2
        system = FeatureSystem(design, d, 3)
        system.add_rows(predictions)
        system.diagonal += self.diagonal[:d] + self.bend
        system.border(lam)[:] = design.rmatvec(mixed)
        system.add_corner(lam, lam, lam_twice + self.diagonal[lam] + self.bend)
        if self.fit_intercept:
            system.border(intercept)[:] = design.rmatvec(predictions)
            total, beside = float(np.sum(predictions)), float(np.sum(mixed))
            system.add_corner(intercept, intercept, total + self.diagonal[intercept])
            system.add_corner(intercept, lam, beside)
        else:
            system.add_corner(intercept, intercept, 1.0)
        if self.normal is not None:
            system.border(lam)[:] -= self.bend * self.normal
            system.border(multiplier)[:] = self.normal
            system.add_corner(lam, multiplier, -1.0)
        else:
            system.add_corner(multiplier, multiplier, 1.0)
        system.prepare()
        return system


class NewtonSteps:
    """The minimisers of a sequence of models.

    The factor of an earlier model is used as preconditioner of conjugate gradients for later
    ones, as long as these cost less than a new factor.

    Parameters
    ----------
    accuracy : float
        The relative residual of conjugate gradients, in the norm of the preconditioner.
    dense : float
        The time of a multiplication in a solution with a factor, relative to one in a sparse
        product.
    """

    def __init__(self, accuracy: float, dense: float) -> None:
        self.accuracy, self.dense = accuracy, dense
        self.system: FeatureSystem | None = None
        self.on_sphere = False  # whether lam was the norm in its model
        self.cost = 0.0  # until now, in the units of `newton_cost`

    def minimiser(self, model: Model) -> Array:
        """The step in w, b and lam.

        Raises
        ------
        LinAlgError
            If there is no factor or no finite step because of rounding.
        """
        design = model.rows.design
        n, d = design.shape
        products = newton_cost(design, 0, 0)
        factor = newton_cost(design, n, d) - products
        iteration = 2.0 * design.n_entries + self.dense * d * d
        self.cost += products
        step, right = None, -model.reduced(model.gradient)
        if self.system is not None and self.on_sphere == (model.normal is not None):
            system, most = self.system, int(factor / iteration)
            found = conjugate_gradients(
                model.times, lambda x: _solved(system, x), right, most=most + 1,
                share=self.accuracy**2, inner=lambda x, y: float(x @ y),
            )  # fmt: skip
            self.cost += min(found.n_steps, most) * iteration
            step = found.solution if found.is_accurate else None
        if step is None:
            self.system, self.on_sphere = model.system(), model.normal is not None
            self.cost += factor
            step = _solved(self.system, right)
        if not np.isfinite(step).all():
            raise LinAlgError("a Newton step overflows")
        return model.whole(step)


def _solved(system: FeatureSystem, right: Array) -> Array:
    return system.solve(np.append(right, 0.0))[:-1]
