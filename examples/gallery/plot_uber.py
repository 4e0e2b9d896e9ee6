"""
Uber pick-ups on a map
======================

Where do people get into a car? The answer is useful, and the file it comes from says where
somebody was on a certain night. So the rows are not drawn here: nothing in this picture depends
on a pick-up but forty noisy centres and their noisy sizes, at epsilon 1.

Look at the three airports. Their places are typed from public knowledge, as is the coast, a rough
sketch; the centres beside them were found. Manhattan is crowded with centres, because k-means
puts them where rows are.

The bounds are those of a whole region, about 170 by 210 km, of which the map shows the middle.
The protected unit is one pick-up. Somebody with many pick-ups is protected less, and would need a
column of ids and ``unit="passenger"``, which this file does not have.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

from privclust import PrivateKMeans

BLUE, RED, INK = "#0072b2", "#d55e00", "#1f2328"

BOUNDS = {"Lat": (40.0, 41.5), "Lon": (-75.0, -72.5)}
LANDMARKS = {
    "LaGuardia": (40.776, -73.874),
    "JFK": (40.642, -73.780),
    "Newark airport": (40.690, -74.175),
    "Grand Central": (40.753, -73.977),
    "Wall Street": (40.706, -74.009),
}
LABELS = ((40.795, -73.85), (40.625, -73.77), (40.67, -74.22), (40.79, -74.18), (40.735, -74.19))

# %%
# The pick-ups
# ------------
# The data set, a part of April 2014, is not part of the repository: ``PRIVCLUST_DATA`` names the
# folder that holds it. Without it, pick-ups around the landmarks are made up, and the title says
# so.


def pickups() -> tuple[np.ndarray, str]:
    """Return latitudes and longitudes, and what they are."""
    file = Path(os.environ.get("PRIVCLUST_DATA", "")) / "uber_pickups.npz"
    if file.is_file():
        return np.load(file)["X"], "real pick-ups"
    rng = np.random.default_rng(0)
    places = np.array(list(LANDMARKS.values()))[rng.choice(5, 50_000, p=[0.1, 0.1, 0.1, 0.4, 0.3])]
    return rng.normal(places, 0.015), "made-up pick-ups"


points, kind = pickups()
table = pa.table({"Lat": points[:, 0], "Lon": points[:, 1]})
model = PrivateKMeans(40, epsilon=1.0, delta=1e-6, bounds=BOUNDS).fit(table)

# %%
# The map
# -------
# Longitude and latitude of the coast, counter-clockwise or not, as far as the map reaches.

LAND = """
-74.019 40.701 -74.013 40.718 -74.010 40.750 -73.996 40.770 -73.972 40.796 -73.958 40.817
-73.945 40.850 -73.928 40.877 -73.911 40.873 -73.924 40.855 -73.934 40.835 -73.934 40.808
-73.929 40.798 -73.943 40.783 -73.942 40.775 -73.958 40.758 -73.971 40.744 -73.972 40.728
-73.976 40.711 -73.998 40.708 -74.010 40.701

-73.937 40.778 -73.962 40.738 -73.961 40.725 -73.970 40.705 -73.990 40.704 -74.000 40.690
-74.018 40.675 -74.025 40.655 -74.040 40.630 -74.035 40.610 -74.010 40.598 -74.010 40.573
-73.940 40.575 -73.885 40.582 -73.890 40.605 -73.880 40.640 -73.850 40.655 -73.820 40.645
-73.825 40.622 -73.790 40.618 -73.755 40.610 -73.750 40.595 -73.930 40.552 -73.930 40.545
-73.750 40.585 -73.650 40.585 -73.650 40.840 -73.720 40.830 -73.735 40.800 -73.755 40.775
-73.790 40.795 -73.830 40.797 -73.850 40.765 -73.865 40.785 -73.890 40.775 -73.915 40.788

-73.928 40.808 -73.910 40.795 -73.870 40.805 -73.840 40.810 -73.800 40.815 -73.790 40.850
-73.770 40.880 -73.740 40.920 -73.700 40.960 -73.900 40.960 -73.915 40.905 -73.920 40.880
-73.905 40.873 -73.928 40.840

-73.910 40.960 -73.925 40.920 -73.963 40.853 -74.000 40.795 -74.022 40.765 -74.027 40.735
-74.034 40.712 -74.045 40.685 -74.075 40.660 -74.100 40.645 -74.140 40.645 -74.115 40.675
-74.110 40.712 -74.125 40.710 -74.150 40.680 -74.185 40.648 -74.205 40.630 -74.215 40.580
-74.260 40.550 -74.300 40.550 -74.300 40.960

-74.200 40.632 -74.140 40.641 -74.075 40.647 -74.055 40.605 -74.100 40.570 -74.160 40.530
-74.250 40.500 -74.245 40.545 -74.205 40.560
"""
figure, axes = plt.subplots(layout="constrained", figsize=(6.4, 6.2))
axes.set_facecolor("#d6e4f0")
for outline in LAND.strip().split("\n\n"):
    axes.fill(*np.array(outline.split(), dtype=float).reshape(-1, 2).T, color="#f7f5f0", zorder=0)
latitude, longitude = model.cluster_centers_.T
axes.scatter(longitude, latitude, model.cluster_sizes_ / 20, color=RED, alpha=0.55, linewidth=0)
axes.scatter(longitude, latitude, s=4, color=INK)
for (name, (north, east)), (up, along) in zip(LANDMARKS.items(), LABELS, strict=True):
    leader = {"arrowstyle": "-", "color": BLUE, "linewidth": 0.8}
    axes.annotate(name, (east, north), (along, up), color=BLUE, arrowprops=leader)
    axes.scatter(east, north, s=60, marker="+", color=BLUE)
axes.set(xlim=(-74.24, -73.70), ylim=(40.55, 40.93), xticks=(), yticks=())
axes.set_aspect(1 / np.cos(np.radians(40.75)))  # a degree east is shorter than one north
axes.spines[:].set_visible(False)
axes.set_title(f"Forty noisy centres of {kind}, epsilon 1", fontsize=12)
axes.text(0.02, 0.02, "area: noisy number of pick-ups", transform=axes.transAxes)
plt.show()
