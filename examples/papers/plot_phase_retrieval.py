"""
Phase retrieval: an image from the sizes of its measurements
============================================================

A detector of light measures intensities: the squares of linear measurements,
without their signs or phases. The squares ``(a_i' x)^2 = <a_i a_i', x x'>`` are
linear in the matrix ``x x'`` of rank 1, so that a matrix W of small trace norm
takes its place (Candes, Eldar, Strohmer and Voroninski, *Phase retrieval via
matrix completion*, 2015). It is an application that Lei et al. (2019) name for
block Frank-Wolfe over a ball of the trace norm. The image is a digit of
``sklearn.datasets.load_digits``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skpd import TraceNormPD

x = load_digits().data[3] / 16  # 8 x 8 pixels
rng = np.random.default_rng(0)
A = rng.standard_normal((400, x.size))
squares = (A @ x) ** 2 * (1 + 0.02 * rng.standard_normal(len(A)))  # 2 % of noise
matrices = np.einsum("ij,ik->ijk", A, A).reshape(len(A), -1)


def retrieve(n):
    """The model of the first n squares, and the image up to its sign."""
    radius = squares[:n].mean()  # on average |x|^2, the trace norm of x x'
    model = TraceNormPD(
        1e-3, radius=radius, n_columns=x.size, fit_intercept=False, tol=1e-3,
        random_state=0,
    ).fit(matrices[:n], squares[:n])  # fmt: skip
    values, vectors = np.linalg.eigh(model.coef_.reshape(x.size, -1))
    image = np.sqrt(max(values[-1], 0)) * vectors[:, -1]
    return model, image * np.sign(image.sum())


counts = (50, 100, 150, 200, 300, 400)
found = {n: retrieve(n) for n in counts}

fig, axes = plt.subplots(
    1, len(counts) + 1, figsize=(9, 1.6), layout="constrained"
)
images = {f"{n} squares": image for n, (_, image) in found.items()} | {"true": x}
for axis, (title, image) in zip(axes, images.items(), strict=True):
    axis.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[], title=title)
plt.show()

for n, (model, image) in found.items():
    error = np.linalg.norm(image - x) / np.linalg.norm(x)
    print(f"{n} squares: error {error:.2f}, rank {model.rank_}")

# %%
# The symmetric W has 2,080 different entries, and 400 squares are enough for an
# error of 2 %, that of the squares.
#
# The certificate
# ---------------
# It is of the relaxed problem: no matrix in the ball, of whatever rank, has an
# objective below the lower bound.

print(found[400][0].certificate_)
