"""
Topics of messages
==================

What do people write to a city's help line about? Messages are as private as anything, and whoever
writes often gives more away. So what is protected here is a *person*: all messages of one author
together.

The messages are made up, from six topics that the model does not know. Each becomes a vector by
hashing its words into 256 columns; an embedding could take its place. With ``metric="cosine"`` only
directions count, and no bounds are needed.

A centre is a noisy direction without words. To read it, take a list of words that is public
anyway, such as a dictionary, turn each word into a vector by the same rule, and see which point
the way of the centre. That follows from the centre and public things alone, so it costs nothing.
The grey word in each panel is one that nobody wrote, the best of eight. Hashing puts some words
into the same column; none of these eight shares one with a topic.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import HashingVectorizer

from privclust import PrivateKMeans

BLUE, GREY = "#0072b2", "#888888"

TOPICS = (
    "pothole road asphalt crack bicycle pavement",
    "rubbish bin collection bags recycling rats",
    "noise music night party neighbours bar",
    "parking permit garage fine meter tow",
    "water pipe leak pressure brown tap",
    "school pupils bus teacher crossing classroom",
)
UNWRITTEN = "violin glacier harp submarine poem volcano saffron telescope"
FRAMES = (
    "please, there is {} and {} again, also {} and {}",
    "since then {} and {}, and now {} with {}, please",
    "who will do something about {} and {}? we have {} and {}, please",
)
AUTHORS, EACH = 3000, 4

# %%
# Messages, and what becomes of them
# ----------------------------------
# Authors write four messages each, mostly on one topic. Vectors go into one Arrow column, authors
# into another. Words of grammar are dropped by a public list.

rng = np.random.default_rng(0)
favourite = rng.integers(0, len(TOPICS), AUTHORS)
stray = rng.integers(0, len(TOPICS), (AUTHORS, EACH))
topics = np.where(rng.random((AUTHORS, EACH)) < 0.7, favourite[:, None], stray).ravel()
messages = [
    str(rng.choice(FRAMES)).format(*rng.choice(TOPICS[topic].split(), 4, replace=False))
    for topic in topics
]
print(messages[0])
hashing = HashingVectorizer(n_features=256, stop_words="english")
vectors = hashing.transform(messages).toarray()
table = pa.table(
    {
        "author": np.repeat(np.arange(AUTHORS), EACH),
        "message": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 256),
    }
)

# %%
# One fit
# -------
# ``max_rows_per_unit=4``: up to four messages of an author count in full, more would be scaled down
# together.

model = PrivateKMeans(
    len(TOPICS), epsilon=2.0, delta=1e-6, metric="cosine", unit="author", max_rows_per_unit=EACH
).fit(table)
print(model.privacy_statement_.unit)

# %%
# Reading the centres
# -------------------
# What all centres have in common is taken off first: it sets no topic apart.

words = np.array(" ".join((UNWRITTEN, *TOPICS)).split())
unwritten = len(UNWRITTEN.split())
apart = model.cluster_centers_ - model.cluster_centers_.mean(axis=0)
scores = apart @ hashing.transform(words).toarray().T

figure, grid = plt.subplots(3, 2, layout="constrained", figsize=(6.4, 6.6), sharex=True)
for axes, score, size in zip(grid.flat, scores, model.cluster_sizes_, strict=True):
    best = [*np.argsort(-score)[:5], np.argmax(score[:unwritten])]
    axes.barh(words[best], score[best], color=[BLUE] * 5 + [GREY], height=0.65)
    axes.invert_yaxis()
    axes.set_title(f"about {size:,.0f} messages")
    axes.tick_params(left=False)
    axes.set_xticks(())
    axes.spines[["bottom", "left"]].set_visible(False)
figure.suptitle("Six topics, read from noisy centres with a public list of words")
plt.show()
