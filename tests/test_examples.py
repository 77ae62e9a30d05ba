"""Every example runs and draws a figure."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").rglob("plot_*.py"))


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch):
    monkeypatch.delenv("SKPD_DATA", raising=False)  # building the pages reads what is there
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(plt.get_fignums()))
    runpy.run_path(str(path), run_name="__main__")
    assert drawn
    assert all(figure.axes for figure in map(plt.figure, drawn))
    plt.close("all")
