"""Make the notebooks of the stories: ``python examples/make_notebooks.py``.

Needs the extra ``doc``. Each notebook has its outputs, and in its metadata the
hash of the example that it was made from, by which a test notices whether the
example has changed since.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

EXAMPLES = Path(__file__).parent
SETTINGS = "figure.dpi: 85\n"  # each notebook is to be below 150 kB
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook_of(path):
    """An example as a notebook that has not run."""
    _, blocks = split_code_and_text_blocks(path)
    converted = jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, path.parent)
    notebook = nbformat.from_dict(converted | {"nbformat_minor": 5})
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # the same whenever it is made
        cell.metadata.clear()
        cell.source = "".join(cell.source)
    return notebook


def run(notebook):
    """Run all cells. Warnings are errors: they print a path of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "matplotlibrc").write_text(SETTINGS, encoding="utf-8")
        where = {"MPLBACKEND": "inline", "MATPLOTLIBRC": folder}
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=os.environ | where)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{cell.id}: {output.text}")


def make(path):
    """Write the notebook of an example."""
    notebook = notebook_of(path)
    run(notebook)
    source = path.read_text(encoding="utf-8")
    notebook.metadata = {
        "kernelspec": KERNEL,
        "language_info": {"name": "python"},
        "made_from": hashlib.sha256(source.encode()).hexdigest(),
    }
    nbformat.validate(notebook)
    name = path.stem.removeprefix("plot_")
    target = EXAMPLES / "notebooks" / f"{name}.ipynb"
    target.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, target)
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    for example in sorted(EXAMPLES.glob("plot_*.py")):
        make(example)
