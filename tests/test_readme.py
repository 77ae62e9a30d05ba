"""README.md says what its lines print."""

import doctest
import re
from pathlib import Path

import matplotlib.pyplot as plt

README = Path(__file__).parents[1] / "README.md"


def block(text, heading, language=""):
    """The first block of code in a section."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]


def test_the_ten_lines_print_the_certificate(capsys):
    text = README.read_text(encoding="utf-8")
    code = block(text, "Ten lines", "python")
    assert len(code.splitlines()) == 10
    names: dict = {}
    exec(code, names)
    assert len(plt.figure(plt.get_fignums()[-1]).axes) == 2  # the last line has drawn
    plt.close("all")
    printed = capsys.readouterr().out
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    shown = block(text, "How to read a certificate")
    assert doctest.OutputChecker().check_output(shown, printed, flags), printed
    certificate = names["model"][-1].certificate_
    assert 0.1158 <= certificate.dual <= certificate.primal < 0.116
