"""The pages of the papers as they are published: their sentences, and the numbers of their tables.

A test of a page names a claim of its prose and computes it from the page's own table, so that a
table which is measured anew and prose which was not cannot disagree.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "doc" / "papers"


@dataclass(frozen=True)
class PaperPage:
    """The text of a page, with single spaces, and its tables by the titles of their sections."""

    text: str
    tables: dict[str, list[dict[str, str]]]

    def claims(self, sentence: str) -> None:
        """Assert that a sentence, or a part of one, is on the page."""
        assert " ".join(sentence.split()) in self.text, f"not on the page: {sentence}"

    def table(self, title: str) -> list[dict[str, str]]:
        """The rows of the table in a section, each with the text of its cells by the header.

        The second column of a header is followed by 2, such as "here 2".
        """
        return self.tables[title]


def paper_page(name: str) -> PaperPage:
    """The page of a paper, such as "pdprox"."""
    source, tables = (FOLDER / f"{name}.rst").read_text(encoding="utf-8"), {}
    for title, section in re.findall(r"^(.+)\n-{3,}\n((?:(?!.+\n-{3,}\n).*\n)*)", source, re.M):
        for file in re.findall(r":download:`.+ <(.+)>`", section):
            with (FOLDER / file).open(encoding="utf-8", newline="") as stream:
                header, *rows = csv.reader(stream)
            names = list(_distinct(header))
            tables[title] = [dict(zip(names, row, strict=True)) for row in rows]
    return PaperPage(" ".join(source.split()), tables)


def _distinct(header: list[str]) -> Iterator[str]:
    """The header with numbers behind names that are there before."""
    seen = Counter[str]()
    for name in header:
        seen[name] += 1
        yield f"{name} {seen[name]}" if seen[name] > 1 else name
