"""What the files around the package say of it agrees."""

import re
import tomllib
from pathlib import Path

import skpd

ROOT = Path(__file__).parents[1]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_versions_agree():
    """The first entry of the changelog is that of the version, or of what is to be released."""
    version = project()["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"(?m)^## \[(.+?)\]", changelog)[1]
    assert skpd.__version__ == version
    assert re.search(r"(?m)^version: (.+)$", citation)[1] == version
    assert newest == ("Unreleased" if ".dev" in version else version)


def test_every_public_estimator_is_in_the_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    estimators = [name for name in skpd.__all__ if hasattr(getattr(skpd, name), "fit")]
    assert len(estimators) > 10
    assert [name for name in estimators if f"`{name}`" not in changelog] == []


def test_classifiers_name_the_python_versions_of_the_wheels():
    """From `requires-python` on, and free-threaded ones only if it is said what allows that."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built = settings["tool"]["cibuildwheel"]["build"].split()
    minors = sorted({int(re.match(r"cp3(\d+)", tag)[1]) for tag in built})
    classified = re.findall(r":: 3\.(\d+)\b", "\n".join(project()["classifiers"]))
    assert minors == sorted(map(int, classified))
    assert project()["requires-python"] == f">=3.{minors[0]}"
    threaded = any(tag.endswith("t-*") for tag in built)
    assert threaded == ("FREE_THREADED" in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
