"""Rigorous certificates of models that scikit-learn fitted, in exact arithmetic."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model as lm
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skpd import DRSVMClassifier, PdproxRegressor, RigorousCertificate, certify
from skpd.certificates.rigorous import rigorous_dual, rigorous_primal
from skpd.designs import Design
from skpd.losses import Absolute
from skpd.penalties import L1, TotalVariation
from skpd.problems import linear_problem
from tests.oracles.exact_objectives import MARGIN, mean, scores, total
from tests.oracles.exact_objectives import exact as of_mp
from tests.oracles.exact_sums import exact, solved
from tests.oracles.scikit_learn import l1_logistic


def exact_ridge(X, y, s, alpha, w, b):
    """sum_i s_i r_i^2 + alpha ||w||^2 over 2 sum(s), in rational numbers."""
    total = sum(exact(s))
    value = alpha * sum(v * v for v in w)
    for row, target, weight in zip(X, y, s, strict=True):
        z = sum(x * v for x, v in zip(exact(row), w, strict=True)) + b
        value += Fraction(weight) * (z - Fraction(target)) ** 2
    return value / (2 * total)


@pytest.mark.parametrize("column, offset", [(1.0, 0.0), (1e8, 0.0), (1e-7, 1e6), (3e3, -1e9)])
@pytest.mark.parametrize("free", [True, False])
def test_rigorous_ridge_against_the_exact_optimum(column, offset, free, rng):
    for _ in range(3):
        n, d = 9, 3
        X = rng.normal(size=(n, d)) * [1.0, column, 1.0]
        y, s = rng.normal(size=n) + offset, rng.random(n) / 3
        alpha = float(10.0 ** rng.uniform(-3, 1))
        estimator = lm.Ridge(alpha=alpha, fit_intercept=free, solver="svd").fit(X, y, s)
        certificate = certify(estimator, X, y, s, rigorous=True)
        # the normal equations
        rows = [exact(row) + ([Fraction(1)] if free else []) for row in X]
        m, weights, targets = d + free, exact(s), exact(y)
        A = [
            [sum(c * r[j] * r[k] for c, r in zip(weights, rows, strict=True)) for k in range(m)]
            for j in range(m)
        ]
        for j in range(d):
            A[j][j] += Fraction(alpha)
        g = [
            sum(c * r[j] * t for c, r, t in zip(weights, rows, targets, strict=True))
            for j in range(m)
        ]
        best = solved(A, g)
        b = best[d] if free else Fraction(0)
        optimum = exact_ridge(X, y, s, Fraction(alpha), best[:d], b)
        model = exact_ridge(
            X, y, s, Fraction(alpha), exact(estimator.coef_), Fraction(float(estimator.intercept_))
        )
        assert isinstance(certificate, RigorousCertificate)
        assert Fraction(certificate.dual) <= optimum
        assert Fraction(certificate.primal) >= model
        assert certificate.rounding >= 0
        assert certificate.gap >= float(model - optimum)


def exact_hinge(X, y, c, strength, w, b, column):
    """(sum_i c_i hinge_i + strength ||w||_1 or ||.||^2 / 2 of (w, b / column)) / sum(c)."""
    value = Fraction(0)
    for row, target, weight in zip(X, y, c, strict=True):
        z = sum(x * v for x, v in zip(exact(row), w, strict=True)) + b
        value += weight * max(Fraction(0), 1 - Fraction(int(target)) * z)
    square = sum(v * v for v in w) + (b / column) ** 2
    return (value + strength * square / 2) / sum(c)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e7])
def test_rigorous_hinge_in_rational_numbers(scale, rng):
    """liblinear's objective with awkward C, weights, weights of classes and intercept column."""
    for _ in range(4):
        n = 12
        X = rng.normal(size=(n, 2)) * scale
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = [1, -1]
        s, C = rng.random(n) + 0.01, float(rng.random() / scale**2 + 1e-3)
        clf = LinearSVC(
            loss="hinge", C=C, intercept_scaling=0.3, class_weight={1: 0.7, -1: 1.3}, tol=1e-10,
            max_iter=100_000, random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf.fit(X, y, s)
            certificate = certify(clf, X, y, s, rigorous=True, tol=1e-10, max_iter=500)
        c = [
            Fraction(C) * v * Fraction(0.7 if t > 0 else 1.3)
            for v, t in zip(exact(s), y, strict=True)
        ]
        model = exact_hinge(
            X, y, c, 1, exact(clf.coef_[0]), Fraction(float(clf.intercept_[0])), Fraction(0.3)
        )
        assert Fraction(certificate.dual) <= model
        assert Fraction(certificate.primal) * (1 + Fraction(1, 2**50)) >= model


def test_rigorous_bounds_where_digits_cancel(rng):
    """An l1 problem whose optimum is known exactly, and whose products cancel."""
    for _ in range(20):
        n = int(rng.integers(2, 30))
        x, c = rng.normal(size=n), rng.random(n)
        weights = c / c.sum()
        X = np.column_stack([x, x * (1 + 2.0**-50), x * 1e-9])
        y = x * float(rng.normal()) * 1e5
        alpha = float(rng.random() * 1e-3)
        problem = linear_problem(Design(X), y, weights, Absolute(), L1(), alpha, False)
        for theta in (np.sign(rng.normal(size=n)), rng.uniform(-1, 1, n), -np.sign(y)):
            upper = rigorous_primal(problem, np.zeros(3), 0.0)[0]
            value, rounding = rigorous_dual(problem, theta, upper)
            cs, t = exact(c), exact(theta)
            total = sum(cs)
            u = [
                abs(sum(w * v * f for w, v, f in zip(cs, t, exact(X[:, j]), strict=True))) / total
                for j in range(3)
            ]
            linear = sum(w * v * f for w, v, f in zip(cs, t, exact(y), strict=True)) / total
            at_zero = sum(w * abs(f) for w, f in zip(cs, exact(y), strict=True)) / total
            excess = max(max(u) - Fraction(alpha), 0)
            best = max(-linear - at_zero / Fraction(alpha) * excess, Fraction(0))
            assert Fraction(value) <= best
            assert float(best) - value <= rounding + 1e-9 * float(at_zero)
            assert Fraction(upper) >= at_zero


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0])
def test_rigorous_logistic_in_long_decimals(scale, rng):
    for _ in range(4):
        n = 25
        X = rng.normal(size=(n, 2)) * scale
        y = np.where(rng.random(n) < 0.3, 1, -1)
        y[:2] = [1, -1]
        s = rng.random(n) + 0.01
        clf = lm.LogisticRegression(C=1.0, tol=1e-14, solver="newton-cholesky").fit(X, y, s)
        certificate = certify(clf, X, y, s, rigorous=True, tol=1e-11)
        z = scores(X, clf.coef_[0], clf.intercept_)[:, 0]
        losses = [MARGIN["logistic"](int(t) * p) for t, p in zip(y, z, strict=True)]
        square = total([v**2 for v in of_mp(clf.coef_[0])])
        model = mean(losses, s) + square / 2 / total(of_mp(s))
        assert certificate.dual <= model <= certificate.primal
        assert certificate.relative_gap <= 1e-10
        assert 0 < certificate.rounding <= 1e-12 * certificate.primal


def test_rigorous_is_not_tighter(cancer, diabetes):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for estimator, data in (
        (lm.LogisticRegression(tol=1e-8), (X, y)),
        (lm.Lasso(alpha=1.0), diabetes),
        (LinearSVC(loss="hinge", C=0.01, random_state=0, max_iter=10**5), cancer),
        (l1_logistic(1.0, solver="liblinear", tol=1e-4), cancer),
        (PdproxRegressor(5.0, penalty=TotalVariation(), loss="squared", tol=1e-10), diabetes),
        (DRSVMClassifier(tol=1e-8), cancer),
        (DRSVMClassifier(norm=1, kappa=np.inf, tol=1e-8), cancer),
        (DRSVMClassifier(norm=np.inf, alpha=0.1, tol=1e-8), cancer),
    ):
        estimator.fit(*data)
        plain, rigorous = certify(estimator, *data), certify(estimator, *data, rigorous=True)
        assert rigorous.primal >= plain.primal * (1 - 1e-13)
        assert_allclose(rigorous.dual, plain.dual, rtol=1e-11)
        assert 0 < rigorous.rounding <= 1e-11 * rigorous.primal
