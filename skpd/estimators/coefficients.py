"""The coefficients of a fitted linear model, dense or sparse."""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .._compat import available_if
from .._typing import Array, Matrix, MatrixLike, PerRow
from ..formulation.offsets import with_exposure, with_offsets
from ..formulation.validation import _DATA, validated
from .predictions import linear_predictions


def _has_coefficients(model: "LinearCoefficients") -> bool:
    return model._model_attribute == "coef_"


class LinearCoefficients:
    """Mixin of models with the attributes ``coef_``, ``intercept_`` and ``dual_coef_``."""

    coef_: Array  # sparse after `sparsify`
    intercept_: Array
    dual_coef_: Array

    _model_attribute: ClassVar[str] = "coef_"  # which there is if, and only if, it is fitted
    _takes_offset: ClassVar[bool] = True  # whether the predictions of rows may have offsets

    @available_if(_has_coefficients)
    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse array.

        A sparse array takes less memory, in pickles too, where more than half of the coefficients
        are 0. Predictions, warm starts and `certify` accept it. It has two dimensions, also where
        ``coef_`` had one.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_array(np.atleast_2d(self._dense_coef))
        return self

    @available_if(_has_coefficients)
    def densify(self) -> Self:
        """Convert ``coef_`` back to the array that `fit` makes.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.coef_ = self._dense_coef
        return self

    def drop_dual_coef(self) -> Self:
        """Remove ``dual_coef_``, which has a number for each sample, also in pickles.

        Only a warm start of the next `fit` needs it, which then starts anew. The attribute
        ``certificate_`` and its bounds on the coefficients are kept.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.__dict__.pop("dual_coef_", None)
        return self

    def _scores(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """The predictions of the model for rows, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        scores = linear_predictions(X, self._coef_rows, self.intercept_)
        return with_offsets(scores, self._checked_offset(offset))

    def _checked_offset(self, offset: PerRow) -> PerRow:
        """The offset, or an error if there is one and the model takes none."""
        if offset is not None and not self._takes_offset:
            raise ValueError(
                f"{type(self).__name__} takes no offset: offsets are for linear models with one "
                "prediction for each row, or one for each class against the others."
            )
        return offset

    def _total_offset(
        self, X: MatrixLike, offset: Any = None, exposure: Any = None, **_: Any
    ) -> Any:
        """The checked offset plus the logarithm of the exposure, of all metadata of rows."""
        return with_exposure(X, self._checked_offset(offset), exposure)

    @property
    def _dense_coef(self) -> Array:
        """The coefficients as a dense array, also after `sparsify`."""
        if isinstance(self.coef_, np.ndarray):
            return self.coef_
        table = self.coef_.toarray()
        return table if np.ndim(self.intercept_) else table[0]

    @property
    def _coef_rows(self) -> Matrix:
        """The coefficients with a row for each output, in dense or sparse format."""
        return self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
