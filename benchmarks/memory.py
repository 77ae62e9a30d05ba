"""Peak memory of a default fit over the size of its data.

Each fit runs in a process of its own. Its peak above what the process held before loading
X is divided by the bytes of X; so is what loading X alone took, for comparison.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks.helpers.contenders import OURS
from benchmarks.helpers.data import dataset, n_bytes, save, saved
from benchmarks.helpers.models import MODELS, add_selection, alpha_of, selected
from benchmarks.helpers.race import warm_up

STATUS = Path("/proc/self/status")


def peak():
    """The largest memory of this process so far, in bytes."""
    for line in STATUS.read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    raise SystemExit("this system does not report VmHWM")


def child(folder, name, alpha):
    """Print the peaks before loading, after it and after the fit, and the bytes of X."""
    model = MODELS[name]
    # what a first fit imports is no memory of the fit
    warm_up(OURS, name, float(alpha), sparse=(Path(folder) / "X.npz").exists())
    before = peak()
    data = saved(Path(folder))
    X, y = data.X, model.target(data)
    loaded = peak()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.estimator(X.shape[1], float(alpha)).fit(X, y)
    print(before, loaded, peak(), n_bytes(X))


def measured(folder, name, alpha):
    """The numbers that `child` prints in a process of its own."""
    call = f"from benchmarks.memory import child; child({str(folder)!r}, {name!r}, {alpha!r})"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.splitlines() or [f"exit code {done.returncode}"])[-1])
    return [int(word) for word in done.stdout.split()]


def main(arguments=()):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_selection(parser)
    options = parser.parse_args(arguments)
    if not STATUS.exists():
        raise SystemExit(f"this benchmark reads {STATUS}, which this system does not have")
    print("| data | model | alpha | X | loading over X | peak over X |")
    print("| --- |" + " --- |" * 5)
    current, worst = None, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, model, rule in selected(options.models, options.data):
            place = Path(folder) / name
            if name != current:
                data, current = dataset(name, quick=options.quick), name
                save(data, place)
            alpha = alpha_of(rule, MODELS[model], data.X, MODELS[model].target(data))
            try:
                before, loaded, after, size = measured(place, model, alpha)
            except RuntimeError as error:
                print(f"| {name} | {model} | {rule} | failed: {error} | | |", flush=True)
                continue
            worst = max(worst, (after - before) / size)
            print(
                f"| {name} | {model} | {rule} | {size / 1e6:.1f} MB | "
                f"{(loaded - before) / size:.2f} | {(after - before) / size:.2f} |",
                flush=True,
            )
    print(f"\nlargest peak over X {worst:.2f}")
