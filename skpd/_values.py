"""Losses and penalties as values, whose parameters scikit-learn can read and replace."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

__all__ = ["Value"]


class Value:
    """An object that never changes, whose parameters are the fields of its dataclass.

    Estimators show them in ``get_params`` and take them in ``set_params``, so that a grid search
    can try values of ``penalty__l1_ratio`` or ``loss__quantile``. An object of a class that is no
    dataclass has none.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Has no effect: there are no parameters of parameters.

        Returns
        -------
        parameters : dict
        """
        if not is_dataclass(self):
            return {}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def with_params(self, **parameters: Any) -> Self:
        """An object with other values of some parameters.

        Parameters
        ----------
        **parameters : dict
            The values by name.

        Returns
        -------
        changed : object
            Of the same class.

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
        """Itself, as it never changes."""
        return self
