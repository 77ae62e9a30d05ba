"""What the files around the package say of it agrees."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import skpd

yaml = pytest.importorskip("yaml")  # which Dask brings
ROOT = Path(__file__).parents[1]
in_a_clone = pytest.mark.skipif(
    not (ROOT / ".pre-commit-config.yaml").exists(),
    reason="a source distribution has no files that serve the repository only",
)


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def settings():
    return tomllib.loads(text("pyproject.toml"))


def project():
    return settings()["project"]


def recipe():
    return yaml.safe_load(text("conda/recipe.yaml"))


def jobs():
    return yaml.safe_load(text(".github/workflows/tests.yml"))["jobs"]


def commands(job):
    return "\n".join(step.get("run", "") for step in jobs()[job]["steps"])


def minor_versions():
    """Of Python, as the classifiers name them."""
    return re.findall(r":: (3\.\d+)\b", "\n".join(project()["classifiers"]))


def test_versions_agree():
    """The first entry of the changelog is that of the version, or of what is to be released."""
    version = project()["version"]
    newest = re.search(r"(?m)^## \[(.+?)\]", text("CHANGELOG.md"))[1]
    assert skpd.__version__ == version
    assert re.search(r"(?m)^version: (.+)$", text("CITATION.cff"))[1] == version
    assert recipe()["context"]["version"] == version
    assert newest == ("Unreleased" if ".dev" in version else version)


def test_every_public_estimator_is_in_the_changelog():
    changelog = text("CHANGELOG.md")
    estimators = [name for name in skpd.__all__ if hasattr(getattr(skpd, name), "fit")]
    assert len(estimators) > 10
    assert [name for name in estimators if f"`{name}`" not in changelog] == []


def test_classifiers_name_the_python_versions_of_the_wheels():
    """From `requires-python` on, and free-threaded ones only if it is said what allows that."""
    built = settings()["tool"]["cibuildwheel"]["build"].split()
    minors = sorted({int(re.match(r"cp3(\d+)", tag)[1]) for tag in built})
    assert [f"3.{minor}" for minor in minors] == minor_versions()
    assert project()["requires-python"] == f">={minor_versions()[0]}"
    threaded = any(tag.endswith("t-*") for tag in built)
    assert threaded == ("FREE_THREADED" in text("CMakeLists.txt"))


def test_the_conda_recipe_requires_what_pyproject_does():
    """To build and to run: the same names, each with the same lower bound."""
    required = recipe()["requirements"]
    run = {need.replace(" ", "") for need in required["run"]} - {"python"}
    host = {need.replace(" ", "") for need in required["host"]} - {"python", "pip"}
    cmake = re.search(r"cmake_minimum_required\(VERSION (\S+)\)", text("CMakeLists.txt"))[1]
    assert run == set(project()["dependencies"])
    assert host == set(settings()["build-system"]["requires"])
    assert f"cmake >={cmake}" in required["build"]


def test_the_conda_recipe_is_for_the_python_versions_of_the_wheels():
    oldest = project()["requires-python"].removeprefix(">=")
    assert f'match(python, "<{oldest}")' in recipe()["build"]["skip"]
    variants = yaml.safe_load(text("conda/variants.yaml"))
    assert variants["python"] == [f"{version}.*" for version in minor_versions()]


def test_the_conda_recipe_says_what_pyproject_says():
    about = recipe()["about"]
    assert about["summary"] == project()["description"]
    assert about["license"] == project()["license"]
    assert [about["license_file"]] == project()["license-files"]
    assert about["homepage"] == about["documentation"] == project()["urls"]["Documentation"]
    assert about["repository"] == project()["urls"]["Source"]


@in_a_clone
def test_issue_forms_link_to_the_addresses_of_pyproject():
    links = yaml.safe_load(text(".github/ISSUE_TEMPLATE/config.yml"))["contact_links"]
    urls = project()["urls"]
    assert [link["url"] for link in links] == [
        urls["Documentation"],
        f"{urls['Source']}/security/advisories/new",
    ]


@in_a_clone
def test_workflows_run_the_python_versions_of_the_wheels():
    matrix = jobs()["suite"]["strategy"]["matrix"]
    versions = {*matrix["python"], *(entry["python"] for entry in matrix["include"])}
    assert {version.rstrip("t") for version in versions} == set(minor_versions())
    oldest = jobs()["oldest"]["steps"][1]["with"]["python-version"]
    assert oldest == minor_versions()[0]


@in_a_clone
def test_workflows_run_the_oldest_scikit_learn():
    (need,) = (need for need in project()["dependencies"] if need.startswith("scikit-learn"))
    assert need.partition(">=")[2] in jobs()["scikit-learn"]["strategy"]["matrix"]["version"]


@in_a_clone
def test_the_oldest_build_tools_are_tested():
    for need in settings()["build-system"]["requires"]:
        name, bound = need.split(">=")
        assert re.search(rf'"{name}=={re.escape(bound)}(\.0)*"', commands("oldest"))


@in_a_clone
def test_what_tests_need_is_in_one_file():
    """Readers, contributors and CI install it without a second build of the package."""
    needs = "tests/requirements.txt"
    wheels = settings()["tool"]["cibuildwheel"]["before-test"]
    assert wheels.endswith(f"-r {{project}}/{needs}")
    setups = [text("README.md"), text("CONTRIBUTING.md"), text("benchmarks/requirements.txt")]
    setups += [commands(job) for job in ("suite", "clang", "oldest", "nightly")]
    assert all(f"-r {needs}" in setup.replace("../", "") for setup in setups)
    assert (ROOT / needs).exists()


def test_the_light_extra_is_part_of_what_tests_need():
    light = project()["optional-dependencies"]["test-light"]
    assert set(light) <= set(text("tests/requirements.txt").splitlines())


@in_a_clone
def test_hooks_lint_as_the_script_does():
    """.pre-commit-config.yaml, which the lint job of the workflows runs, and .ci/run."""
    hooks = {
        hook["id"]: hook.get("entry")
        for repository in yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
        for hook in repository["hooks"]
    }
    script = text(".ci/run").splitlines()
    assert {"ruff check .", "ruff format --check .", hooks["mypy"]} <= set(script)
    assert {"ruff-check", "ruff-format"} <= set(hooks)
    assert "pre-commit run --all-files" in commands("lint")


@in_a_clone
def test_documentation_is_built_alike_everywhere():
    """By Read the Docs as by the docs job: the same extra, and no warning."""
    built = yaml.safe_load(text(".readthedocs.yaml"))
    assert built["python"]["install"] == [
        {"method": "pip", "path": ".", "extra_requirements": ["doc"]}
    ]
    assert built["sphinx"] == {"configuration": "doc/conf.py", "fail_on_warning": True}
    assert 'pip install ".[doc]"' in commands("docs")
    assert "sphinx-build -W" in commands("docs")


def test_import_loads_no_trees():
    """Ensembles and trees, which only examples and users need, take a third of a second."""
    code = "import skpd, sys; print(sorted({'sklearn.ensemble', 'sklearn.tree'} & {*sys.modules}))"
    found = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert found.strip() == "[]"


def test_no_module_keeps_compiled_objects():
    """Python may end before it clears modules, and nanobind then reports what leaks."""
    compiled = {
        f"{module.__name__}.{name}"
        for module in list(sys.modules.values()) if module.__name__.startswith("skpd.")
        for name, value in vars(module).items()
        if type(value).__module__.startswith("skpd.kernels._kernels")
    }  # fmt: skip
    assert compiled == set()
