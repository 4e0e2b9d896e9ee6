"""Every estimator there is: a new one is tested with the others as soon as it is exported."""

from __future__ import annotations

from typing import Any

from privclust import PrivateKMeans, estimators

EVERY_KIND: list[Any] = [getattr(estimators, name) for name in estimators.__all__]
OTHER_KINDS = [kind for kind in EVERY_KIND if kind is not PrivateKMeans]
"""Those without standard errors and a coreset."""
