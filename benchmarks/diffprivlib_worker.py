"""Fits diffprivlib's KMeans for `third_party`, in an environment that has it."""

import pickle
import sys
import warnings

from diffprivlib.models import KMeans

warnings.simplefilter("ignore")
while True:
    try:
        rows, n_clusters, epsilon, half_width, seed = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    model = KMeans(n_clusters, epsilon=epsilon, bounds=(-half_width, half_width), random_state=seed)
    pickle.dump(model.fit(rows).cluster_centers_, sys.stdout.buffer)
    sys.stdout.buffer.flush()
