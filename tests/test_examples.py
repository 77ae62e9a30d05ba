"""The documentation runs every example, and the stories have notebooks of their present state."""

import ast
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.rglob("plot_*.py"))
STORIES = sorted(FOLDER.glob("plot_*.py"))
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))


def test_there_are_examples():
    assert EXAMPLES
    assert len(STORIES) == 6


def test_the_documentation_runs_all_examples():
    """`sphinx-build -W` fails where one of them does, so that the suite does not run them too."""
    conf = ast.parse((FOLDER.parent / "doc" / "conf.py").read_text(encoding="utf-8"))
    (settings,) = [
        {key.value: value for key, value in zip(node.value.keys, node.value.values, strict=True)}
        for node in conf.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "sphinx_gallery_conf"
    ]
    assert settings["examples_dirs"].value == "../examples"
    assert not {"plot_gallery", "filename_pattern", "only_warn_on_example_error"} & settings.keys()
    assert all("plt.show()" in path.read_text(encoding="utf-8") for path in EXAMPLES)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_begins_with_a_figure(path):
    assert path.read_text(encoding="utf-8").splitlines().index("plt.show()") < 40


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_names_data_that_packages_carry(path):
    description = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert re.search(r"``(sklearn\.datasets|statsmodels\.api\.datasets|scipy)\.\w+", description)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_cell_is_one_thought(path):
    """A sentence comes before its code, which is short and has an output."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for before, cell in pairwise(cells):
        if cell["cell_type"] == "code":
            code = "".join(cell["source"]).splitlines()
            assert len([line for line in code if line]) <= 30
            assert before["cell_type"] == "markdown"
            assert cell["outputs"]


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
