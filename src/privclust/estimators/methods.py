"""What all estimators do alike: functions that their classes name as methods of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privclust import fitting
from privclust.geometry.grid import FloatArray


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
    try:
        self.fit(X)
    except BaseException:
        del X  # so that no traceback shows rows
        raise
    return predict(self, X)


def n_features_out(self: Any) -> int:
    """Return the number of columns that `transform` gives."""
    return len(self.cluster_centers_)
