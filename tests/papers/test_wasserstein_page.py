"""The claims of the page on the Wasserstein robust SVM, against its own tables."""

import numpy as np
import pytest

from tests.oracles.paper_pages import paper_page

TUNED = ("Table 2", "Table 7", "Table 8")
METHODS = ("isg", "ippa", "hybrid")
RHO = {"a1a": 0.95, "a9a": 0.9}


@pytest.fixture(scope="module")
def page():
    return paper_page("wasserstein")


def rows_of(page, title, method, name="method"):
    found = [row for row in page.table(title) if row[name] == method]
    assert found
    return found


def number(cell):
    """The number of a cell, inf for none."""
    return np.inf if cell in ("not", "") else float(cell)


def rho_and_batch(row):
    _, rho, batch = row["steps"].split(", ")
    return float(rho), int(batch)


@pytest.mark.parametrize("title", TUNED)
def test_tuned_steps(page, title):
    page.claims(
        "all three methods reach the paper's objectives, or 2e-6 above the optimum, in all of "
        "Tables 2, 7 and 8, each with rho = 0.95 on a1a and 0.9 on a9a."
    )
    page.claims("M-ISG takes at most as many epochs as IPPA, and is as accurate.")
    for data, rho in RHO.items():
        rows = {row["method"]: row for row in rows_of(page, title, data, "data")}
        optimum = float(rows["auto"]["here"])
        for method in METHODS:
            row = rows[method]
            paper, here = float(row["objective, paper"]), float(row["here"])
            assert here <= max(paper, optimum + 2e-6) + 5e-8  # of seven digits
            assert not row["here 2"].startswith("ends")
            assert rho_and_batch(row)[0] == rho
        assert int(rows["isg"]["epochs"]) <= int(rows["ippa"]["epochs"])
        assert float(rows["isg"]["here"]) <= float(rows["ippa"]["here"]) + 1e-6


def test_epochs_of_the_hybrid_method(page):
    page.claims("The hybrid method takes more epochs than either;")
    page.claims("0.81 to 0.89 times those of IPPA, and so it is faster in each of these tables.")
    shares = []
    for title in TUNED:
        for data in RHO:
            rows = {row["method"]: row for row in rows_of(page, title, data, "data")}
            hybrid, ippa = int(rows["hybrid"]["epochs"]), int(rows["ippa"]["epochs"])
            assert hybrid > max(ippa, int(rows["isg"]["epochs"]))
            steps = rho_and_batch(rows["hybrid"])[0] ** np.arange(hybrid)
            assert float(rows["hybrid"]["here 2"]) < float(rows["ippa"]["here 2"])
            shares.append(np.count_nonzero(steps < 0.02) / ippa)
    assert (round(min(shares), 2), round(max(shares), 2)) == (0.81, 0.89)


def test_the_hybrid_method_beside_gs_admm(page):
    page.claims("In Table 4 it comes to 2e-5 above the optimum, and GS-ADMM to 1e-4")
    page.claims("on a9a it takes longer than GS-ADMM.")
    for data in RHO:
        rows = {row["method"]: row for row in rows_of(page, "Table 4", data, "data")}
        above = {name: float(row["here"]) - float(rows["auto"]["here"])
                 for name, row in rows.items()}  # fmt: skip
        assert above["hybrid"] <= 2.05e-5
        assert not rows["hybrid"]["here 2"].startswith("ends")
        assert above["GS-ADMM"] == pytest.approx(1e-4, rel=0.05)
    assert float(rows["hybrid"]["here 2"]) > float(rows["GS-ADMM"]["here 2"])  # of a9a


def test_figure_1(page):
    page.claims(
        "With the published steps of Figure 1 (a) IPPA has the smaller rho and takes a third of "
        "the epochs of ISG to 1e-3."
    )
    page.claims(
        "With steps of one grid for both methods, in (b) to (d), IPPA takes no fewer epochs"
    )
    for part in ("a", "a, script"):
        isg, ippa = rows_of(page, "Figure 1", part, "part")
        assert (isg["method"], ippa["method"]) == ("isg", "ippa")
        assert float(ippa["rho"]) < float(isg["rho"])
        assert int(ippa["1e-3"]) / int(isg["1e-3"]) == pytest.approx(1 / 3, abs=0.05)
    for part in "bcd":
        isg, ippa = rows_of(page, "Figure 1", part, "part")
        assert all(number(ippa[level]) >= number(isg[level]) for level in ("1e-3", "1e-4", "1e-5"))


def test_mini_batches(page):
    page.claims(
        "512 rows allow rho = 0.8, and take 36 epochs to 1e-6 instead of 215, with about half of "
        "the updates of single rows, each of which costs more. The seconds are about the same."
    )
    rows = {int(row["batch"]): row for row in rows_of(page, "Mini-batches of IPPA", "ippa")}
    assert rows[512]["rho"] == "0.8"
    epochs = {batch: int(row["1e-6"]) for batch, row in rows.items()}
    assert (epochs[512], epochs[1]) == (36, 215)
    updates = {
        batch: epochs[batch] * float(row["updates of a row"]) for batch, row in rows.items()
    }
    assert updates[512] / updates[1] == pytest.approx(0.5, abs=0.05)
    page.claims("need a larger rho and more epochs the larger their mini-batches are")
    isg = rows_of(page, "Mini-batches of IPPA", "isg")
    assert [int(row["batch"]) for row in isg] == [8, 32, 128]
    assert np.all(np.diff([float(row["rho"]) for row in isg]) > 0)
    for level in ("1e-3", "1e-4", "1e-5"):
        epochs = [number(row[level]) for row in isg]
        assert epochs[0] < epochs[1] < epochs[2]
