"""Every example runs and draws a figure, and the stories have notebooks of their present state."""

import ast
import hashlib
import json
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.rglob("plot_*.py"))
STORIES = sorted(FOLDER.glob("plot_*.py"))
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))


def test_there_are_examples():
    assert EXAMPLES
    assert len(STORIES) == 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch):
    if "sklearn.callback" in path.read_text(encoding="utf-8"):
        pytest.importorskip("sklearn.callback", reason="callbacks are new in scikit-learn 1.9")
    monkeypatch.delenv("SKPD_DATA", raising=False)  # building the pages reads what is there
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(plt.get_fignums()))
    runpy.run_path(str(path), run_name="__main__")
    assert drawn
    assert all(figure.axes for figure in map(plt.figure, drawn))
    plt.close("all")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_begins_with_a_figure(path):
    assert path.read_text(encoding="utf-8").splitlines().index("plt.show()") < 40


def test_a_recipe_is_short():
    source = (FOLDER / "plot_credit_table.py").read_text(encoding="utf-8")
    code = source.replace(ast.get_docstring(ast.parse(source), clean=False), "")
    lines = [line for line in code.splitlines() if line and not line.startswith(("#", '"""'))]
    assert len(lines) < 40


def test_each_story_has_a_notebook():
    names = [path.stem.removeprefix("plot_") for path in STORIES]
    assert [path.stem for path in NOTEBOOKS] == names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_of_its_example(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    source = (FOLDER / f"plot_{path.stem}.py").read_text(encoding="utf-8")
    assert notebook["metadata"]["made_from"] == hashlib.sha256(source.encode()).hexdigest(), (
        "the example has changed: run `python examples/make_notebooks.py`"
    )
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all("".join(cell["source"]) in source for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_its_figures_and_nothing_of_a_machine(path):
    assert path.stat().st_size < 150_000
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = [o for cell in notebook["cells"] for o in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert {output["output_type"] for output in outputs} <= {"stream", "display_data"}
    assert not any(output.get("name") == "stderr" for output in outputs)
    assert not any(cell["metadata"] for cell in notebook["cells"])
