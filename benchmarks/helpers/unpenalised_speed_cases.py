"""The cases of `benchmarks.unpenalised_speed`: data, skpd's model, and the peers' fits.

Each fit is a function of a tolerance that returns coefficients, the features' before those of
constants, of which the case has the objective in floats.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

import skpd
from benchmarks.helpers.newton_optimum import SmoothProblem
from benchmarks.helpers.smooth_losses import FLOATS, PartialLikelihood, RowLoss, Softmax

MOST = 1000  # iterations of peers
LEVELS = (6, 12, 22, 7, 2, 11)  # of the categories of policies


@dataclass(frozen=True, eq=False)
class SpeedCase:
    """A model to fit.

    ``objective_of`` has, for peers with an objective of their own, whether coefficients are
    accurate enough in it.
    """

    title: str
    fit: Callable
    peers: dict
    objective: Callable
    constant: float
    objective_of: dict = field(default_factory=dict)


def problem_case(title, problem, constant, fit, peers, **more):
    """A case whose objective is that of a `SmoothProblem`, in floats."""

    def objective(coef):
        V = np.asarray(coef, dtype=float).reshape(problem.shape)
        value = float(problem.objective(V, FLOATS))
        return value if np.isfinite(value) else np.inf

    return SpeedCase(title, fit, peers, objective, objective(constant), **more)


# Means, two classes and several


def statsmodels_data(name):
    import statsmodels.api as sm

    data = getattr(sm.datasets, name).load()
    X, y = np.asarray(data.exog, dtype=float), np.asarray(data.endog, dtype=float)
    return X[:, np.ptp(X, axis=0) > 0.0], y


def joined(model):
    return np.append(np.ravel(model.coef_), model.intercept_)


def glm_case(family, name, rows=0):
    """A GLM of a data set of statsmodels, by it, scikit-learn and glum."""
    X, y = statsmodels_data(name)
    if family == "Gamma":
        y = np.maximum(y, 1e-3 * y.max())
    return means_case(f"{family} {name} {len(X)} x {X.shape[1]}", family, X, y)


def means_case(title, family, X, y, offset=None, peers=("statsmodels", "scikit-learn", "glum")):
    power = {"Poisson": 1.0, "Gamma": 2.0}[family]
    kind = {"Poisson": skpd.PoissonPD, "Gamma": skpd.GammaPD}[family]
    ones = np.ones(len(y))
    A = np.column_stack([X, ones])
    shift = np.zeros((len(y), 1)) if offset is None else offset[:, None]
    problem = SmoothProblem(A, RowLoss("deviance", y, ones, power), offset=shift)
    exposure = ones if offset is None else np.exp(offset)
    constant = np.append(np.zeros(X.shape[1]), np.log(y.sum() / exposure.sum()))
    fits = {
        "statsmodels": partial(_statsmodels_glm, family, A, y, offset),
        "scikit-learn": partial(_scikit_learn_glm, family, X, y, offset),
        "glum": partial(_glum, family.lower(), X, y, offset),
    }

    def fit(tol):
        return joined(kind(0, tol=tol).fit(X, y, offset=offset))

    return problem_case(title, problem, constant, fit, {name: fits[name] for name in peers})


def _statsmodels_glm(family, A, y, offset, tol):
    import statsmodels.api as sm

    families = {
        "Poisson": sm.families.Poisson(),
        "Gamma": sm.families.Gamma(sm.families.links.Log()),
    }
    model = sm.GLM(y, A, family=families[family], offset=offset)
    return model.fit(tol=tol, maxiter=MOST).params


def _scikit_learn_glm(family, X, y, offset, tol):
    from sklearn import linear_model

    kind = getattr(linear_model, f"{family}Regressor")
    model = kind(alpha=0, solver="newton-cholesky", tol=tol, max_iter=MOST)
    if offset is None:
        return joined(model.fit(X, y))
    exposure = np.exp(offset)  # rates with weights are the same objective
    return joined(model.fit(X, y / exposure, sample_weight=exposure))


def _glum(family, X, y, offset, tol):
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(alpha=0, family=family, gradient_tol=tol, max_iter=MOST)
    return joined(model.fit(X, y, offset=offset))


def policies(n):
    """A generated table of policies: one-hot columns, exposures, counts of claims and costs."""
    rng = np.random.default_rng(0)
    codes = [rng.choice(k, n, p=rng.dirichlet(2.0 * np.ones(k))) for k in LEVELS]
    X = np.hstack([np.eye(k)[code] for k, code in zip(LEVELS, codes, strict=True)])
    exposure = rng.uniform(0.05, 1.0, n)
    effects = 0.3 * rng.normal(size=(2, sum(LEVELS)))
    counts = rng.poisson(exposure * np.exp(X @ effects[0] - 2.4)).astype(float)
    costs = rng.gamma(1.5, np.exp(X @ effects[1] + 6.0))
    return X, exposure, counts, costs


def policies_case(family, rows):
    """Policies without a level of each category."""
    X, exposure, counts, costs = policies(rows)
    kept = np.delete(np.arange(X.shape[1]), np.cumsum([0, *LEVELS[:-1]]))
    table, offset = X[:, kept], np.log(exposure)
    y = counts if family == "Poisson" else costs
    peers = ("glum", "scikit-learn") if family == "Poisson" else ("glum",)
    title = f"{family} policies {rows} x {len(kept)}"
    return means_case(title, family, table, y, offset if family == "Poisson" else None, peers)


def logit_case(name, rows):
    """Two classes of a data set of statsmodels."""
    X, y = statsmodels_data(name)
    y = (y > 0.0).astype(float)
    A, signs = np.column_stack([X, np.ones(len(y))]), np.where(y > 0.0, 1.0, -1.0)
    problem = SmoothProblem(A, RowLoss("logistic", signs, np.ones(len(y))))
    constant = np.append(np.zeros(X.shape[1]), np.log(y.mean() / (1.0 - y.mean())))

    def statsmodels(tol):
        import statsmodels.api as sm

        return sm.Logit(y, A).fit(disp=0, tol=tol, maxiter=MOST).params

    peers = {"statsmodels": statsmodels, "scikit-learn": partial(_scikit_learn_classes, X, y)}
    title = f"logistic {name} {len(y)} x {X.shape[1]}"
    return problem_case(
        title, problem, constant, lambda tol: joined(skpd.LogisticPD(0, tol=tol).fit(X, y)), peers
    )


def _scikit_learn_classes(X, y, tol):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=tol, max_iter=MOST)
    fitted = model.fit(X, y)
    if len(fitted.classes_) == 2:
        return joined(fitted)
    return np.vstack([fitted.coef_.T, fitted.intercept_])


def classes_case(rows):
    """The seven classes of anes96."""
    X, y = statsmodels_data("anes96")
    y, A = y.astype(int), np.column_stack([X, np.ones(len(y))])
    K = int(y.max()) + 1
    problem = SmoothProblem(A, Softmax(y, np.ones(len(y))), K)
    constant = np.vstack([np.zeros((X.shape[1], K)), np.log(np.bincount(y) / len(y))])

    def ours(tol):
        model = skpd.LogisticPD(0, tol=tol).fit(X, y)
        return np.vstack([model.coef_.T, model.intercept_])

    def statsmodels(tol):
        import statsmodels.api as sm

        found = sm.MNLogit(y, A).fit(disp=0, method="newton", tol=tol, maxiter=MOST)
        return np.column_stack([np.zeros(A.shape[1]), found.params])

    peers = {"statsmodels": statsmodels, "scikit-learn": partial(_scikit_learn_classes, X, y)}
    title = f"softmax anes96 {len(y)} x {X.shape[1]}, {K} classes"
    return problem_case(title, problem, constant, ours, peers)


def ordered_case(rows):
    """The seven classes in their order: OrderedModel has another likelihood."""
    X, y = statsmodels_data("anes96")
    y, K = y.astype(int), int(y.max()) + 1
    thresholds = -np.tile(np.eye(K - 1), (len(y), 1))
    A = np.hstack([np.repeat(X, K - 1, axis=0), thresholds])
    signs = np.ravel(np.where(y[:, None] > np.arange(K - 1), 1.0, -1.0))
    problem = SmoothProblem(A, RowLoss("logistic", signs, np.ones(len(signs))))
    above = (y[:, None] > np.arange(K - 1)).mean(axis=0)
    constant = np.append(np.zeros(X.shape[1]), np.log((1.0 - above) / above))

    def ours(tol):
        model = skpd.OrdinalPD(0, tol=tol).fit(X, y)
        return np.append(model.coef_, model.thresholds_)

    def model():
        from statsmodels.miscmodels.ordinal_model import OrderedModel

        return OrderedModel(y, X, distr="logit")

    def statsmodels(tol):
        return model().fit(method="bfgs", disp=0, gtol=tol, maxiter=MOST).params

    @cache
    def best():
        return model().fit(method="bfgs", disp=0, gtol=1e-9, maxiter=MOST).llf

    def reached(coef):
        shares = np.bincount(y) / len(y)
        null = -len(y) * float(shares @ np.log(shares))
        return best() - model().loglike(coef) <= 1e-6 * null

    return problem_case(
        f"ordered anes96 {len(y)} x {X.shape[1]}, {K} classes", problem, constant, ours,
        {"statsmodels, its own": statsmodels}, objective_of={"statsmodels, its own": reached},
    )  # fmt: skip


# Times


def survival_data(name):
    """Features, times and events of a data set of lifelines or scikit-survival."""
    if name == "rossi":
        from lifelines.datasets import load_rossi

        table = load_rossi().astype(float)
        return table.drop(columns=["week", "arrest"]), table["week"], table["arrest"] > 0
    from sksurv import datasets

    X, y = getattr(datasets, f"load_{name}")()
    event, times = (y[field] for field in y.dtype.names)
    if name == "flchain":
        X = X.drop(columns="chapter")
    X = X.apply(
        lambda column: column.cat.codes.astype(float) if column.dtype == "category" else column
    )
    known = X.notna().all(axis=1) & (times > 0.0)
    X, times, event = X[known].astype(float), times[known], event[known]
    return X.loc[:, X.std() > 0.0], np.asarray(times), np.asarray(event)


def likelihood(times, event, efron):
    ones = np.ones(len(times))
    entry, strata = np.full(len(times), -np.inf), np.zeros(len(times), int)
    return PartialLikelihood(entry, np.asarray(times), np.asarray(event), ones, strata, efron)


def cox_case(name, ties, rows):
    """A Cox model without a penalty: statsmodels, lifelines and scikit-survival."""
    X, times, event = survival_data(name)
    A, y = X.to_numpy(), np.column_stack([times, event])
    problem = SmoothProblem(A, likelihood(times, event, ties == "efron"))

    def statsmodels(tol):
        import statsmodels.api as sm

        model = sm.PHReg(times, A, status=event, ties=ties)
        return model.fit(method="newton", tol=tol, maxiter=MOST).params

    def lifelines(tol):
        from lifelines import CoxPHFitter

        table = X.assign(time_=np.asarray(times), event_=np.asarray(event))
        options = {"precision": tol, "r_precision": tol}
        return CoxPHFitter(penalizer=0).fit(table, "time_", "event_", fit_options=options).params_

    def scikit_survival(tol):
        from sksurv.linear_model import CoxPHSurvivalAnalysis
        from sksurv.util import Surv

        model = CoxPHSurvivalAnalysis(alpha=0, ties=ties, tol=tol, n_iter=MOST)
        return model.fit(A, Surv.from_arrays(event, times)).coef_

    def ours(tol):
        return skpd.CoxPD(0, ties=ties, tol=tol).fit(A, y).coef_

    peers = {"statsmodels": statsmodels, "scikit-survival": scikit_survival}
    peers |= {"lifelines": lifelines} if ties == "efron" else {}
    title = f"Cox {ties} {name} {A.shape[0]} x {A.shape[1]}"
    return problem_case(title, problem, np.zeros(A.shape[1]), ours, peers)


def coxnet_case(name, free, path, rows):
    """An l1 norm with free features, of one alpha or of a path, by Coxnet."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis
    from sksurv.util import Surv

    X, times, event = survival_data(name)
    X = (X - X.mean()) / X.std()
    factors = np.where(X.columns.isin(free), 0.0, 1.0)
    A, y = X.to_numpy(), np.column_stack([times, event])
    both = Surv.from_arrays(event, times)
    largest = _largest_alpha(A, times, event, factors)
    alphas = largest * np.geomspace(0.99, 0.05, 50 if path else 1)
    if not path:
        alphas = np.array([0.1 * largest])
    loss = likelihood(times, event, efron=False)
    problems = [
        SmoothProblem(A, loss, groups=tuple((np.array([j]), a) for j in np.flatnonzero(factors)))
        for a in alphas
    ]

    def objective(coefs):
        tables = np.asarray(coefs, dtype=float).reshape(len(alphas), -1)
        values = [
            float(problem.objective(w[:, None], FLOATS))
            for problem, w in zip(problems, tables, strict=True)
        ]
        return max(values) if len(values) == 1 else float(np.sum(values))

    def coxnet(tol):
        # the factors are rescaled to a mean of 1
        model = CoxnetSurvivalAnalysis(
            alphas=alphas * factors.mean(), l1_ratio=1.0, penalty_factor=factors, tol=tol,
            max_iter=1_000_000,
        )  # fmt: skip
        return np.ravel(model.fit(A, both).coef_.T)

    def ours(tol):
        model = skpd.CoxPD(alphas[0], ties="breslow", penalty_weights=factors, tol=tol)
        if not path:
            return model.fit(A, y).coef_
        return np.ravel(skpd.regularization_path(model, A, y, alphas=alphas).coefs)

    kind = f"path of {len(alphas)}" if path else "one alpha"
    title = f"Coxnet {name} {A.shape[0]} x {A.shape[1]}, {kind}"
    constant = objective(np.zeros(len(alphas) * A.shape[1])) / (len(alphas) if path else 1)
    return SpeedCase(title, ours, {"scikit-survival": coxnet}, objective, constant)


def _largest_alpha(A, times, event, factors):
    """The least alpha at which the free features alone are the optimum."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.util import Surv

    loss, free = likelihood(times, event, efron=False), factors == 0.0
    w = np.zeros(A.shape[1])
    if free.any():
        model = CoxPHSurvivalAnalysis(alpha=0, ties="breslow", tol=1e-12)
        w[free] = model.fit(A[:, free], Surv.from_arrays(event, times)).coef_
    gradient = A.T @ loss.gradient((A @ w)[:, None], FLOATS)[:, 0]
    return float(np.max(np.abs(gradient[~free])))


CASES = {
    "glm-poisson-cpunish": partial(glm_case, "Poisson", "cpunish"),
    "glm-poisson-fair": partial(glm_case, "Poisson", "fair"),
    "glm-poisson-randhie": partial(glm_case, "Poisson", "randhie"),
    "glm-gamma-scotland": partial(glm_case, "Gamma", "scotland"),
    "glm-gamma-fair": partial(glm_case, "Gamma", "fair"),
    "policies-poisson": partial(policies_case, "Poisson"),
    "policies-gamma": partial(policies_case, "Gamma"),
    "logit-spector": partial(logit_case, "spector"),
    "logit-fair": partial(logit_case, "fair"),
    "mnlogit-anes96": classes_case,
    "ordered-anes96": ordered_case,
    "cox-efron-rossi": partial(cox_case, "rossi", "efron"),
    "cox-efron-whas500": partial(cox_case, "whas500", "efron"),
    "cox-breslow-gbsg2": partial(cox_case, "gbsg2", "breslow"),
    "cox-breslow-veterans": partial(cox_case, "veterans_lung_cancer", "breslow"),
    "cox-efron-flchain": partial(cox_case, "flchain", "efron"),
    "coxnet-breast-cancer": partial(coxnet_case, "breast_cancer", ("age", "size"), False),
    "coxnet-breast-cancer-path": partial(coxnet_case, "breast_cancer", ("age", "size"), True),
    "coxnet-whas500": partial(coxnet_case, "whas500", ("age", "gender"), False),
    "coxnet-flchain": partial(coxnet_case, "flchain", ("age", "sex"), False),
}
