"""Truncated times and several rows a subject, beside statsmodels and lifelines."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from lifelines import CoxTimeVaryingFitter
from lifelines.datasets import load_rossi
from numpy.testing import assert_allclose

from skpd import CoxPD

TOL = 1e-12


@pytest.fixture
def rossi():
    table = load_rossi().astype(float)
    return table.drop(columns=["week", "arrest"]), table["week"], table["arrest"]


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_truncated_times_are_those_of_statsmodels(ties, rossi, rng):
    X, week, arrest = rossi
    X = X / X.std()
    entry = np.floor(0.5 * week * rng.random(len(week))) + 0.5  # at no event
    theirs = sm.PHReg(week, X, status=arrest, entry=entry, ties=ties).fit(
        method="newton", tol=1e-14
    )
    y = np.column_stack([entry, week, arrest])
    ours = CoxPD(0, ties=ties, tol=TOL).fit(X, y)
    assert_allclose(ours.coef_, theirs.params, atol=1e-6)


def test_rows_of_a_subject_are_those_of_lifelines(rossi, rng):
    X, week, arrest = rossi
    X = X / X.std()
    cut = np.floor(0.5 * week)
    first = X.assign(id=range(len(X)), start=0.0, stop=cut, event=0)
    later = X.assign(id=range(len(X)), start=cut, stop=week, event=arrest)
    later["fin"] = rng.random(len(X))  # a covariate that changes in time
    table = pd.concat([first[first["stop"] > 0.0], later])
    theirs = CoxTimeVaryingFitter(penalizer=0).fit(
        table, id_col="id", event_col="event", start_col="start", stop_col="stop",
        fit_options={"precision": 1e-14},
    )  # fmt: skip
    ours = CoxPD(0, tol=TOL).fit(table[X.columns], table[["start", "stop", "event"]].to_numpy())
    assert_allclose(ours.coef_, theirs.params_, atol=1e-6)
