"""Families beside `benchmarks.helpers.fuzz_families`: outputs, kernels, structures, boosting."""

import numpy as np
from mpmath import mpf

import skpd
from benchmarks.helpers import fuzz_families as draw
from skpd.estimators.output_parameters import output_penalty
from tests.oracles import exact_objectives as of

DEGREES = {"exclusive": 2, "squared_groups": 2, "squared_outputs": 2, "l2": 2}
OF_OUTPUTS = ("l21", "l1inf", "trace", "l1", *DEGREES)
OUTPUT_LABELS = ("hinge", "smoothed_hinge", "squared_hinge", "logistic")


def rows_of(coef):
    """The entries of a table of coefficients with a row for each feature."""
    return np.ravel(np.atleast_2d(of.exact(coef)).T)


def value_of(name, ratio, coef):
    w = rows_of(coef)
    K = len(np.atleast_2d(coef))
    return of.value_of(output_penalty(name, ratio, len(w) // K, K), w)


def several_targets(rng, X, loss, n_outputs):
    drawn = draw.labels if loss in OUTPUT_LABELS else draw.targets
    Y = np.column_stack([drawn(rng, X) for _ in range(n_outputs)])
    return Y if rng.random() < 0.8 else np.asfortranarray(Y)


def multi_task(rng):
    X, K = draw.features(rng), int(rng.integers(1, 4))
    loss = draw.pick(rng, [
        "squared", "absolute", "huber", "epsilon_insensitive", "pinball", "l2_norm", *OUTPUT_LABELS
    ])  # fmt: skip
    name = draw.pick(rng, OF_OUTPUTS)
    ratio = 0.5 if name in ("l21", "l1") and rng.random() < 0.3 else 1.0
    degree = None if ratio < 1.0 else DEGREES.get(name, 1)
    by_task = rng.random() < 0.25 and loss != "l2_norm" and K > 1
    options = {"loss": loss, "penalty": name, "l1_ratio": ratio, **draw.common(rng)}
    options["fit_intercept"] = bool(rng.random() < 0.6)
    Y = several_targets(rng, X, loss, K)
    unit = Y if loss == "squared" else None
    alpha = draw.weight_of_penalty(rng, X, degree, unit)
    if by_task:
        task = np.arange(len(X)) % K
        y, stored = np.ascontiguousarray(Y[:, 0]), np.column_stack([X, task])
        model, degree = skpd.MultiTaskPD(alpha, tasks=X.shape[1], **options), None
    else:
        y, stored = Y, draw.layout(rng, X)
        model = skpd.MultiTaskPD(alpha, **options)
    weights = draw.sample_weights(rng, Y[:, 0])

    def objective(model):
        if by_task:
            z = of.scores(X, model.coef_, model.intercept_)
            z = np.array([row[k] for row, k in zip(z, task, strict=True)])
            losses = of.scalar_losses(loss, y, z)
        else:
            losses = of.row_losses(loss, y, of.scores(stored, model.coef_, model.intercept_))
        value = of.mean(losses, weights)
        return value + mpf(alpha) * value_of(name, ratio, model.coef_), mpf(0), mpf(1)

    return draw.Case(model, stored, y, weights, objective, degree)


def multinomial(rng):
    X, K = draw.features(rng), int(rng.integers(2, 5))
    if len(X) < 2 * K:
        X = draw.features(rng, n=2 * K)
    y = rng.integers(K, size=len(X))
    y[:K] = np.arange(K)
    loss, name = draw.pick(rng, ["softmax", "crammer_singer"]), draw.pick(rng, OF_OUTPUTS)
    degree, stored = DEGREES.get(name, 1), draw.layout(rng, X)
    weights, alpha = draw.sample_weights(rng, y), draw.weight_of_penalty(rng, X, degree)
    model = skpd.MultinomialPD(alpha, loss=loss, penalty=name, **draw.with_intercept(rng))

    def objective(model):
        z = of.scores(stored, model.coef_, model.intercept_)
        value = of.mean(of.class_losses(loss, y, z), weights)
        return value + mpf(alpha) * value_of(name, 1.0, model.coef_), mpf(0), mpf(1)

    return draw.Case(model, stored, y, weights, objective, degree)


def trace_norm(rng):
    X, K = draw.features(rng), int(rng.integers(1, 4))
    radius = None if rng.random() < 0.4 else float(10.0 ** rng.uniform(-6, 6))
    losses = "squared", "squared", "absolute", "huber", "l2_norm", "hinge", "logistic"
    loss = draw.pick(rng, losses)
    Y, stored = several_targets(rng, X, loss, K), draw.layout(rng, X)
    weights = draw.sample_weights(rng, Y[:, 0])
    alpha = draw.weight_of_penalty(rng, X, 1 if radius is None else 2)
    options = {"loss": loss, "max_iter": 1000, **draw.with_intercept(rng)}
    model = skpd.TraceNormPD(alpha, radius=radius, **options)

    def objective(model):
        W = np.atleast_2d(of.exact(model.coef_))
        z = of.scores(stored, model.coef_, model.intercept_)
        value, size = of.mean(of.row_losses(loss, Y, z), weights), of.total(of.singular_values(W))
        if radius is None:
            return value + mpf(alpha) * size, mpf(0), mpf(1)
        value += mpf(alpha) * of.norm(np.ravel(W)) ** 2 / 2
        return value, max(size - mpf(radius), mpf(0)), mpf(radius)

    return draw.Case(model, stored, Y, weights, objective, 1 if radius is None else None)


def completion(rng):
    rows, columns = int(rng.integers(2, 7)), int(rng.integers(2, 6))
    every = np.array([(i, j) for i in range(rows) for j in range(columns)])
    count = int(rng.integers(2, len(every) + 1))
    pairs = every[rng.choice(len(every), count, replace=False)]
    loss = draw.pick(rng, ["squared", "absolute", "huber", "hinge"])
    if loss == "hinge":
        y = rng.integers(1, 4, size=count).astype(float)
        y[:2] = 1.0, 3.0
    else:
        y = draw.targets(rng, rng.normal(size=(count, 2)))
    weights = draw.sample_weights(rng, y)
    alpha = draw.any_alpha(rng, 0.3)
    chosen = loss == "hinge" and rng.random() < 0.5
    model = skpd.MatrixCompletionPD(
        alpha, loss=loss, biases=bool(rng.random() < 0.6), max_iter=500, **draw.common(rng),
        thresholds=np.cumsum(rng.exponential(size=len(np.unique(y)) - 1)) if chosen else None,
    )  # fmt: skip

    def objective(model):
        U, V = of.exact(model.row_factors_), of.exact(model.column_factors_)
        M = U @ V.T if U.shape[1] else np.full((len(U), len(V)), mpf(0))
        i = np.searchsorted(model.row_labels_, pairs[:, 0])
        j = np.searchsorted(model.column_labels_, pairs[:, 1])
        z = M[i, j] + of.exact(model.column_biases_)[j] + of.exact(model.row_biases_)[i]
        z = z + mpf(float(model.intercept_))
        if loss == "hinge":
            thresholds = of.exact(model.thresholds_)
            above = thresholds[i] if thresholds.ndim == 2 else thresholds[np.newaxis]
            signs = np.where(y[:, np.newaxis] > model.levels_[:-1], 1.0, -1.0)
            losses = of.row_losses("hinge", signs, z[:, np.newaxis] - above)
        else:
            losses = of.scalar_losses(loss, y, z)
        trace = of.total(of.singular_values(M)) if M.size else mpf(0)
        return of.mean(losses, weights) + mpf(alpha) * trace, mpf(0), mpf(1)

    return draw.Case(model, pairs, y, weights, objective)


def quantiles(rng):
    X = draw.features(rng)
    y, stored = draw.targets(rng, X), draw.layout(rng, X)
    q = np.sort(rng.choice([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999], 3, replace=False))
    name, weights = draw.pick(rng, OF_OUTPUTS), draw.sample_weights(rng, y)
    degree = DEGREES.get(name, 1)
    alpha = draw.weight_of_penalty(rng, X, degree)
    model = skpd.QuantilePD(q, alpha=alpha, penalty=name, max_iter=5000, **draw.common(rng))

    def objective(model):
        z = of.scores(stored, model.coef_, model.intercept_)
        used = slice(None) if weights is None else weights > 0.0
        losses, _ = of.quantile_losses(q, y, z)
        _, crossing = of.quantile_losses(q, y[used], z[used])  # rows of no weight may cross
        size = max(abs(v) for v in np.ravel(z)) + of.total(abs(of.exact(model.intercept_)))
        value = of.mean(losses, weights)
        return value + mpf(alpha) * value_of(name, 1.0, model.coef_), crossing, size

    return draw.Case(model, stored, y, weights, objective, degree)


# Kernels


def some_kernel(rng, X):
    """The matrix of a kernel, which rounding may leave slightly indefinite."""
    with np.errstate(over="ignore"):
        squares = np.sum((X[:, np.newaxis] - X) ** 2, axis=2)
    kind = rng.integers(4)
    if kind == 0:
        return np.exp(-rng.choice([1e-3, 1.0, 30.0]) * squares)
    K = X @ X.T
    if kind == 1 and np.max(np.abs(K)) < 1e100:
        K = (1.0 + K) ** 2
    elif kind == 2:
        K = K - 1e-9 * rng.random() * np.trace(K) / len(K) * np.eye(len(K))
    return (K + K.T) / 2


def weights_of_rows(model, n_kernels, n):
    """The weights of all training rows, with a row for each kernel."""
    table = np.zeros((n_kernels, n))
    table[:, model.support_] = np.reshape(model.support_coef_, (n_kernels, len(model.support_)))
    return table


def kernel_machine(rng):
    return of_kernels(rng, several=False)


def several_kernels(rng):
    return of_kernels(rng, several=True)


def of_kernels(rng, several):
    X = draw.features(rng, n=int(rng.integers(4, 18)))
    if np.max(np.abs(X)) > 1e30:
        X = X / np.max(np.abs(X)) * 1e30
    classes = rng.random() < 0.5
    y = draw.labels(rng, X) if classes else draw.targets(rng, X)
    weights = draw.sample_weights(rng, y)
    loss = draw.pick(rng, list(of.MARGIN if classes else of.RESIDUAL))
    tables = [some_kernel(rng, X) for _ in range(int(rng.integers(1, 4)) if several else 1)]
    alpha = draw.any_alpha(rng, 0.5)
    options = {"loss": loss, **draw.with_intercept(rng)}
    half = rng.random() < 0.5
    if several:
        kind = skpd.MKLClassifier if classes else skpd.MKLRegressor
        options |= {"kernels": "precomputed", "penalty": "half_square" if half else "sum"}
        model, data = kind(alpha, **options), np.stack(tables, axis=2)
    else:
        kind = skpd.KernelPdproxSVC if classes else skpd.KernelPdproxRegressor
        model, data = kind(alpha, kernel="precomputed", **options), tables[0]

    def objective(model):
        scales = model._scales if several else [1.0]
        a = of.exact(weights_of_rows(model, len(tables), len(y)))
        z, squares = np.full(len(y), mpf(float(np.ravel(model.intercept_)[0]))), []
        for row, table, scale in zip(a, tables, scales, strict=True):
            f = of.exact(table / scale) @ row
            z = z + f
            squares.append(max(of.total(f * row), mpf(0)))
        value = of.mean(of.scalar_losses(loss, y, z), weights)
        if several:
            size = of.total([square**0.5 for square in squares])
            return value + mpf(alpha) * (size * size / 2 if half else size), mpf(0), mpf(1)
        return value + mpf(alpha) * squares[0] / 2, mpf(0), mpf(1)

    return draw.Case(model, data, y, weights, objective)


# Structures and boosting


def multivariate(rng):
    X = draw.features(rng)
    y, stored = draw.labels(rng, X), draw.layout(rng, X)
    metric = draw.pick(rng, ["f1", "fbeta", "precision_at_k", "recall_at_k", "roc_auc"])
    options = {"metric": metric, "max_iter": 300, **draw.common(rng)}
    if metric == "fbeta":
        options["beta"] = 2.0
    if metric in ("f1", "fbeta"):
        options["fit_intercept"] = bool(rng.random() < 0.5)
    name = draw.pick(rng, ["l2", "l2", "l1"])
    degree = 2 if name == "l2" else 1
    alpha = draw.weight_of_penalty(rng, X, degree)
    model = skpd.MetricSVC(alpha, penalty=name, **options)

    def objective(model):
        z = of.scores(stored, model.coef_, model.intercept_)[:, 0]
        value = of.multivariate(metric, y, z, options.get("beta", 1.0))
        return value + mpf(alpha) * value_of(name, 1.0, model.coef_), mpf(0), mpf(1)

    return draw.Case(model, stored, y, None, objective, degree)


def chain(rng):
    n, d, K = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    lengths = rng.integers(1, 6, size=n)
    lengths[0] += 2
    X = draw.features(rng, n=int(lengths.sum()), d=d)
    parts = np.split(X, np.cumsum(lengths)[:-1])
    y = [rng.integers(K, size=size) for size in lengths]
    y[0][:2] = 0, 1
    seen, soft = np.unique(np.concatenate(y)), bool(rng.random() < 0.5)
    y = [np.searchsorted(seen, of_one) for of_one in y]
    name = draw.pick(rng, ["l2", "l1", "group"])
    alpha = draw.weight_of_penalty(rng, X, 2 if name == "l2" else 1)
    kind = skpd.ChainCRF if soft else skpd.ChainM3N
    model = kind(alpha, penalty=name, max_iter=500, **draw.common(rng))

    def objective(model):
        losses = []
        for part, own in zip(parts, y, strict=True):
            z = of.scores(part, model.coef_, np.zeros(len(seen)))
            losses.append(of.chain(own, z, model.transitions_, soft))
        w = np.append(rows_of(model.coef_), np.ravel(of.exact(model.transitions_)))
        penalty = {
            "l2": lambda: of.norm(w) ** 2 / 2,
            "l1": lambda: of.total(abs(w)),
            "group": lambda: (
                of.total([of.norm(row) for row in w.reshape(-1, len(seen))])
                * mpf(len(seen)) ** mpf(0.5)
            ),
        }[name]()
        return of.mean(losses, None) + mpf(alpha) * penalty, mpf(0), mpf(1)

    return draw.Case(model, parts, y, None, objective)


def boosting(rng):
    X = draw.features(rng)
    y, stored = draw.labels(rng, X), X
    weights, nu = draw.sample_weights(rng, y), float(rng.choice([1e-3, 0.1, 0.5, 1.0]))
    entropy = float(rng.choice([0.0, 0.0, 1e-8, 1e-3, 1.0]))
    model = skpd.LPBoostClassifier(nu=nu, entropy=entropy, max_iter=200, **draw.common(rng))

    def objective(model):
        a = of.exact(model.estimator_weights_)
        H = [of.exact(h.predict(X)) for h in model.estimators_]
        z = sum((b * h for b, h in zip(a / of.total(a), H, strict=True)), np.full(len(y), mpf(0)))
        return of.soft_margin(list(of.exact(y) * z), weights, nu, entropy), mpf(0), mpf(1)

    return draw.Case(model, stored, y, weights, objective, upwards=True)


OTHERS = {
    "MultiTaskPD": multi_task,
    "MultinomialPD": multinomial,
    "TraceNormPD": trace_norm,
    "MatrixCompletionPD": completion,
    "QuantilePD": quantiles,
    "kernel machines": kernel_machine,
    "MKL": several_kernels,
    "MetricSVC": multivariate,
    "chains": chain,
    "LPBoostClassifier": boosting,
}
