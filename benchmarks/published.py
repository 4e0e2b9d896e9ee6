"""Table I of the PE-means paper, where its rows are ours, too: areas under the loss.

Several of these were not private; docs/benchmarks.md says which.
"""

from __future__ import annotations

METHODS = ("PEMeans", "LSHCoreset", "FastLloyd", "diffprivlib", "BalcanKMeans")
"""As they are called here; the paper calls the last four Google, FastLloyd, DP-Lib and Icml17. The
first is the better of PE-means and HDPE-means."""
PUBLISHED = {
    "iris": (0.2894, 0.6892, 0.3979, 1.3048, 0.5507),
    "adult": (0.0056, 0.0076, 0.0155, 0.0213, 0.0066),
    "letter": (0.2852, 0.3187, 0.3963, 0.4341, 0.3247),
    "gas": (0.1081, 0.1121, 0.1561, 0.1761, 0.1168),
    "sklearn_4_4": (0.0778, 0.1305, 0.1777, 0.2355, 0.0875),
    "sklearn_4_16": (0.0955, 0.1395, 0.711, 0.5049, 0.1833),
    "sklearn_4_64": (0.0974, 0.109, 1.4623, 0.8614, 0.3276),
    "sklearn_4_128": (0.1097, 0.1186, 1.7604, 1.1632, 0.3499),
    "sklearn_16_4": (0.0445, 0.0979, 0.099, 0.1409, 0.1205),
    "sklearn_16_16": (0.0668, 0.1596, 0.716, 0.5809, 0.6901),
    "sklearn_16_64": (0.1189, 0.2258, 1.7475, 1.3716, 1.3519),
    "sklearn_16_128": (0.1562, 0.2838, 2.3038, 1.9742, 1.7085),
    "sklearn_64_4": (0.0379, 0.1289, 0.0818, 0.1191, 0.1051),
    "sklearn_64_16": (0.1183, 0.3872, 0.7631, 0.872, 1.0101),
    "sklearn_64_64": (0.307, 0.7878, 2.2002, 2.2456, 2.0639),
    "sklearn_64_128": (0.574, 0.9675, 2.7204, 2.9608, 2.4354),
}
