"""
Text: the words that tell topics apart
======================================

Which words show whether a text is about statistics, signals or matrices? The
texts are docstrings of SciPy, with which they are installed: those of
``scipy.stats``, ``scipy.signal``, ``scipy.linalg`` and two other packages. The l1
norm gives few of their words a coefficient; ``PathCV`` chooses how many.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
from scipy import linalg, ndimage, optimize, signal, stats

texts, topics = [], []
for package in (linalg, ndimage, optimize, signal, stats):
    functions = [getattr(package, name) for name in package.__all__]
    docs = {inspect.getdoc(f) or "" for f in functions if callable(f)}
    docs = sorted(doc.split("Examples\n")[0] for doc in docs if len(doc) > 200)
    texts += docs
    topics += len(docs) * [package.__name__.removeprefix("scipy.")]
texts, topics = np.array(texts), np.array(topics)

names, counts = np.unique(topics, return_counts=True)
fig, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
axes.bar(names, counts)
axes.set_ylabel("docstrings")
plt.show()

# %%
# From texts to features
# ----------------------
# Each word is a feature; the names of the packages are left out, as they would
# give the topic away. There are more words than texts.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

X, X_test, y, y_test = train_test_split(
    texts, topics, test_size=0.5, stratify=topics, random_state=0
)
vectorizer = TfidfVectorizer(
    stop_words=["scipy", *names], token_pattern="[a-z]{3,}"
)
n_texts, n_words = vectorizer.fit_transform(X).shape
print(f"{n_texts} texts, {n_words} words")

# %%
# Few words
# ---------
# The squared hinge loss with the l1 norm is fitted for each topic against the
# others. ``PathCV`` takes the largest ``alpha`` whose cross-validated accuracy is
# within one standard error of the best.

from sklearn.pipeline import make_pipeline

from skpd import PathCV, PdproxSVC

model = make_pipeline(vectorizer, PdproxSVC(penalty="l1", loss="squared_hinge"))
search = PathCV(model, alphas=15, eps=0.05, rule="one_standard_error", cv=3)
search.fit(X, y)
svc = search.best_estimator_[-1]
words = vectorizer.fit(X).get_feature_names_out()
fig, axes = plt.subplots(
    1, 5, figsize=(10, 3.4), sharex=True, layout="constrained"
)
for axis, topic, coef in zip(axes, svc.classes_, svc.coef_, strict=True):
    largest = np.argsort(coef)[-7:]
    largest = largest[coef[largest] > 0]
    axis.barh(words[largest], coef[largest])
    axis.set_title(f"{topic}: {np.count_nonzero(coef)} words", fontsize="medium")
fig.supxlabel("largest coefficients", fontsize="medium")
plt.show()
# sphinx_gallery_thumbnail_number = 2

# %%
# The other words
# ---------------
# Each topic has a certificate of its own. It proves that nearly all words have a
# coefficient of 0 in every optimal model for this ``alpha``: that they are
# missing is a property of the texts, not of the solver.

for topic, coef, certificate in zip(
    svc.classes_, svc.coef_, svc.certificate_, strict=True
):
    print(f"{topic}: {np.sum(coef == 0)} of {n_words} words are 0, ", end="")
    print(f"{certificate.proven_zero.sum()} are proven to be 0")

# %%
# What a word was learnt from
# ---------------------------
# With few words one can look at each: how many docstrings of the topic have the
# word with the largest coefficient, and how many others? Such a word need not be
# about the topic. It may stand in a note that all docstrings of a package share.

contains = vectorizer.transform(texts) > 0
for topic, coef in zip(svc.classes_, svc.coef_, strict=True):
    best, own = coef.argmax(), topics == topic
    inside = 100 * contains[own][:, [best]].mean()
    outside = 100 * contains[~own][:, [best]].mean()
    print(f"{words[best]}: {inside:.0f} % in {topic}, {outside:.0f} % elsewhere")

# %%
# The price of few words
# ----------------------
# scikit-learn's ``LinearSVC`` minimises the same loss with the squared norm and
# uses all words. Its ``C`` is chosen in the same folds.

from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

grid = {"linearsvc__C": [0.1, 1.0, 10.0, 100.0]}
dense = GridSearchCV(make_pipeline(vectorizer, LinearSVC()), grid, cv=3).fit(X, y)
kept = np.count_nonzero(svc.coef_.any(axis=0))
for fitted, name in (search, f"{kept} words"), (dense, f"all {n_words} words"):
    print(f"{name}: {100 * fitted.score(X_test, y_test):.1f} % correct")

# %%
# The difference is the price of a model that can be read in a minute.
