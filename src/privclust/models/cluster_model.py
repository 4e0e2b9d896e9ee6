"""The model: what a fit releases, and what files, reports, comparisons and exports take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Protocol

from privclust.domains.base import Domain
from privclust.errors import ParameterError, safe_repr
from privclust.kernels.grid import FloatArray
from privclust.models._absent_levels import absent_levels
from privclust.models._column_notes import alike, at_bounds, column_warnings, equal_shares
from privclust.models._fit_notes import differ_most, explained, not_read, on_logarithms
from privclust.models._notebook import model_html, model_text
from privclust.models._plotting import plots
from privclust.models.clustering import Coreset
from privclust.models.quality import HIDDEN, MEASURED_AS, Quality
from privclust.models.statement import Statement
from privclust.privacy.release import Release
from privclust.queries.participation import QueryParticipation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class FittedClusters:
    """Clusters as the fit released them, in the user's units.

    Attributes
    ----------
    centers, sizes, center_stderr, size_stderr, radii : array
        As the fields of `ClusterModel`.
    quality : Quality, optional
        Of these clusters.
    """

    centers: FloatArray
    sizes: FloatArray
    center_stderr: FloatArray | None = None
    size_stderr: FloatArray | None = None
    radii: FloatArray | None = None
    quality: Quality | None = None


@dataclass(frozen=True, eq=False)
class ClusterModel:
    """Everything that a fit released, and what is public about its table.

    An estimator holds one as ``model_`` and shows its fields with a trailing underscore.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.
    parameters : mapping
        What the estimator was given, without paths, tables and other models.
    domain : Domain
        Where values lie, as the user declared it.
    n_features_in : int
        Number of columns of the table.
    feature_names_in : tuple of str or None
        Names of the columns, where the table has any.
    n_rows : int
        The number of rows that was typed, or the noisy count.
    cluster_centers : array of shape (n_clusters, n_coordinates)
        Noisy centres in the user's units, the largest cluster first.
    cluster_sizes : array of shape (n_clusters,)
        Noisy numbers of rows.
    releases : tuple of Release
        Everything that was learned from the rows.
    privacy_statement : Statement
        The privacy guarantee.
    center_stderr : array of shape (n_clusters, n_coordinates), optional
        Standard errors of the centres, by the noise alone.
    size_stderr : array of shape (n_clusters,), optional
        Standard errors of the sizes.
    cluster_radii : array of shape (n_clusters,), optional
        Root mean square distances of rows to their centre, in radii of the domain.
    coreset : Coreset, optional
        Weighted points, in the user's units, that stand for all rows.
    quality : Quality, optional
        Mean squared distance of rows to their centre, as far as noise shows it.
    fit_warning : str, optional
        Why the fit may be much worse than k-means, and what would help; None if it did not warn. A
        refit has the warning of its fit.
    refit_from : FittedClusters, optional
        Of a refit: the clusters of the fit itself, from which further refits follow.
    participation : tuple of QueryParticipation, optional
        With a federation, how many clients took part in each query of the fit.
    decimal : str, default="."
        What marks decimals in the CSV files of the fit, so that commands read others alike.
    """

    estimator: str
    parameters: Mapping[str, object]
    domain: Domain
    n_features_in: int
    feature_names_in: tuple[str, ...] | None
    n_rows: int
    cluster_centers: FloatArray
    cluster_sizes: FloatArray
    releases: tuple[Release, ...]
    privacy_statement: Statement
    center_stderr: FloatArray | None = None
    size_stderr: FloatArray | None = None
    cluster_radii: FloatArray | None = None
    coreset: Coreset | None = None
    refit_from: FittedClusters | None = None
    participation: tuple[QueryParticipation, ...] | None = None
    quality: Quality | None = None
    fit_warning: str | None = None
    decimal: str = "."

    @property
    def fitted(self) -> FittedClusters:
        """The clusters of the fit itself, whether this is a refit or not."""
        if self.refit_from is not None:
            return self.refit_from
        return FittedClusters(
            self.cluster_centers,
            self.cluster_sizes,
            self.center_stderr,
            self.size_stderr,
            self.cluster_radii,
            self.quality,
        )

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """What the coordinates of a centre are called; each level of a category has one."""
        return self.domain.coordinate_names(self.feature_names_in)

    def __str__(self) -> str:
        return model_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return model_html(self)

    def plot(self, ax: Axes | None = None, columns: tuple[str, str] | None = None) -> Axes:
        """Draw where clusters lie: a map of two columns, or the centres of more as a heat map.

        Columns called latitude and longitude are drawn as a map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.
        columns : pair of str, optional
            Two of `coordinate_names` to draw a map of, the first one across.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = plots().plot_model(self, ax, columns)
        return drawn

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a line for each cluster.

        It has the size, ``cluster_size``, and each coordinate of the centre by its name, in the
        user's units: shares of levels, and days as dates. Each is followed by its standard error,
        such as ``age_stderr``, where the model knows it; those of dates are in days.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from privclust import PrivateKMeans
        >>> people = pd.DataFrame({"age": np.repeat([30.0, 70.0], 4000)})
        >>> model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)}).fit(people)
        >>> list(model.to_frame())
        ['cluster_size', 'cluster_size_stderr', 'age', 'age_stderr']
        """
        from privclust.models._cluster_frame import cluster_frame  # pandas takes a second

        return cluster_frame(self)

    @property
    def measured_quality(self) -> bool:
        """Whether the loss of these clusters was measured; noise may still hide it."""
        measured = any(release.slot == MEASURED_AS for release in self.releases)
        return measured and self.privacy_statement.kind == "fit"

    @property
    def quality_sentences(self) -> list[str]:
        """How good the fit is, in words, and what it tells of single columns."""
        measured = [HIDDEN] if self.measured_quality else []
        if self.quality is not None:
            measured = self.quality.sentences(self.domain.common_scale)
        share = explained(self)
        most = None if share is None else differ_most(self)
        columns = on_logarithms(self), not_read(self), alike(self)
        levels = equal_shares(self), absent_levels(self)
        found = share, most, *measured, *columns, at_bounds(self), *levels
        notes = [*(note for note in found if note is not None), *column_warnings(self)]
        return [note for note in notes if note not in (self.fit_warning or "")]


class FittedEstimator(Protocol):
    """Anything that holds a model."""

    @property
    def model_(self) -> ClusterModel:
        """What its fit released."""


def model_of(fitted: ClusterModel | FittedEstimator) -> ClusterModel:
    """Return the model of a fitted estimator, or the model itself."""
    if isinstance(fitted, str | PathLike):
        raise ParameterError(
            f"a fitted model is expected, got the name of a file, {safe_repr(fspath(fitted))}. "
            "Load it first: privclust.load(...)."
        )
    found = getattr(fitted, "model_", fitted)
    if not isinstance(found, ClusterModel):
        raise ParameterError(
            f"a fitted model is expected, got a {type(fitted).__name__}. Fit an estimator first; "
            "of two profiles of one model compare the intervals of their columns."
        )
    return found
