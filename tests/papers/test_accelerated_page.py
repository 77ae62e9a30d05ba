"""The claims of the page on accelerated gradients, against its own tables."""

import numpy as np
import pytest

from tests.oracles.paper_pages import paper_page

PRIMAL, DUAL = "Theorem 19 and Algorithms 1 to 4", "Theorem 20 and section 5.3"
PROX, ENTROPIC = "Section 5.6: prox functions", "The entropic prox"


@pytest.fixture(scope="module")
def page():
    return paper_page("accelerated")


def count(cell):
    """The gradients of a cell such as "196 (402)" or "~2000 (4000)", nan for none."""
    return np.nan if not cell else float(cell.split()[0].removeprefix("~"))


def shares(rows, *names):
    """The counts of two columns in each row that has both, the first over the second."""
    ratios = np.array([count(row[names[0]]) / count(row[names[1]]) for row in rows])
    assert np.isfinite(ratios).any()
    return ratios[np.isfinite(ratios)]


def ends(ratios, digits):
    return round(float(np.min(ratios)), digits), round(float(np.max(ratios)), digits)


def hinge(page):
    return [row for row in page.table(PRIMAL) if row["model"].startswith("hinge")]


def test_gaps_and_theorems(page):
    rows = page.table(DUAL)
    kinds = "smoothed dual, L given", "dual, L given"
    of_61 = np.concatenate([shares(rows, kind, "(61)") for kind in kinds])
    page.claims("In the dual variables no run exceeds its theorem")
    page.claims("the gap of the hinge loss took .32 to .57 of (61)")
    assert ends(of_61, 2) == (0.32, 0.57)
    first = shares(hinge(page), "L given", "(58)")
    of_58 = np.concatenate([first, shares(rows, "primal, L given", "(58)")])
    page.claims("it took .32 to 1.05 of (58)")
    assert ends(of_58, 2) == (0.32, 1.05)


def test_searches_for_L(page):
    rows = page.table(DUAL)
    first = shares(hinge(page), "L given", "L searched")
    primal = np.concatenate([first, shares(rows, "primal, L given", "primal, L searched")])
    dual = np.concatenate([
        shares(rows, f"{kind}, L given", f"{kind}, L searched")
        for kind in ("smoothed dual", "dual")
    ])  # fmt: skip
    page.claims("by 3 to 32 in the primal variables, and by .7 to 7 in the dual ones")
    assert ends(primal, 0) == (3.0, 32.0)
    assert (*ends(dual, 1)[:1], *ends(dual, 0)[1:]) == (0.7, 7.0)


def test_prox_functions(page):
    rows = {row["data"]: row for row in page.table(PROX)}
    page.claims("3,362 gradients in place of 6,382 where rows are uneven and L is given")
    page.claims("1,262 in place of 743 where they are isotropic")
    given = "b_i, L given", "b = 1, L given"
    assert [count(rows["uneven rows"][name]) for name in given] == [3362, 6382]
    assert [count(rows["isotropic rows"][name]) for name in given] == [1262, 743]
    page.claims("the gradients change as the root of the largest eigenvalue")
    roots = np.sqrt([float(row["L, ratio"]) for row in rows.values()])
    np.testing.assert_allclose(shares(rows.values(), *given), roots, rtol=0.05)


def test_the_entropic_prox(page):
    rows = page.table(ENTROPIC)
    names = "entropic, L searched", "euclidean, L searched"
    alone = [row for row in rows if row["squared l2"] == "0"]
    page.claims("Over an l1 ball alone, the entropic prox takes .41 to .69 of the gradients")
    assert len(alone) == 4 and ends(shares(alone, *names), 2) == (0.41, 0.69)
    page.claims("with a squared l2 norm it takes more for independent features")
    independent = [row for row in rows if row not in alone and "independent" in row["200 rows"]]
    assert len(independent) == 2 and np.all(shares(independent, *names) > 1.0)


def test_chains_and_elastic_nets(page):
    chains = {
        (row["objective"], row["tol"]): count(row["gradients"])
        for row in page.table("Example 4: chains") if row["method"] == "agm"
    }  # fmt: skip
    page.claims("150 gradients for 1e-4, where networks take 386 for 1e-2")
    assert chains["(45)", "0.0001"] == 150 and chains["(46)", "0.01"] == 386
    nets = page.table("Section 5.5.2: elastic nets")
    page.claims("finds the models of (52) in 1.2 to 11 times as many gradients")
    assert ends(shares(nets, "constraint, L searched", "(52), L searched"), 1) == (1.2, 11.0)
    assert all(float(row["difference"]) < 1e-3 for row in nets)


def test_rounds_of_boosting(page):
    page.claims("changes of the last digits make 11 or 12 of them")
    rounds = [
        count(row["rounds"]) for row in page.table("LPBoost")
        if row["method"] == "agm" and row["tol"] == "0.01"
    ]  # fmt: skip
    assert len(rounds) == 2 and set(rounds) <= {11, 12}
