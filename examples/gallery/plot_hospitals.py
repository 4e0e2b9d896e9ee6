"""
A federation of hospitals
=========================

Three hospitals want common clusters of their patients, and none may show another its table. Each
keeps its rows and answers queries with sums; a server adds the sums up and adds noise. Who sees
what?

* A **hospital** sees its own rows, and no others.
* The **server** sees, for each query, one vector of exact sums from each hospital: no rows,
  but statistics without noise. It has to be trusted with these, which :doc:`/federated-trust` is
  about.
* **Everybody else** sees what the noise left: centres, sizes, standard errors. The privacy
  guarantee is about these.

The rows are made up. Hospitals may be as unlike as they are here: west is small, and few of its
patients are young.
"""

from collections.abc import Iterable, Mapping

import matplotlib.pyplot as plt
import numpy as np

from privclust import Federation, PrivateKMeans
from privclust.engines.federated._request import NONCE_BYTES
from privclust.kernels.grid import UNIT

BLUE, RED, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#888888"

BOUNDS = ([0, 10], [120, 60])  # age in years, body mass index
rng = np.random.default_rng(0)


def made_up(n_rows: int, mixture: tuple[float, float, float]) -> np.ndarray:
    """Return ages and body mass indices of three groups of patients."""
    group = rng.choice(3, n_rows, p=mixture)
    middles = np.array([(27, 22), (52, 31), (76, 25)])
    return rng.normal(middles[group], (6, 2))


tables = {
    "north": made_up(4000, (0.5, 0.3, 0.2)),
    "south": made_up(2500, (0.15, 0.65, 0.2)),
    "west": made_up(900, (0.1, 0.2, 0.7)),
}

# %%
# Listening at the server
# -----------------------
# A federation is given a way to carry queries to clients and replies back. Ours keeps the last
# replies that came by: how many rows are nearest to each centre. A reply is a nonce and integers,
# nothing else. A server of your own must not do this; that is what it is trusted not to do.

rehearsal = Federation.in_process(tables)
overheard: dict[str, bytes] = {}


def listening(queries: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    """Carry queries and replies, and keep the replies."""
    for name, reply in rehearsal.exchange(queries):
        overheard[name] = reply
        yield name, reply


federation = Federation(listening, rehearsal.clients, rehearsal.columns)
model = PrivateKMeans(3, epsilon=1.0, delta=1e-6, bounds=BOUNDS).fit(federation)
sums = {name: np.frombuffer(reply[NONCE_BYTES:], "<i8") / UNIT for name, reply in overheard.items()}

# %%
# From rows to what is published
# ------------------------------
# A model has its largest cluster first, a query the order in which clusters were found. Here
# both are put in the order of age.

by_age = np.argsort(model.cluster_centers_[:, 0])
order = np.argsort(-np.sum(list(sums.values()), axis=0))[by_age]

figure = plt.figure(layout="constrained", figsize=(6.4, 7.8))
figure.suptitle("Three hospitals, and who sees what")
parts = figure.subfigures(3, 1, squeeze=False, height_ratios=(1.15, 1, 1.4))
inside, server, outside = parts[:, 0]
colors = (BLUE, GREEN, RED)
for axes, (name, rows) in zip(inside.subplots(1, 3), tables.items(), strict=True):
    axes.scatter(*rows[:1000].T, s=2, color=GREY, linewidth=0)
    axes.set(xlim=(0, 120), ylim=(10, 45), xticks=(), yticks=(), title=name)
inside.suptitle("A hospital alone: its rows", fontsize=10, weight="bold")
for axes, (name, counts) in zip(server.subplots(1, 3), sums.items(), strict=True):
    axes.bar_label(axes.bar(range(3), counts[order], color=colors), fmt="{:,.0f}")
    axes.set(ylim=(0, 2800), xticks=(), yticks=(), title=name)
server.suptitle("The server: exact sums of each hospital", fontsize=10, weight="bold")
axes = outside.subplots()
sizes, errors = model.cluster_sizes_[by_age], model.size_stderr_[by_age]
axes.scatter(*model.cluster_centers_[by_age].T, sizes / 8, color=colors)
for center, size, error in zip(model.cluster_centers_[by_age], sizes, errors, strict=True):
    text = f"{size:,.0f} ± {error:.0f}"
    axes.annotate(text, center, (0, 18), textcoords="offset points", ha="center")
axes.set(xlim=(0, 120), ylim=(10, 45), xlabel="age in years", ylabel="body mass index")
outside.suptitle("Everybody: noisy centres and sizes", fontsize=10, weight="bold")
plt.show()
