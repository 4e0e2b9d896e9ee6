"""
Anatomy of a budget
===================

A fit measures some twenty queries. Each is charged a part of one total, which is fixed by epsilon
and delta; what one query gets, another lacks. Here is where it goes.

The parts are those of mu², the currency of the ledger, because they add up exactly; epsilons do
not. Every part is public: it is in each model's ``releases_``, in its ``privacy_statement_`` and,
if there is one, in the :doc:`ledger </ledger>`.

Three things to see. Finding out where rows are is cheap, and it is why bounds may be loose. With
8 columns more than half goes to finding clusters; with 64, where a mean has many more numbers to
hide, most goes to the means. And a fit that starts from last week's centres has little to find,
so it has twice as much left for the means (:doc:`/series`).
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

from privclust import PrivateKMeans

BLUE, RED, GREEN, YELLOW, CYAN = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9"

CLUSTERS = 8


def made_up(n_columns: int) -> np.ndarray:
    """Return 10,000 rows in eight clusters."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-0.8, 0.8, (CLUSTERS, n_columns))
    return middles[np.arange(10_000) % CLUSTERS] + rng.normal(0, 0.08, (10_000, n_columns))


def fitted(n_columns: int, init: PrivateKMeans | None = None) -> PrivateKMeans:
    """Return a model of made-up rows."""
    model = PrivateKMeans(CLUSTERS, epsilon=1.0, delta=1e-6, bounds=(-1, 1), init=init)
    return model.fit(made_up(n_columns))


few = fitted(8)
fits = {
    "8 columns": few,
    "64 columns": fitted(64),
    "8 columns, from last week's centres": fitted(8, init=few),
}

# %%
# Slots have names, and the first word of a name says what it was for. Each is charged before a
# row is read. These are the first of the first fit:

for line in few.privacy_statement_.releases[:6]:
    print(f"{line.slot:<8} {line.query:<18} {line.share:.2%}")

# %%
# The picture
# -----------
# One bar a fit, one colour a purpose, one piece a query.

PURPOSES = {
    "where are the rows?": ("locate radius", YELLOW),
    "where are clusters?": ("start split width", BLUE),
    "how wide are they?": ("distances", CYAN),
    "what are their means?": ("sums cells", GREEN),
    "how large are they?": ("sizes", RED),
}
figure, axes = plt.subplots(layout="constrained", figsize=(6.4, 4.9))
for row, model in enumerate(fits.values()):
    left = 0.0
    for words, color in PURPOSES.values():
        measured = [
            line.share
            for line in model.privacy_statement_.releases
            if line.slot.split()[0] in words.split()
        ]
        starts = left + np.cumsum([0, *measured[:-1]])
        axes.barh(row, measured, 0.55, starts, color=color, edgecolor="white", linewidth=0.5)
        if sum(measured) > 0.08:
            axes.text(left + 0.01, row + 0.37, f"{sum(measured):.0%}", va="center")
        left += sum(measured)
for row, name in enumerate(fits):
    axes.text(0, row - 0.39, name, va="center")
axes.set(xlim=(0, 1), yticks=(), xticks=())
axes.spines[:].set_visible(False)
axes.invert_yaxis()
names = [Patch(color=color, label=purpose) for purpose, (_, color) in PURPOSES.items()]
figure.legend(handles=names, loc="outside lower center", ncols=2)
axes.set_title("Where the budget of one fit goes", fontsize=12, pad=16)
plt.show()
