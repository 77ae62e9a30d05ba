"""What the benchmarks publish for the site."""

import json
import runpy
from pathlib import Path

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


def test_tables_of_ratios():
    pytest.importorskip("docutils")
    of_models = runpy.run_path(str(DOC / "extensions" / "benchmark_tables.py"))["of_models"]
    models = json.loads(RATIOS.read_text(encoding="utf-8"))["models"]
    rows = of_models(models)
    assert len(rows) == len(models) + 1 and len({len(row) for row in rows}) == 1
