"""Changes of the code that its tests do not notice.

Of one part of skpd, one operator, sign, constant or comparison at a time is changed, and those
tests of the part's folder that run the line run with it, the quickest first, until one fails.
Which they are is recorded once. Each change has a process of its own, forked after everything but
skpd is imported, which imports the changed module in the place of the file's. Messages of errors,
annotations and `__repr__` are left as they are. A change without end counts as noticed.
"""

import ast
import contextlib
import copy
import gc
import importlib
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PARTS = {
    "certificates": ["certificates/*.py"],
    "losses": ["losses/*.py"],
    "penalties": ["penalties/*.py"],
    "problems": [
        f"problems/{name}.py"
        for name in ("*points", "balance", "free", "free_*", "shards/points", "shards/b[ao]*")
    ],
}
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.MatMult: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd, ast.Invert: ast.UAdd,
}  # fmt: skip
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
LEFT_OUT = {"annotation", "returns"}
SHARE, START = 5.0, 60.0  # a change may take so many times the seconds of its tests, and more
VISITS = 100  # of a function by a test of which the lines are recorded


@dataclass(frozen=True)
class Mutant:
    """A field of a node of a file's syntax tree, and what it becomes."""

    path: Path
    tree: Any
    node: Any
    field: str
    value: Any

    def apply(self):
        setattr(self.node, self.field, self.value)

    def __str__(self):
        changed = copy.copy(self.node)
        setattr(changed, self.field, self.value)
        where = f"{self.path.relative_to(ROOT)}:{self.node.lineno}"
        return f"{where}: {ast.unparse(self.node)}  ->  {ast.unparse(changed)}"


def changes(node):
    """Pairs of a field of a node and another value of it."""
    operator = getattr(node, "op", None)
    if isinstance(operator, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    elif type(operator) in OPERATORS:
        yield "op", OPERATORS[type(operator)]()
    elif isinstance(node, ast.Compare):
        for k, comparison in enumerate(node.ops):
            for other in COMPARISONS[type(comparison)]:
                yield "ops", [*node.ops[:k], other(), *node.ops[k + 1 :]]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "value", not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "value", node.value + 1 if isinstance(node.value, int) else 2.0 * node.value or 1.0


def nodes(node):
    """The nodes of a syntax tree whose changes are behaviour."""
    if isinstance(node, ast.Raise) or getattr(node, "name", None) == "__repr__":
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in LEFT_OUT:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from nodes(child)


def mutants_of(part):
    paths = {path for pattern in PARTS[part] for path in (ROOT / "skpd").glob(pattern)}
    for path in sorted(paths):
        tree = ast.fix_missing_locations(ast.parse(path.read_text(encoding="utf-8")))
        for node in nodes(tree):
            for field, value in changes(node):
                yield Mutant(path, tree, node, field, value)


class Recorder:
    """A plugin of pytest: the seconds of each test and the tests that run each line of files."""

    def __init__(self, paths):
        self.paths = set(map(str, paths))
        self.seconds, self.tests, self.current = {}, defaultdict(set), ""
        self.visits = Counter()

    def trace(self, frame, event, argument):
        code = frame.f_code
        if code.co_filename not in self.paths or self.visits[code] >= VISITS:
            return None
        self.visits[code] += 1
        return self.line(frame, event, argument)

    def line(self, frame, event, argument):
        self.tests[frame.f_code.co_filename, frame.f_lineno].add(self.current)
        return self.line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.current, start = item.nodeid, time.perf_counter()
        self.visits.clear()
        result = yield
        self.seconds[item.nodeid] = time.perf_counter() - start
        self.current = ""  # of imports
        return result


class Selection:
    """A plugin of pytest that runs certain tests in an order."""

    def __init__(self, tests):
        self.order = {test: k for k, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )


def run_pytest(arguments, plugin):
    """The exit status of pytest in this process, which prints nothing."""
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    # pytest itself warns of modules that were imported before
    options = ["-x", "-q", "-o", "addopts=", "-o", "filterwarnings="]
    options += ["-p", "no:cacheprovider", "-p", "no:faulthandler"]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


def forked(function, *arguments):
    """The id of a process that exits with what a function returns."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            status = function(*arguments)
        finally:
            os._exit(status)
    return process


def record(tests, paths, answer):
    """Write what a `Recorder` finds and the names of all modules; the exit status of pytest."""
    recorder = Recorder(paths)
    threading.settrace(recorder.trace)  # sums over blocks of rows run in threads
    sys.settrace(recorder.trace)
    status = run_pytest(tests, recorder)
    sys.settrace(None)
    threading.settrace(None)
    found = recorder.seconds, dict(recorder.tests), list(sys.modules)
    Path(answer).write_bytes(pickle.dumps(found))
    return status


def import_all(names):
    """Import what tests need but for what may import changed code."""
    for name in names:
        if name.partition(".")[0] not in ("skpd", "tests", "benchmarks", "conftest", "__main__"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    assert "skpd" not in sys.modules  # or no change of it would be imported
    gc.collect()
    gc.freeze()


def run_mutant(mutant, tests, limit):
    """0 where all tests pass with the change."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(limit))
    mutant.apply()
    code = compile(mutant.tree, str(mutant.path), "exec")
    get_code = SourceFileLoader.get_code

    def changed(self, name):
        return code if self.path == str(mutant.path) else get_code(self, name)

    SourceFileLoader.get_code = changed
    files = sorted({test.partition("::")[0] for test in tests})
    return run_pytest(files, Selection(tests))


def tests_of(mutant, tests):
    """The tests that run a line of the change, or any of the file for what is run at import."""
    path, own = str(mutant.path), range(mutant.node.lineno, mutant.node.end_lineno + 1)
    found = set().union(*(tests.get((path, line), set()) for line in own))
    if found == {""}:
        found = set().union(*(some for (file, _), some in tests.items() if file == path))
    return found - {""}


def survivors_of(mutants, tests, seconds, jobs):
    """The mutants that no test notices, each with the number of tests that ran with it."""
    running = {}
    for mutant in [*mutants, *[None] * jobs]:
        if running and (mutant is None or len(running) == jobs):
            process, status = os.wait()
            done = running.pop(process)
            if status == 0:
                yield done
        if mutant:
            order = sorted(tests_of(mutant, tests), key=seconds.get)
            if not order:
                yield mutant, 0
                continue
            limit = START + SHARE * sum(map(seconds.get, order))
            running[forked(run_mutant, mutant, order, limit)] = mutant, len(order)


OPTIONS = {
    "--part": {"choices": PARTS, "default": "certificates"},
    "--tests": {"nargs": "+", "help": "files and folders, by default the part's"},
    "--mutants": 400,
    "--seed": 0,
    "--jobs": (os.cpu_count(), "processes at a time"),
}


def main(options):
    os.chdir(ROOT)
    mutants = list(mutants_of(options.part))
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile() as answer:
        paths = {mutant.path for mutant in mutants}
        folders = options.tests or [f"tests/{options.part}"]
        process = forked(record, folders, paths, answer.name)
        if os.waitpid(process, 0)[1]:
            raise SystemExit(f"{' '.join(folders)} fails as the code is")
        seconds, tests, modules = pickle.loads(Path(answer.name).read_bytes())
    import_all(modules)
    quickest = [min(seconds, key=seconds.get)]
    process = forked(run_pytest, [quickest[0].partition("::")[0]], Selection(quickest))
    if os.waitpid(process, 0)[1]:  # every change would seem to be noticed
        raise SystemExit(f"{quickest[0]} fails after imports, as the code is")
    elapsed = time.perf_counter() - start
    print(f"{len(seconds)} tests of {options.part}, {elapsed:.0f} s", flush=True)

    start, chosen = time.perf_counter(), np.random.default_rng(options.seed).permutation(mutants)
    chosen, survivors, n_not_run = chosen[: options.mutants], 0, 0
    for mutant, n_tests in survivors_of(chosen, tests, seconds, options.jobs):
        survivors, n_not_run = survivors + 1, n_not_run + (n_tests == 0)
        print(f"{mutant} ({n_tests} tests)", flush=True)
    each = (time.perf_counter() - start) / len(chosen)
    share = survivors / len(chosen)
    print(
        f"{len(chosen)} of {len(mutants)} mutants of {options.part}, seed {options.seed}: "
        f"{survivors} not noticed ({share:.1%}), {n_not_run} of them run by no test; "
        f"{each:.1f} s each"
    )
