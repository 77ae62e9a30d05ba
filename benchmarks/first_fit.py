"""First fit in a fresh process against the second, and what importing skpd adds."""

import subprocess
import sys

import numpy as np

FITS = """
import time, warnings
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
X, y = {data}
from skpd import PdproxSVC
seconds = []
for _ in range(2):
    start = time.perf_counter()
    PdproxSVC({parameters}).fit(X, y)
    seconds.append(time.perf_counter() - start)
print(*seconds)
"""
CANCER = (
    "load_breast_cancer(return_X_y=True); X = StandardScaler().fit_transform(X)",
    "alpha=0.01",
)
A9A = ("__import__('benchmarks.helpers.data').data.load('a9a')", "alpha=1e-3")

IMPORTS = """
import time
import sklearn.linear_model
start = time.perf_counter()
import skpd
print(time.perf_counter() - start)
"""


def run(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [float(word) for word in done.stdout.split()]


def main(arguments=()):
    for name, (data, parameters) in {"breast cancer": CANCER, "a9a": A9A}.items():
        script = FITS.format(data=data, parameters=parameters)
        first, second = np.median([run(script) for _ in range(7)], axis=0)
        print(
            f"{name}: first fit {first:.4f} s, second {second:.4f} s, ratio {first / second:.2f}",
            flush=True,
        )
    added = np.median([run(IMPORTS) for _ in range(7)])
    print(f"import skpd after sklearn.linear_model: {added:.3f} s")
