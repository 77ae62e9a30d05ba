"""The certificates of several problems together, such as those of the classes of a fit."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._typing import Array, Mask
from .certificate import Certificate
from .row_bounds import RowBounds


@dataclass(frozen=True, repr=False, eq=False)
class Certificates(Certificate, Sequence[Certificate]):
    """The certificates of several problems, with the attributes of the worst one.

    It is a sequence: ``certificates[k]`` is that of the problem k, such as one class against the
    others or one target. Its own ``primal``, ``dual``, ``gap`` and ``relative_gap`` are those of
    the certificate with the largest relative gap.

    Attributes
    ----------
    worst : int
        The place of the certificate with the largest relative gap.
    each : tuple of Certificate
        The certificates of the problems.
    coefficient_bounds, proven_zero
        Those of all problems, with a first axis for the problems.
    not_known : dict
        What is known of the predictions and the rows of one problem stands in its certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skpd import PdproxSVC
    >>> clf = PdproxSVC(alpha=0.01).fit(*load_iris(return_X_y=True))
    >>> len(clf.certificate_), clf.certificate_[0].relative_gap <= clf.tol
    (3, True)
    >>> clf.certificate_.relative_gap == max(each.relative_gap for each in clf.certificate_)
    True
    """

    each: tuple[Certificate, ...] = ()
    worst: int = 0

    @classmethod
    def of(cls, certificates: Sequence[Certificate]) -> Certificate:
        """The certificate of a single problem, or those of several together.

        Parameters
        ----------
        certificates : sequence of Certificate
            One for each problem.

        Returns
        -------
        certificate : Certificate
            The only one, or a `Certificates`.
        """
        if len(certificates) == 1:
            return certificates[0]
        worst = int(np.argmax([certificate.relative_gap for certificate in certificates]))
        names = [each.name for each in fields(Certificate)]
        values = {name: getattr(certificates[worst], name) for name in names}
        reason = f"there are {len(certificates)} problems, whose certificates say it"
        reasons = dict.fromkeys(("prediction_distance", "decisions_that_may_differ"), reason)
        values["row_bounds"] = RowBounds(reasons=reasons)
        return cls(**values, each=tuple(certificates), worst=worst)

    @property
    def coefficient_bounds(self) -> Array:
        return np.stack([certificate.coefficient_bounds for certificate in self.each])

    @property
    def proven_zero(self) -> Mask:
        return np.stack([certificate.proven_zero for certificate in self.each])

    def without_arrays(self) -> Certificate:
        """The certificates without what has the size of the coefficients or of the rows."""
        return Certificates.of([certificate.without_arrays() for certificate in self.each])

    def __getitem__(self, index: Any) -> Any:
        return self.each[index]

    def __len__(self) -> int:
        return len(self.each)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Certificates, list, tuple)) and self.each == tuple(other)

    def __hash__(self) -> int:
        return hash(self.each)

    def __str__(self) -> str:
        worst = self.each[self.worst]
        return f"{len(self)} certificates, the worst of which is [{self.worst}]:\n{worst}"

    def __repr__(self) -> str:
        return f"<{len(self)} certificates, the worst of which is {self.each[self.worst]!r}>"
