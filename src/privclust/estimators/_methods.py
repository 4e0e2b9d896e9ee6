"""What all estimators do alike: functions that their classes name as methods of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privclust.domains.bounds import Declarations
from privclust.estimators import _fit, _profile
from privclust.estimators._input import check_can_be_labelled
from privclust.estimators._profile import Profile
from privclust.kernels.grid import FloatArray
from privclust.sources.guard import clears_frames


@clears_frames
def predict(self: Any, X: Any) -> NDArray[np.int64]:
    """Return the nearest centre of each row of `X`. Labels of protected rows are protected data."""
    check_is_fitted(self)
    return _fit.labels(self, X)


@clears_frames
def transform(self: Any, X: Any) -> FloatArray:
    """Return distances of each row of `X` to the centres, in radii of the domain."""
    check_is_fitted(self)
    return _fit.distances(self, X)


@clears_frames
def fit_predict(self: Any, X: Any, y: None = None) -> NDArray[np.int64]:
    """Fit `X`, then label the same rows: for the holder of the data, not for release."""
    check_can_be_labelled(X)
    self.fit(X)
    return predict(self, X)


@clears_frames
def fit_transform(self: Any, X: Any, y: None = None) -> FloatArray:
    """Fit `X`, then return distances of its rows: for the holder of the data, not for release."""
    check_can_be_labelled(X)
    self.fit(X)
    return transform(self, X)


@clears_frames
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
    period: str | None = None,
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
        Strength of the profile's own guarantee; the statement has that of profile and fit together.
    delta : float, optional
        The remainder that it allows beside epsilon; by default that of the fit.
    ledger, dataset : str, optional
        Which account pays; that of the fit, whose place a model file does not say.
    period : str, optional
        Which period pays, if the account has any; by default that of the fit.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, tempfile
    >>> from privclust import PrivateKMeans, load_profile, save_profile
    >>> people = pa.table({"age": np.full(1000, 40.0), "income": np.full(1000, 3e4)})
    >>> model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)}).fit(people.select(["age"]))
    >>> profile = model.profile(people, ["income"], bounds={"income": (0, 1e5)}, epsilon=1.0)
    >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
    ...     save_profile(profile, file.name)
    ...     bool(load_profile(file.name).sizes.values[0] == profile.sizes.values[0])
    True
    """
    check_is_fitted(self)
    table = _profile.open_profile(self, X, columns, bounds)
    return _profile.ask(self, table, epsilon, delta, ledger, dataset, period)


def n_features_out(self: Any) -> int:
    """Return the number of columns that `transform` gives."""
    return len(self.cluster_centers_)
