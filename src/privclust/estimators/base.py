"""The base class of all estimators: parameters, fit, labels, profiles, and what a fit released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from privclust._frames import clears_frames
from privclust.algorithms._cost import AlgorithmPlan
from privclust.domains.bounds import BoundedColumns, Declarations
from privclust.errors import ColumnWarning, FitWarning, warn_user
from privclust.estimators import _fit, _labels, _profile, _remote
from privclust.estimators._common_parameters import Parameters
from privclust.estimators._fit_task import Algorithm, Task
from privclust.estimators._input import MEASURED, OpenTable, check_can_be_labelled, open_table
from privclust.estimators._released_attribute import Released
from privclust.estimators._sklearn_names import Absent, refusing_weights
from privclust.kernels.grid import FloatArray
from privclust.models._column_notes import column_warnings
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.clustering import Clustering
from privclust.models.profile import Profile
from privclust.models.quality import Quality
from privclust.privacy.curator import Curator
from privclust.remote.table import RemoteTable
from privclust.sources.dialects import Files

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class PrivateClusterer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    Parameters,
):
    """Base class of private clustering algorithms; subclass it for one of your own.

    A subclass names its `algorithm`, a module with the functions `plan` and `run`, or gives methods
    of these names, and declares its own parameters as annotated attributes with defaults. Tables,
    bounds, units, ledger, statement, labels, profiles and files come with it. `center_stderr_`,
    `size_stderr_`, `cluster_radii_`, `coreset_` and `quality_` are there if `run` returns what they
    need. `quality_` is None if the fit measured it and noise hides it.

    Own parameters may be None, text, truth values, numbers, NumPy arrays of numbers, fitted models
    of privclust, and tuples or lists of these. Statements list the models and points in them.

    Attributes
    ----------
    model_ : ClusterModel
        Everything that the fit released; the attributes below show its parts. Print it for a table
        of the clusters, and how good they are in words.
    cluster_centers_ : array of shape (n_clusters, n_coordinates)
        Noisy centres in your own units, the largest cluster first.
    cluster_sizes_ : array of shape (n_clusters,)
        Noisy numbers of rows.
    n_rows_ : int
        The number you typed, or the noisy count.
    fit_warning_ : str or None
        Why the fit may be much worse than k-means, and what would help; None if it did not warn.
    participation_ : tuple of QueryParticipation
        With a federation: how many clients took part in each query; of a fit that was resumed,
        in each since then. A refit has those of its fit.
    releases_ : tuple of Release
        Everything that was learned from the rows.
    privacy_statement_ : Statement
        The guarantee in words (print it) and as JSON (``to_json()``).
    domain_ : Domain
        What you declared about the values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_, center_names_ : array
        Names of the table's columns, and of those of the centres, where there are any: a category
        has one for each level, such as "ward=A", in which a centre has the level's share.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateClusterer
    >>> from privclust.algorithms import pe_means  # or a file of yours
    >>> class MyKMeans(PrivateClusterer):
    ...     algorithm = pe_means
    >>> model = MyKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> model.privacy_statement_.subject
    'MyKMeans, 2 clusters, 2 columns'
    """

    cluster_centers_ = Released(lambda model: model.cluster_centers)
    cluster_sizes_ = Released(lambda model: model.cluster_sizes)
    center_stderr_ = Released(lambda model: model.center_stderr)
    size_stderr_ = Released(lambda model: model.size_stderr)
    cluster_radii_ = Released(lambda model: model.cluster_radii)
    coreset_ = Released(lambda model: model.coreset)
    quality_ = Released[Quality | None](lambda model: _quality(model), may_be_none=True)
    fit_warning_ = Released[str | None](lambda model: model.fit_warning, may_be_none=True)
    n_rows_ = Released(lambda model: model.n_rows)
    participation_ = Released(lambda model: model.participation)
    releases_ = Released(lambda model: model.releases)
    privacy_statement_ = Released(lambda model: model.privacy_statement)
    domain_ = Released(lambda model: model.domain)
    n_features_in_ = Released(lambda model: model.n_features_in)
    feature_names_in_ = Released(lambda model: _array(model.feature_names_in))
    center_names_ = Released(lambda model: _array(_coordinate_names(model)))
    labels_ = Absent(
        "labels are about single rows, and a model may be published. predict(rows) gives them to "
        "those who have the rows."
    )
    inertia_ = Absent(
        "it would be exact. quality_ has the noisy mean squared distance with its error, k_path() "
        "one for each number of clusters."
    )
    score = Absent(
        "it would be exact. quality_ has the noisy mean squared distance with its error."
    )
    n_iter_ = Absent(
        "how often rows are read is planned from the budget. releases_ lists all that was measured."
    )
    save = Absent(
        "privclust.save(model, path) writes what may be published, privclust.load reads it."
    )

    k_path = Absent(
        "it follows from the coreset that PrivateKMeans releases. Fit that to compare numbers of "
        "clusters; forecast() says beforehand what each of them needs."
    )

    algorithm: ClassVar[Algorithm]

    def plan(self, task: Task) -> AlgorithmPlan:
        """Return what the algorithm will spend on which query, from public values alone.

        `task` has the number of clusters and of columns, the budget, and whatever else is public.
        The plan has what `run` needs, and as its attribute `spending` the slots, which
        ``make_plan(task.budget, slots)`` makes; other budgets are refused.
        """
        return self.algorithm.plan(task.n_clusters, task.n_columns, task.budget, task.n_rows)

    def run(self, curator: Curator, plan: Any, rng: np.random.Generator) -> Clustering:
        """Return centres in the unit ball, and their sizes, from what `curator` releases.

        `plan` is what the method of that name returned; `rng` makes public choices.
        """
        return self.algorithm.run(curator, plan, rng)

    @clears_frames
    @refusing_weights
    def fit(self, X: Any, y: None = None, *, resume: str | None = None) -> Self:
        """Find noisy centres of the rows of `X`.

        `X` is an array, a list of rows, a pandas, Polars or Arrow table, or something larger than
        memory: paths of Parquet or CSV files, a Polars LazyFrame, a DuckDB relation, a DataFrame of
        Spark (docs/scale.md), a `Federation` whose rows stay with its clients (docs/federated.md),
        or a `RemoteTable` that its owner's node fits (docs/node.md). If bounds name columns, these
        are clustered, wherever they stand in the table; otherwise all are.

        Missing values count as the middle of their column, or as the value declared for them, and
        values out of bounds as the bound. `resume` is a run of the ledger, to go on with a fit that
        was interrupted (docs/ledger.md), or a fit at a node, to wait for it.
        Terminals and notebooks show a bar of queries meanwhile; ``PRIVCLUST_PROGRESS=off`` in the
        environment turns it off.
        """
        advice: str | None
        if isinstance(X, RemoteTable):
            model = _remote.fit_remotely(self, X, resume)
            advice = model.fit_warning
        else:
            fit = _fit.prepare(self, self._open(X), self.plan, self.run, resume)
            model, advice = fit.carry_out()
        self.model_ = replace(model, decimal=X.decimal) if isinstance(X, Files) else model
        # What was paid for is kept, also if warnings are errors.
        _fit.warn_of_large_delta(self.model_)
        _fit.warn_of_large_epsilon(self.model_)
        if advice is not None:
            warn_user(advice, FitWarning)
        for note in column_warnings(self.model_):
            warn_user(note, ColumnWarning)
        return self

    @clears_frames
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of each row of `X`. Labels of protected rows are protected.

        Columns are found by the names that the fit saw, where both tables have names.
        """
        check_is_fitted(self)
        return _labels.labels(self, X)

    @clears_frames
    def transform(self, X: Any) -> FloatArray:
        """Return distances of each row of `X` to the centres, in radii of the domain."""
        check_is_fitted(self)
        return _labels.distances(self, X)

    @clears_frames
    @refusing_weights
    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Fit `X`, then label the same rows: for the holder of the data, not for release."""
        check_can_be_labelled(X)
        return self.fit(X).predict(X)

    @clears_frames
    @refusing_weights
    def fit_transform(self, X: Any, y: None = None) -> FloatArray:
        """Fit `X`, then return distances of its rows: for the holder of the data."""
        check_can_be_labelled(X)
        return self.fit(X).transform(X)

    @clears_frames
    def profile(
        self,
        X: Any,
        columns: Sequence[str],
        *,
        epsilon: float,
        bounds: Declarations | None = None,
        delta: float | None = None,
        ledger: str | None = None,
        dataset: str | None = None,
        period: str | None = None,
        resume: str | None = None,
    ) -> Profile:
        """Measure what other columns are like in each cluster, at a price of its own.

        Numbers and dates get means and histograms, categories shares of their levels, all with
        95 % intervals (docs/profiles.md). Each row counts in the cluster of its nearest centre.

        Parameters
        ----------
        X : table
            The rows that were fitted, with the clustered columns and those to profile, by name.
        columns : sequence of str
            The columns to profile.
        bounds : mapping or path
            What these columns may hold: a bounds file, or a mapping from a name to (lower, upper)
            or to what a bounds file says of a column. From knowledge of the field, not from the
            rows. Of a `RemoteTable` its owner declared them, and none are given.
        epsilon : float
            Strength of the profile's own guarantee; the statement has that of profile and fit
            together.
        delta : float, optional
            The remainder that it allows beside epsilon; by default that of the fit.
        ledger, dataset : str, optional
            Which account pays; that of the fit, whose place a model file does not say.
        period : str, optional
            Which period pays, if the account has any; by default that of the fit.
        resume : str, optional
            A run of the ledger, to go on with a profile that was interrupted.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, tempfile
        >>> from privclust import PrivateKMeans, load_profile, save_profile
        >>> people = pa.table({"age": np.full(1000, 40.0), "income": np.full(1000, 3e4)})
        >>> model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)})
        >>> model = model.fit(people.select(["age"]))
        >>> profile = model.profile(people, ["income"], bounds={"income": (0, 1e5)}, epsilon=1.0)
        >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ...     save_profile(profile, file.name)
        ...     bool(load_profile(file.name).sizes.values[0] == profile.sizes.values[0])
        True
        """
        check_is_fitted(self)
        request = _profile.ProfileRequest(epsilon, delta, ledger, dataset, period, resume)
        if isinstance(X, RemoteTable):
            return _remote.profile_remotely(self.model_, X, columns, bounds, request)
        table = _profile.open_profile(self, self.model_, X, columns, bounds)
        return _profile.prepare_profile(self, self.model_, table, request).carry_out()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw where clusters lie: a map of two columns, or the centres of more as a heat map.

        Columns called latitude and longitude are drawn as a map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        return self.model_.plot(ax)

    def to_frame(self) -> pd.DataFrame:
        """Return clusters as a pandas DataFrame: sizes and centres with their standard errors."""
        check_is_fitted(self)
        return self.model_.to_frame()

    @classmethod
    def from_model(cls, model: ClusterModel | FittedEstimator) -> Self:
        """Return a fitted estimator that holds `model`, with the parameters that it names.

        Its `bounds` are those of the fit, with their origin, so that it can be fitted again; None
        if the fit measured how much columns count (``scale="private"``).
        """
        model = model_of(model)
        scale, origin = model.parameters.get("scale"), model.privacy_statement.bounds_origin
        declared = model.domain.parameters(scale, model.feature_names_in)
        if scale == MEASURED:
            declared = {}
        elif isinstance(declared.get("bounds"), dict):
            declared["bounds"] = BoundedColumns(declared["bounds"], origin)
        estimator = cls(**{**model.parameters, **declared})
        estimator.model_ = model
        return estimator

    def _open(self, X: Any) -> OpenTable:
        """Put a table behind an engine."""
        return open_table(self, X)

    @property
    def _n_features_out(self) -> int:
        """The number of columns that `transform` gives."""
        return len(self.cluster_centers_)

    def _html_repr(self) -> str:
        """Return what a notebook shows: the model, once there is one, instead of the parameters."""
        if hasattr(self, "model_"):
            return self.model_._repr_html_()
        html: str = super()._html_repr()
        return html

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags


def _quality(model: ClusterModel) -> Quality | None:
    """Return how good a fit is, None if noise hides it, or say why it was not measured."""
    if model.quality is not None or model.measured_quality:
        return model.quality
    cause = f"{model.estimator} does not measure it. Fit PrivateKMeans, which does."
    if model.privacy_statement.kind == "refit":
        cause = "a refit reads no row. Look at that of the fit, or at k_path()."
    raise AttributeError(f"this model has no quality_: {cause}")


def _array(names: Sequence[str] | None) -> NDArray[np.object_] | None:
    return None if names is None else np.array(names, dtype=object)


def _coordinate_names(model: ClusterModel) -> Sequence[str] | None:
    return None if model.feature_names_in is None else model.coordinate_names
