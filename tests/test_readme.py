"""README.md is short, its links lead somewhere, and its code prints what it shows."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from numpy.testing import assert_allclose

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = re.sub(r"(?ms)^```.*?^```|^\|.*?$", "", TEXT)
LINKS = re.findall(r"\]\(([^)]*)\)", TEXT)
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
SHOWN = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
SITE = "https://skpd.readthedocs.io/en/latest/"
OTHERS = (
    "https://skpd.readthedocs.io", "https://github.com/skpd/skpd", "https://img.shields.io/badge/",
)  # fmt: skip
NUMBER = r"\d+(?:\.\d+)?"


def test_code_prints_what_is_shown(capsys):
    """Both intervals, the first with as many digits as the gap allows to differ."""
    names: dict = {}
    assert len(BLOCKS) == len(SHOWN) == 2 and [len(b.splitlines()) for b in BLOCKS] == [6, 10]
    for code, shown in zip(BLOCKS, SHOWN, strict=True):
        exec(code, names)
        printed = capsys.readouterr().out
        assert re.sub(NUMBER, "", printed) == re.sub(NUMBER, "", shown)
        numbers, expected = ([float(x) for x in re.findall(NUMBER, t)] for t in (printed, shown))
        assert_allclose(numbers[-3:-1], expected[-3:-1], rtol=1e-3)
        assert expected[-2] < expected[-3] and numbers[-2] < numbers[-3]
    assert len(plt.figure(plt.get_fignums()[-1]).axes) == 2  # the last of the ten lines has drawn
    plt.close("all")


def test_a_stranger_reads_all_of_it():
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", PROSE)
    assert len(re.findall(r"\S*\w\S*", text)) <= 450
    assert TEXT.split("## Install")[0].count("\n") < 40  # the first screen


@pytest.mark.parametrize("link", LINKS)
def test_links_lead_somewhere(link):
    """Addresses of the site are those of pages that a build makes of files of `doc`."""
    if link.startswith(SITE):
        page = link.removeprefix(SITE).removesuffix(".html")
        assert page == "auto_examples/index" or (ROOT / "doc" / f"{page}.rst").exists()
    elif not link.startswith(OTHERS):
        assert (ROOT / link).exists()


def test_commands_are_those_of_ci():
    """Those of the quick start, and of CONTRIBUTING.md for the site."""
    commands = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    assert len(commands) == 2 and commands[1].strip().endswith("python -m pytest")
    (build,) = re.findall(r"`(sphinx-build [^`]*)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert build.replace("-W", "-q -W --keep-going") in run
