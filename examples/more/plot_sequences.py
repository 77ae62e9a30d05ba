"""
Labels of sequences
===================

Words of a small language are ambiguous by themselves: what comes before
tells nouns from verbs. A conditional random field learns both, and its
certificate says how far from the best it is.
"""

import matplotlib.pyplot as plt
import numpy as np

from skpd import ChainCRF

# %%
# A noun follows a determiner, and a verb a noun. A word is seen through noise.

rng = np.random.default_rng(0)
names = np.array(["determiner", "noun", "verb"])
after = np.array([[0.0, 0.95, 0.05], [0.1, 0.2, 0.7], [0.7, 0.2, 0.1]])


def sequence(length):
    labels = [rng.integers(3)]
    while len(labels) < length:
        labels.append(rng.choice(3, p=after[labels[-1]]))
    noise = rng.standard_normal((length, 3))
    return np.eye(3)[labels] + noise, names[labels]


X, y = zip(*(sequence(12) for _ in range(300)), strict=True)
crf = ChainCRF(alpha=1e-2).fit(X[:200], y[:200])
print(crf.certificate_)

# %%
# Without its transitions the model knows a token by its features alone.

alone = ChainCRF(alpha=1e-2).fit(
    [row[None] for x in X[:200] for row in x],
    [[label] for labels in y[:200] for label in labels],
)
singles = [[row[None] for row in x] for x in X[200:]]
right = [
    alone.score(x, [[label] for label in labels])
    for x, labels in zip(singles, y[200:], strict=True)
]
print(
    f"tokens alone {np.mean(right):.3f}, chains {crf.score(X[200:], y[200:]):.3f}"
)

# %%
# What follows what, as learned.

figure, axes = plt.subplots()
image = axes.imshow(crf.transitions_, cmap="PiYG", vmin=-2, vmax=2)
axes.set(xlabel="label", ylabel="label before")
axes.set_xticks(range(3), crf.classes_)
axes.set_yticks(range(3), crf.classes_)
figure.colorbar(image, label="weight of the transition")
plt.show()
