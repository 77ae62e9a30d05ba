"""Ordinary use of the package, about which `test_editors` asks a type checker and an editor.

scikit-learn has no types: what its own functions return is unknown.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skpd import (
    Certificate,
    CoxPD,
    DRSVMClassifier,
    ElasticNetPD,
    GroupLassoSVC,
    KernelPdproxSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    LogisticPD,
    MetricSVC,
    MKLClassifier,
    MultinomialPD,
    MultiTaskPD,
    OrdinalPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    TraceNormPD,
    certify,
    coef_table,
    regularization_path,
)
from skpd.losses import Hinge, Huber
from skpd.penalties import L1, ElasticNet, GroupL2

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
labels = np.where(X[:, 0] > 0.0, "yes", "no")
classes = np.digitize(X[:, 0], [-0.5, 0.5])
target = X[:, 0] + rng.normal(size=60)
counts = rng.poisson(2.0, 60)

svc = PdproxSVC(alpha=0.1, penalty="elasticnet", l1_ratio=0.5, loss="squared_hinge")
svc.fit(X, labels, sample_weight=np.ones(60))
decisions = svc.decision_function(X).round(2)
predicted = svc.predict(X).tolist()
accuracy = svc.score(X, labels) * 100.0
print(f"{svc.certificate_.gap:.3f}", svc.certificate_.relative_gap <= svc.tol)
print(svc.coef_.shape, svc.intercept_.mean(), svc.n_iter_ + 1, svc.converged_, svc.solver_)
huber = PdproxRegressor(0.1, loss="huber", delta=1.0).fit(X, target)
certificate: Certificate = huber.certificate_
primal, dual = certificate.primal, certificate.dual

several = PdproxSVC(0.1, loss=Hinge(), penalty=L1()).fit(X, classes)
print(several.certificate_.gap, several.certificate_.dual, several.classes_[0])
gaps = [each.gap for each in several.certificate_.each]

logistic = LogisticPD(alpha=0.1).fit(X, labels)
probabilities = logistic.predict_proba(X)[:, 1].max()
logarithms = logistic.predict_log_proba(X).min()
softmax = MultinomialPD(alpha=0.1).fit(X, classes).predict_proba(X).sum(axis=1)
group = GroupLassoSVC(0.1, groups=[[0, 1], [2, 3]]).fit(X, labels).coef_
kernel = KernelPdproxSVC(alpha=0.1, kernel="rbf", gamma="scale").fit(X, labels).predict(X)
weights = MKLClassifier(kernels=["linear", ("rbf", {"gamma": 2.0})]).fit(X, labels).kernel_weights_
robust = DRSVMClassifier(epsilon=0.1).fit(X, labels).score(X, labels)
metric = MetricSVC(alpha=0.1, metric="f1").fit(X, labels).predict(X)
trace = TraceNormPD(alpha=0.1).fit(X, classes).predict(X)

lasso = LassoPDCertified(0.1, positive=True, solver="cd").fit(X, target)
residuals = target - lasso.predict(X)
net = ElasticNetPD(alpha=0.1, l1_ratio=0.9, warm_start=True, verbose=0).fit(X, target)
chosen = LassoPDCertifiedCV(alphas=5, cv=3).fit(X, target).alpha_ / 2.0
errors = PdproxRegressor(alpha=0.1, loss=Huber(1.0), penalty=ElasticNet(0.5)).fit(X, target)
means = PoissonPD(alpha=0.1, penalty="l2").fit(X, counts).predict(X).mean()
quantiles = QuantilePD(quantiles=[0.1, 0.9], alpha=0.1).fit(X, target).predict(X)
order = OrdinalPD(alpha=0.1).fit(X, classes).predict(X)
both = MultiTaskPD(alpha=0.1, penalty="l21").fit(X, X[:, :2]).predict(X)[:, 0]
events = np.array([(True, 1.0 + k) for k in range(60)], dtype=[("event", "?"), ("time", "f8")])
survival = CoxPD(alpha=0.1, ties="efron").fit(X, events).predict_survival_function(X)[0]

model = Pipeline([("scale", StandardScaler()), ("fit", PdproxSVC(alpha=0.1))])
search = GridSearchCV(PdproxSVC(), {"alpha": [0.01, 0.1]}, cv=3)
search.fit(X, labels)  # pyright: ignore[reportUnknownMemberType]
path_cv = PathCV(model, alphas=5, rule="one_standard_error", scoring="accuracy").fit(X, labels)
print(path_cv.alpha_ * 2.0, path_cv.best_score_, path_cv.predict(X).shape)
path = regularization_path(PdproxSVC(), X, labels, alphas=[0.1, 0.01])
print(path.alphas.min(), path.coefs.shape, path.certificates[0].gap, path.models[0].predict(X))
n_rows = len(coef_table(svc))
proven = certify(svc, X, labels)
print(proven.gap, proven.relative_gap, svc.set_params(alpha=0.2), GroupL2(groups=2))
