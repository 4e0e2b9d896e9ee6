"""What all estimators do alike: functions that their classes name as methods of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privclust import fitting, profiling
from privclust.bounds import Declarations
from privclust.geometry.grid import FloatArray
from privclust.profiling import Profile
from privclust.tables import check_can_be_labelled


def predict(self: Any, X: Any) -> NDArray[np.int64]:
    """Return the nearest centre of each row. Labels of protected rows are protected data."""
    check_is_fitted(self)
    return fitting.labels(self, X)


def transform(self: Any, X: Any) -> FloatArray:
    """Return each row's distances to the centres, in radii of the domain."""
    check_is_fitted(self)
    return fitting.distances(self, X)


def fit_predict(self: Any, X: Any, y: None = None) -> NDArray[np.int64]:
    """Fit, then label the same rows: for the holder of the data, not for release."""
    check_can_be_labelled(X)
    try:
        self.fit(X)
    except BaseException:
        del X  # so that no traceback shows rows
        raise
    return predict(self, X)


def fit_transform(self: Any, X: Any, y: None = None) -> FloatArray:
    """Fit, then return distances of the same rows: for the holder of the data, not for release."""
    check_can_be_labelled(X)
    try:
        self.fit(X)
    except BaseException:
        del X  # so that no traceback shows rows
        raise
    return transform(self, X)


def profile(
    self: Any,
    X: Any,
    columns: Sequence[str],
    *,
    bounds: Declarations,
    epsilon: float,
    delta: float | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
) -> Profile:
    """Measure what other columns are like in each cluster, at a price of its own.

    Numbers and dates get means and histograms, categories shares of their levels, all with 95 %
    intervals (docs/profiles.md). Each row counts in the cluster of its nearest centre.

    Parameters
    ----------
    X : table
        The rows that were fitted, with the clustered columns and those to profile, by name.
    columns : sequence of str
        The columns to profile.
    bounds : mapping or path
        What these columns may hold: a bounds file, or a mapping from a name to (lower, upper) or
        to what a bounds file says of a column. From knowledge of the field, not from the rows.
    epsilon : float
        Strength of the profile's own promise, which adds to that of the fit.
    delta : float, optional
        Probability with which it may fail; by default that of the fit.
    ledger, dataset : str, optional
        Which account pays; by default that of the fit.
    """
    check_is_fitted(self)
    table = profiling.open_profile(self, X, columns, bounds)
    del X
    return profiling.ask(self, table, epsilon, delta, ledger, dataset)


def n_features_out(self: Any) -> int:
    """Return the number of columns that `transform` gives."""
    return len(self.cluster_centers_)
