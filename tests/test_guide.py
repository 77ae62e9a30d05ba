"""Every block of Python in the pages of the site runs, and prints what the page says."""

import doctest
import re
from pathlib import Path
from textwrap import dedent

import matplotlib.pyplot as plt
import pytest

DOC = Path(__file__).parents[1] / "doc"
GENERATED = {"_build", "auto_examples", "generated", "templates"}
PAGES = sorted(
    page
    for page in DOC.rglob("*.rst")
    if not GENERATED & set(page.relative_to(DOC).parts) and page.name != "sg_execution_times.rst"
)
BLOCK = re.compile(
    r"^\.\. code-block:: (\S*)\n((?:[ ]+:.*\n)*)\n((?:(?:[ ]+.*)?\n)+)", re.MULTILINE
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_RUN = {"sh", "text", "c++", "rst"}
NEEDS = {  # pages with examples of other packages
    "guide/blocks.rst": "pyarrow",
    "guide/intervals.rst": "mapie",
    "guide/survival.rst": "lifelines",
    "guide/workers.rst": "distributed",
}
WIDTH = 88  # characters of a line of code, which the page shows without scrolling


def blocks_of(page):
    """(language, line, code) of each block of a page."""
    text = page.read_text(encoding="utf-8") + "\n"
    for found in BLOCK.finditer(text):
        yield found[1], text.count("\n", 0, found.start(3)), dedent(found[3])


def run_block(code, names, where, line):
    """Run a block, as a session of the interpreter where it has prompts, as a file otherwise."""
    if ">>>" not in code:
        exec(compile("\n" * line + code, where, "exec"), names)
        return
    examples = doctest.DocTestParser().get_examples(code, where)
    session = doctest.DocTest(examples, names, where, where, line, code)
    session.globs = names  # shared by the blocks of a page, which DocTest would copy
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)  # whatever pytest's -v is
    runner.run(session, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def name_of(page):
    return page.relative_to(DOC).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_code(page, monkeypatch, tmp_path):
    pytest.importorskip(NEEDS.get(name_of(page), "skpd"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    names = {"__name__": name_of(page)}
    for language, line, code in blocks_of(page):
        assert language in {"python", *NOT_RUN}
        assert max(map(len, code.splitlines())) <= WIDTH
        if language == "python":
            run_block(code, names, str(page), line)
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_escapes(page):
    """Code is in blocks that name their language, so that it is run and coloured."""
    text = page.read_text(encoding="utf-8")
    assert text.count(".. code-block::") == len(list(blocks_of(page)))
    assert ">>>" not in BLOCK.sub("", text + "\n")
    assert not re.search(r"^(?!\.\.).*::$", text, re.MULTILINE)  # a literal block


def test_pages_are_found():
    assert {"index.rst", "getting_started.rst", "your_own.rst"} <= {page.name for page in PAGES}
    assert sum(language == "python" for page in PAGES for language, *_ in blocks_of(page)) > 20
