"""Run a benchmark by name.

A benchmark is a module here with a function ``main`` of its options. ``OPTIONS`` has what each
option is: its default, that and a help, or the parameters of `argparse`.
"""

import argparse
import ast
import importlib
from pathlib import Path

HERE = Path(__file__).parent


def summaries():
    """The first line of each benchmark's docstring by its name."""
    paths = {path.stem: path for path in HERE.glob("[!_]*.py")}
    paths["papers"] = HERE / "papers" / "__init__.py"
    texts = {name: paths[name].read_text(encoding="utf-8") for name in sorted(paths)}
    return {
        name: ast.get_docstring(ast.parse(text)).split("\n")[0] for name, text in texts.items()
    }


def add_option(parser, name, given):
    """Let a parser know an option."""
    if not isinstance(given, dict):
        default, *said = given if isinstance(given, tuple) else (given,)
        kind = {"action": "store_true"} if default is False else {"type": type(default)}
        given = {"default": default, "help": "".join(said), **kind}
    parser.add_argument(name, **given)


def main():
    listing = "\n".join(f"  {name:18} {what}" for name, what in summaries().items())
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=f"Benchmarks:\n{listing}", formatter_class=layout
    )
    parser.add_argument("name", choices=summaries())
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed to the benchmark")
    given = parser.parse_args()
    module = importlib.import_module(f"benchmarks.{given.name}")
    own = argparse.ArgumentParser(
        f"{parser.prog} {given.name}", description=module.__doc__, formatter_class=layout
    )
    for name, option in module.OPTIONS.items():
        add_option(own, name, option)
    module.main(own.parse_args(given.arguments))


if __name__ == "__main__":
    main()
