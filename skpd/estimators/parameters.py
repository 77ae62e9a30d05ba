"""Parameters of constructors: their validation, their declaration, and those that are shared."""

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from functools import cache, reduce
from inspect import get_annotations, signature
from numbers import Integral, Real
from operator import or_
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, dataclass_transform, get_args, get_origin

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from sklearn.base import BaseEstimator

from .._checks import shown
from .._compat import (
    Interval,
    InvalidParameterError,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from .._immutable_base import Value
from .._typing import ClassWeight, Constraints, Groups, PerFeature, SolverOptions
from ..penalties import Penalty
from .names import MARGIN_LOSSES, PENALTIES, RESIDUAL_LOSSES, PenaltyName
from .representation import PickledWithVersion, Text
from .unknown_parameters import explain, unknown_parameter

COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, np.inf, closed="left")
POSITIVE = Interval(Real, 0, np.inf, closed="neither")
SHARE = Interval(Real, 0, 1, closed="both")
INNER_SHARE = Interval(Real, 0, 1, closed="neither")

# the constraints of parameters that mean the same in several estimators
SHARED_CONSTRAINTS: dict[str, list] = {
    "alpha": [POSITIVE],
    "alphas": [COUNT, "array-like"],
    "bounds": [tuple, list, Bounds, dict, callable, None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "constraints": [LinearConstraint, list, tuple, None],
    "cv": ["cv_object"],
    "delta": [POSITIVE, None],
    "epsilon": [NOT_NEGATIVE, None],
    "groups": [COUNT, "array-like", dict, callable, StrOptions({"auto"}), None],
    "l1_ratio": [SHARE, None],
    "max_iter": [COUNT],
    "n_jobs": [Integral, None],
    "penalty_weights": ["array-like", dict, callable, None],
    "quantile": [INNER_SHARE, None],
    "random_state": ["random_state"],
    "solver_options": [dict, None],
    "tol": [NOT_NEGATIVE],
    "verbose": ["verbose"],
}

# the order of the parameters that estimators share, after all others of a constructor
SHARED_ORDER = (
    "noise_budget", "eps", "alphas", "cv", "solver", "solver_options", "tol", "max_iter",
    "fit_intercept", "class_weight", "warm_start", "n_jobs", "random_state", "verbose",
)  # fmt: skip
FLAGS = {"boolean", "verbose", bool}  # the constraints that a bool satisfies

# names of other libraries and estimators, with the names here
ALSO_KNOWN_AS = {
    "absolute_error": "absolute", "binomial": "logistic", "elastic_net": "elasticnet elastic_net",
    "gaussian": "squared rbf", "group_lasso": "group", "l1": "absolute", "lasso": "l1",
    "log": "logistic", "log_loss": "logistic softmax", "ls": "squared", "mae": "absolute",
    "mse": "squared", "normal": "squared", "nuclear": "trace", "quantile": "pinball",
    "ridge": "l2", "squared_l2": "l2", "squared_error": "squared",
    "1se": "one_standard_error", "one_se": "one_standard_error",
}  # fmt: skip
# the estimators that have a loss or penalty
ELSEWHERE = {
    "loss": {name: f"PdproxSVC(loss={name!r})" for name in MARGIN_LOSSES}
    | {name: f"PdproxRegressor(loss={name!r})" for name in RESIDUAL_LOSSES}
    | {"crammer_singer": "MultinomialPD", "softmax": "MultinomialPD", "cox": "CoxPD",
       "gamma": "GammaPD", "poisson": "PoissonPD", "tweedie": "TweediePD",
       "negative_binomial": "PoissonPD(dispersion=...)"},
    "penalty": dict.fromkeys(PENALTIES, "PdproxSVC or PdproxRegressor")
    | dict.fromkeys(("l21", "trace"), "MultiTaskPD or MultinomialPD"),
}  # fmt: skip


class FitsWithoutPenalty:
    """Mixin of estimators whose alpha may be 0: no feature is then penalised."""

    _fits_alpha_0: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"alpha": [NOT_NEGATIVE]}


class ParameterValidation(PickledWithVersion):
    """Base class of estimators that refuse bools for numbers and suggest similar names.

    In Python True and False are the integers 1 and 0, so that scikit-learn's validation takes
    ``alpha=True`` for 1. Bools are refused where numbers are wanted.

    A class declares in ``_own_constraints`` what neither the shared constraints nor the types of
    its parameters say. What its bases declare holds for its own parameters too.
    """

    _own_constraints: ClassVar[dict] = {}
    _takes_blocks: ClassVar[bool] = False  # whether X may be `RowBlocks`
    _fits_alpha_0: ClassVar[bool] = False  # whether an alpha of 0 is a model without a penalty
    _parameter_constraints: ClassVar[dict]
    _defaults: ClassVar[dict]  # by the names of parameters; `Signature.empty` where there is none

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        explain(cls, "fit")
        cls._find_constraints()

    @classmethod
    def _find_constraints(cls) -> None:
        """Set the constraints of the parameters that the constructor takes.

        The constructor then says of unknown parameters what to pass instead.
        """
        explain(cls, "__init__")
        known = dict(SHARED_CONSTRAINTS)
        for base in reversed(cls.__mro__):
            known |= vars(base).get("_own_constraints", {})
        parameters = signature(cls.__init__).parameters
        cls._parameter_constraints = {name: known[name] for name in parameters if name in known}
        cls._defaults = {name: parameter.default for name, parameter in parameters.items()}

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the signature again in every fit, a tenth of that of a small table
        return super()._get_param_names()

    def _validate_params(self) -> None:
        # defaults are valid, and most parameters have them
        defaults, values = self._defaults, self.get_params(deep=False)
        values = {name: value for name, value in values.items() if value is not defaults[name]}
        for name, value in values.items():
            constraints = self._parameter_constraints.get(name, ())
            if isinstance(value, bool) and FLAGS.isdisjoint(constraints):
                values[name] = Text(repr(value))  # validated as no number
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                values[name] = Text(shown(value))
            if isinstance(value, type) and name in ("loss", "penalty", "estimator"):
                raise InvalidParameterError(
                    f"The {name!r} parameter must be an object, got the class {value.__name__}: "
                    f"pass {value.__name__}()."
                )
            if isinstance(value, str) or (name in ELSEWHERE and not isinstance(value, Value)):
                self._require_known(name, value, constraints)
            if name == "quantile" and isinstance(value, Real) and 1 < float(value) < 100:
                hint = f"got {value}: pass {float(value) / 100:g}"
                raise InvalidParameterError(f"The 'quantile' parameter must be in (0, 1), {hint}.")
        with np.printoptions(legacy="1.25"):  # shows numbers without the types of NumPy
            validate_parameter_constraints(
                self._parameter_constraints, values, caller_name=type(self).__name__
            )

    def _require_known(self, parameter: str, name: object, constraints: Sequence) -> None:
        """Raise a ValueError for an unknown name, with the most similar one that is allowed."""
        lists = [constraint for constraint in constraints if isinstance(constraint, StrOptions)]
        known = sorted(option for constraint in lists for option in constraint.options)
        if not known or (isinstance(name, str) and name in known):
            return
        others = "".join(f" or {make_constraint(c)}" for c in constraints if c not in lists)
        others = " or an object" if parameter in ELSEWHERE and others else others
        hint = self._hint(parameter, name, known)
        raise InvalidParameterError(
            f"The {parameter!r} parameter of {type(self).__name__} must be a known name{others}. "
            f"Got {shown(name)} instead.{hint} The names are {', '.join(map(repr, known))}."
        )

    def _hint(self, parameter: str, name: object, known: Sequence[str]) -> str:
        """What to pass instead of an unknown name, where it is similar to one or is elsewhere."""
        word, owners = str(name).lower(), ELSEWHERE.get(parameter, {})
        if parameter == "kernels":
            return f" For a single kernel pass [{name!r}]."
        if word == "none" and "l2" in known:
            return f" For no penalty pass {'alpha=0' if self._fits_alpha_0 else 'a small alpha'}."
        names = [word, *ALSO_KNOWN_AS.get(word, "").split()]
        same = [other for other in names if other in known]
        longer = [other for other in known if word and other.startswith(word)]
        similar = same or longer or get_close_matches(word, known, n=1)
        default = " Leave solver out for the fastest one." if parameter == "solver" else ""
        hint = f" Did you mean {similar[0]!r}?" if similar else default
        elsewhere = [] if same else [owners[other] for other in names if other in owners]
        return f"{hint} {elsewhere[0]} has this {parameter}." if elsewhere else hint

    def set_params(self, **params: object) -> Self:
        """Set parameters of the estimator, or of its loss or penalty.

        Parameters
        ----------
        **params : dict
            Values by name. ``penalty__l1_ratio=0.5`` replaces the penalty by one with this
            l1_ratio.

        Returns
        -------
        self : estimator instance

        Raises
        ------
        ValueError
            If there is no such parameter, or if it belongs to an object that has no parameters.
        """
        of_values: dict[str, dict[str, Any]] = {}
        values = self.get_params(deep=False)
        for key in list(params):
            name, _, parameter = key.partition("__")
            if name not in values:
                raise ValueError(unknown_parameter(type(self).__name__, name, values))
            holder = params.get(name, values[name])
            if parameter and isinstance(holder, Value):
                of_values.setdefault(name, {})[parameter] = params.pop(key)
            elif parameter and not isinstance(holder, BaseEstimator):
                raise ValueError(f"{name}={holder!r} has no parameters of its own, got {key!r}.")
        super().set_params(**params)
        for name, changes in of_values.items():
            setattr(self, name, getattr(self, name).with_params(**changes))
        return self


def _shared_of(kind: type) -> dict[str, type]:
    """The annotations of the parameters that the bases of a class share, the last base's first."""
    hints: dict[str, type] = {}
    for base in reversed(kind.__bases__):
        hints |= getattr(base, "_shared_parameters", {})
    return hints


def _constraints_of(hint: object) -> list | None:
    """The constraints of a bool, or of a name or an object of skpd; None for other types."""
    constraints: list = []
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]:
        if get_origin(kind) is Literal:
            constraints.append(StrOptions(set(get_args(kind))))
        elif kind is bool:
            constraints.append("boolean")
        elif kind is NoneType:
            constraints.append(None)
        elif isinstance(kind, type) and issubclass(kind, Value):
            constraints.append(kind)
        else:
            return None
    return constraints


def _without_names(hint: object) -> Any:
    """A type with str in place of the names that a parameter takes, for short signatures."""
    if get_origin(hint) is Literal:
        return str
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(_without_names, get_args(hint)))
    return hint


@dataclass_transform(eq_default=False, kw_only_default=True)
def shared(kind: Any) -> Any:
    """Let estimators derived from a class take the annotated names in its body that have values.

    Their constructors take them by keyword, after the parameters of their own.
    """
    hints = {name: hint for name, hint in get_annotations(kind).items() if name in vars(kind)}
    values = {name: hint for name, hint in hints.items() if not name.startswith("_")}
    kind._shared_parameters = _shared_of(kind) | values
    return kind


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def declared(kind: Any) -> Any:
    """Complete an estimator whose parameters are the annotated names in the body of its class.

    The constructor takes these in their order, then by keyword the `shared` ones of its bases,
    and does nothing but keep them.
    """
    text, hints, inherited = kind.__doc__, get_annotations(kind), _shared_of(kind)
    in_order = SHARED_ORDER if inherited else ()
    later = inherited | {name: hints[name] for name in hints if name in {*inherited, *in_order}}
    first = {name: hints[name] for name in hints if name not in later} | {"_": KW_ONLY}
    last = {name: later.pop(name) for name in in_order if name in later}
    kind.__annotations__ = first | later | last
    kind._shared_parameters = {}  # a derived class declares all of its own
    by_type = {name: _constraints_of(hint) for name, hint in kind.__annotations__.items()}
    named = {name: constraints for name, constraints in by_type.items() if constraints}
    kind._own_constraints = named | vars(kind).get("_own_constraints", {})
    kind = dataclass(eq=False, repr=False)(kind)
    shown = {name: _without_names(hint) for name, hint in kind.__init__.__annotations__.items()}
    kind.__init__.__annotations__ = shown
    kind.__doc__ = text  # None under ``python -OO``, where dataclass writes one
    # Others would take the fields for all that an estimator holds, as dask does where it makes the
    # name of a task from one, and a derived class would have them beside its own.
    del kind.__dataclass_fields__
    kind._find_constraints()
    return kind


# Parameters that estimators share; constructors take them in `SHARED_ORDER`


@shared
class WithOptions:
    """The options of a solver, for classes with solvers of their own."""

    solver_options: SolverOptions | None = None


@shared
class WithSolver(WithOptions):
    """The choice of a solver."""

    solver: Literal["auto", "pdprox-dual", "pdprox-primal", "agm", "cd", "approx"] = "auto"


@shared
class PenaltyParameters:
    """The penalty and its parameters, with weights and bounds of features or groups."""

    penalty: PenaltyName | Penalty = "l1"
    l1_ratio: float | None = None
    groups: Groups = None
    penalty_weights: PerFeature = None
    bounds: PerFeature = None


@shared
class StoppingParameters:
    """When a fit stops, what it draws and what it prints."""

    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


@shared
class IterationLimit:
    """The number of iterations at most, for classes without another default."""

    max_iter: int = 50_000


@shared
class WarmStartParameters(StoppingParameters):
    """How a fit begins and when it stops."""

    warm_start: bool = False


@shared
class FitParameters(WarmStartParameters, IterationLimit, WithOptions):
    """How a problem with an intercept is fitted."""

    fit_intercept: bool = True


@shared
class SolverParameters(FitParameters, WithSolver):
    """The choice of a solver, and how it fits one problem."""


@shared
class AnyPenaltyParameters(FitsWithoutPenalty, SolverParameters, PenaltyParameters):
    """How a problem with any penalty, or none, is fitted, also under linear constraints."""

    constraints: Constraints = None


@shared
class ScoreParameters(FitsWithoutPenalty, PenaltyParameters, WarmStartParameters, IterationLimit):
    """How a problem with any penalty, or none, and with no intercept is fitted."""


@shared
class ClassifierParameters(FitParameters):
    """How a problem with an intercept is fitted for each class."""

    class_weight: ClassWeight = None
    n_jobs: int | None = None
