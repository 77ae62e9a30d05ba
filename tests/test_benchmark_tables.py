"""What the benchmarks publish for the site."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from benchmarks.helpers.publish import publish

DOC = Path(__file__).parents[1] / "doc"
RATIOS = DOC / "benchmarks" / "ratios.json"
COMMITTED = sorted(set((DOC / "benchmarks").glob("*.json")) - {RATIOS})


def race(name, *runs, **more):
    """A contender's (seconds, objective) at its settings."""
    found = [{"setting": 1e-6, "seconds": s, "objective": o, "dual": 0.9} for s, o in runs]
    return {"name": name, "variant": "", "runs": found, "cut": None, "failed": None, **more}


def case(**changes):
    races = [
        race("skpd", (0.1, 1.0)),
        race("slower", (0.2, 1.1), (0.35, 1.0)),  # its first setting is off by a tenth
        race("short", (0.2, 1.1)),
        race("cut off", cut=2.0),
        race("absent", missing="absent"),
    ]
    return {
        "model": "lasso", "data": "a9a", "rule": 0.01, "zero": 1.0, "limit": 5.0,
        "clock": "process_time", "machine": {"cores": 2}, "races": races, **changes,
    }  # fmt: skip


def test_ratios_at_the_same_accuracy(tmp_path):
    path = tmp_path / "peers.json"
    publish([case()], "peers", path)
    content = json.loads(path.read_text())
    (table,) = content["tables"]
    assert table["rows"] == [
        ["data", "alpha", "skpd", "slower", "short", "cut off"],
        ["a9a", "0.01", "0.1 s", "3.5", "stops at 1e-01", "> 20"],
    ]
    assert "geometric mean 3.5" in table["summary"]
    assert content["machine"] == {"cores": 2} and content["limit"] == 5.0


def test_one_machine(tmp_path):
    other = case(machine={"cores": 4})
    with pytest.raises(ValueError, match="of one run"):
        publish([case(), other], "peers", tmp_path / "peers.json")


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_committed_results_are_whole(path):
    content = json.loads(path.read_text())
    assert {"processor", "versions"} <= set(content["machine"])
    tables = [table["rows"] for table in content["tables"]] if "tables" in content else []
    if "corners" in path.name:
        tables = [content["rows"]]
    for rows in tables:
        assert len({len(row) for row in rows}) == 1
    for part in ("rows", "features") if "scaling" in path.name else ():
        sizes, lines = content[part]["sizes"], content[part]["seconds"]
        assert all(len(values) == len(sizes) for values in lines.values())
    assert tables or "scaling" in path.name


def test_bars_show_all_ratios():
    models = json.loads(RATIOS.read_text(encoding="utf-8"))["models"]
    bars = runpy.run_path(str(DOC / "figures" / "speed.py"))["bars"]()
    assert len(bars) == len(models)
    for one in models:
        assert (one["model"], one["mean"], one["least"]) in bars
        assert 0.0 < one["least"] <= one["mean"] and 0 <= one.get("bounds", 0) < one["cases"]


def text_of(page):
    return " ".join((DOC / page).read_text(encoding="utf-8").split())


def test_the_ratios_that_pages_name():
    models = {one["model"]: one for one in json.loads(RATIOS.read_text())["models"]}
    hinge = models["hinge + l1"]
    assert (hinge["mean"], hinge["cases"]) == (34, 11)
    for page in ("index.rst", "../README.md"):
        assert "34th" in text_of(page) and "eleven cases" in text_of(page)
    text = text_of("benchmarks.rst")
    for name, part in {
        "pinball + l1": "500 for the pinball loss", "hinge + group lasso": "110 for the hinge",
        "lasso": "1.1 for the lasso", "ridge": "0.93 for ridge",
        "softmax + l2": "0.78 for softmax",
    }.items():  # fmt: skip
        assert part in text and float(part.split()[0]) == models[name]["mean"]
    tenfold = {name for name, one in models.items() if one["mean"] >= 10.0}
    assert tenfold == {"pinball + l1", "hinge + group lasso", "hinge + l1", "robust SVM"}
    slower = [one["least"] for one in models.values() if one["least"] < 1.0]
    assert len(slower) == 7 and min(slower) == 0.33
    assert "On the worst data of seven models the ratio is below 1, down to 0.33" in text


def test_the_cases_that_pages_name():
    ratios = {}
    for table in json.loads((DOC / "benchmarks" / "peers.json").read_text())["tables"]:
        (_, _, _, *peers), *rows = table["rows"]
        for _, _, _, *cells in rows:
            for peer, cell in zip(peers, cells, strict=True):
                value = float(cell) if cell.replace(".", "").isdigit() else np.nan
                ratios.setdefault(peer, []).append(value)
    text = text_of("benchmarks.rst")
    for peer, count, part in [
        ("Snap ML", (17, 72), "Snap ML is faster in 17 of 72 cases, by a factor of up to three"),
        ("scikit-learn", (9, 40), "scikit-learn is faster in 9 of 40 cases"),
        ("lbfgs", (5, 8), "``lbfgs`` is faster for softmax regression in five of eight cases"),
    ]:
        values = np.array(ratios[peer])
        assert part in text and (np.count_nonzero(values < 1.0), len(values)) == count
    snap = np.array(ratios["Snap ML"])
    assert f"it takes {np.exp(np.nanmean(np.log(snap))):.1f} times as long as skpd" in text
    assert 1.0 / np.nanmin(snap) == pytest.approx(3.0, abs=0.1)
    assert "by a factor of up to 1.7" in text
    assert 1.0 / np.nanmin(ratios["scikit-learn"]) == pytest.approx(1.7, abs=0.05)


def test_tables_of_ratios():
    pytest.importorskip("docutils")
    of_models = runpy.run_path(str(DOC / "extensions" / "benchmark_tables.py"))["of_models"]
    models = json.loads(RATIOS.read_text(encoding="utf-8"))["models"]
    rows = of_models(models)
    assert len(rows) == len(models) + 1 and len({len(row) for row in rows}) == 1
