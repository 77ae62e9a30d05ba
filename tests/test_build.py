"""Sources without a compiled module: they take the installed one, or say what to run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skpd

IMPORT = """
import importlib.metadata, sys
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__.lower()]
sys.path.insert(0, {folder!r})
{before}
import skpd
print(skpd.__file__)
"""
NOT_INSTALLED = """
def distribution(name):
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.distribution = distribution
"""


@pytest.fixture
def sources(tmp_path):
    """A copy of the sources, as they are in a clone."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(skpd.__file__).parent, tmp_path / "skpd", ignore=ignored)
    return tmp_path


def imported(folder, before=""):
    script = IMPORT.format(folder=str(folder), before=before)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_sources_take_the_installed_module(sources):
    done = imported(sources)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == sources / "skpd" / "__init__.py"


def test_sources_that_were_never_built_say_what_to_run(sources):
    done = imported(sources, NOT_INSTALLED)
    assert done.returncode == 1
    assert "python -m pip install ." in done.stderr and str(sources) in done.stderr
