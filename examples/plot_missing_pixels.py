"""
Missing values: images of which half of the pixels are lost
===========================================================

A table of ratings, measurements or pixels has gaps, and its rows resemble each
other. ``MatrixCompletionPD`` fills the gaps by the biases of rows and columns and
a matrix of low rank. Here each row is a handwritten digit of 8 x 8 pixels, from
``sklearn.datasets.load_digits``, and half of all pixels are hidden.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skpd import MatrixCompletionPD

digits = load_digits()
pixels = digits.data[digits.target == 3] / 16  # 0 is white and 1 is black
known = np.random.default_rng(0).random(pixels.shape) < 0.5
gaps = np.where(known, pixels, np.nan)

model = MatrixCompletionPD(alpha=1e-4, random_state=0)
model.fit(np.argwhere(known), pixels[known])
everything = np.argwhere(np.ones(pixels.shape))
filled = model.predict(everything).reshape(pixels.shape).clip(0, 1)

fig, axes = plt.subplots(3, 9, figsize=(8, 3), layout="constrained")
rows = {"given": gaps, "filled": np.where(known, pixels, filled), "true": pixels}
for line, (name, images) in zip(axes, rows.items(), strict=True):
    line[0].set_ylabel(name)
    for axis, image in zip(line, images, strict=False):
        axis.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[], facecolor="C1")
plt.show()

# %%
# Orange pixels are unknown to the model. What it knows is a table of images and
# pixels, not where a pixel stands in the image: it has learnt from other images
# which pixels are black together.
#
# The certificate
# ---------------
# No matrix of any rank, with any biases, has an objective below the lower bound.

print(f"{known.sum()} known pixels, rank {model.rank_}")
print(model.certificate_)

# %%
# The choice of alpha
# -------------------
# The smaller ``alpha``, the larger the rank. A fifth of the known pixels is
# hidden from the models too, to see which ``alpha`` fills them best. Errors are
# root mean squares.

from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

pairs, hidden, y, y_hidden = train_test_split(
    np.argwhere(known), pixels[known], test_size=0.2, random_state=0
)
errors = {}
for alpha in (5e-4, 2e-4, 1e-4, 5e-5, 2e-5):
    model.set_params(alpha=alpha).fit(pairs, y)
    predicted = model.predict(hidden).clip(0, 1)
    errors[alpha] = root_mean_squared_error(y_hidden, predicted)
    print(f"alpha {alpha:.0e}: rank {model.rank_}, error {errors[alpha]:.4f}")
best = min(errors, key=errors.get)

# %%
# All ten digits
# --------------
# A model with this ``alpha`` is fitted to the images of each digit. Beside it are
# the mean of a pixel over the images, and its mean over the five images that are
# nearest in the known pixels (scikit-learn's ``KNNImputer``).

from sklearn.impute import KNNImputer, SimpleImputer

imputers = {
    "mean of the pixel": SimpleImputer(keep_empty_features=True),
    "nearest images": KNNImputer(keep_empty_features=True),
}
model.set_params(alpha=best)
errors = {name: [] for name in [*imputers, "low rank"]}
for digit in range(10):
    pixels = digits.data[digits.target == digit] / 16
    known = np.random.default_rng(digit).random(pixels.shape) < 0.5
    gaps, lost = np.where(known, pixels, np.nan), pixels[~known]
    for name, imputer in imputers.items():
        filled = imputer.fit_transform(gaps)[~known]
        errors[name].append(root_mean_squared_error(lost, filled))
    model.fit(np.argwhere(known), pixels[known])
    filled = model.predict(np.argwhere(~known)).clip(0, 1)
    errors["low rank"].append(root_mean_squared_error(lost, filled))

fig, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for name, values in errors.items():
    axes.plot(values, "o-", label=name)
    print(f"{name}: error {np.mean(values):.3f} on average")
axes.set(xlabel="digit", ylabel="error of missing pixels", ylim=(0, None))
axes.set_xticks(range(10))
axes.legend()
plt.show()

# %%
# The trace norm of all rows together fills the pixels better than a search for
# similar images, for each of the ten digits.
