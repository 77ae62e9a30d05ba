"""Base classes: of values with parameters in the manner of scikit-learn, and of what has kinds."""

from collections.abc import Callable
from dataclasses import field, fields, is_dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Self, TypeVar, cast

from ._checks import check_number

T = TypeVar("T")


class OfKinds:
    """An object of one of several kinds, of which each has more than their interface."""

    def as_kind(self, kind: Callable[..., T]) -> T:
        """The object itself, for those who know of which kind it is.

        The type of ``kind`` is not ``type[T]``, as mypy refuses abstract classes there.
        """
        assert isinstance(self, kind), f"{self!r} is no {kind.__name__}"  # type: ignore[arg-type]
        return cast(T, self)


class Value(OfKinds):
    """An immutable object whose parameters are the fields of its dataclass.

    The methods ``get_params`` and ``set_params`` of estimators include these parameters, so that a
    grid search can try values of ``penalty__l1_ratio`` or ``loss__quantile``. An object whose
    class is not a dataclass has no parameters.
    """

    def __post_init__(self) -> None:
        """Raise a ValueError if a parameter declared by `number` is beyond its limits."""
        for parameter in fields(self):  # type: ignore[arg-type]
            if "limits" in parameter.metadata:
                check_number(self, parameter.name, **parameter.metadata["limits"])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Has no effect, as the parameters have no parameters of their own.

        Returns
        -------
        parameters : dict
        """
        if not is_dataclass(self):
            return {}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def with_params(self, **parameters: object) -> Self:
        """A copy of the object with other values of some parameters.

        Parameters
        ----------
        **parameters : dict
            The values by name.

        Returns
        -------
        changed : object
            An object of the same class.

        Raises
        ------
        ValueError
            If there is no such parameter, or a value is not allowed.
        """
        known = self.get_params()
        for name in parameters:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}, but {sorted(known)}."
                )
        return replace(self, **parameters) if parameters else self  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        """The object itself, as it is immutable."""
        return self


def number(default: float, **limits: float) -> Any:
    """The declaration of a parameter that is a number within limits, those of `check_number`."""
    return field(default=default, metadata={"limits": limits})


def computed(function: Callable[[Any], T]) -> T:
    """A property that is a formula of others, and to type checkers is an attribute."""
    # numpydoc looks for the definition of a property in its source; a partial has none to parse
    return cast(T, property(partial(function), doc=""))


def attribute_of_part(path: str) -> Any:
    """A property that reads an attribute of a part, such as "rows.weights"."""
    return property(attrgetter(path), doc=f"The attribute ``{path}``.")
