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


def test_other_lines_hold_what_they_say(monkeypatch):
    """The blocks after the ten lines, in order, with the names of those before."""
    monkeypatch.setattr(plt, "show", lambda: None)
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for code in blocks:
        exec(code, names)
    plt.close("all")
    assert (names["quantiles"][:, :-1] <= names["quantiles"][:, 1:]).all()
    ordered, search = names["ordered"], names["search"]
    assert ordered.coef_[2] >= ordered.coef_[3] and ordered.converged_
    assert search.best_params_["drsvmclassifier__epsilon"] > 0.0 and search.best_score_ > 0.95
