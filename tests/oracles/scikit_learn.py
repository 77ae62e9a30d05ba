"""scikit-learn's models under the names that its installed version has for their parameters."""

import sklearn
from sklearn.linear_model import LogisticRegression

VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))


def logistic_regression(l1_ratio, **options):
    """A model with a share of the l1 norm, whose penalty has a name before scikit-learn 1.8."""
    if VERSION >= (1, 8):
        return LogisticRegression(l1_ratio=l1_ratio, **options)
    name = {0.0: "l2", 1.0: "l1"}.get(l1_ratio, "elasticnet")
    return LogisticRegression(l1_ratio=l1_ratio, penalty=name, **options)


def l1_logistic(l1_ratio, **options):
    """A model with an l1 part, to many digits."""
    options = {"solver": "saga", "tol": 1e-9, "max_iter": 10**5, **options}
    return logistic_regression(l1_ratio, **options)
