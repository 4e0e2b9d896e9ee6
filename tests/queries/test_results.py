"""What results mean: votes, sums and bins against plain arithmetic; digests; refused queries."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import GRID, UNIT, FloatArray, to_grid
from privclust.kernels.projection import Projection, gaussian_projection
from privclust.privacy.fingerprint import digest
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.shells import ShellMoments


def points(n_points: int, n_columns: int, seed: int, size: float = 1.0) -> FloatArray:
    rng = np.random.default_rng(seed)
    drawn: FloatArray = size * rng.normal(size=(n_points, n_columns)) / np.sqrt(n_columns)
    return drawn


def result(query: Query, rows: FloatArray) -> FloatArray:
    """The exact result in votes."""
    engine = NumpyEngine(rows, Ball(np.zeros(rows.shape[1]), 1.0), threads=1)
    return np.array(engine.aggregate(query)) / UNIT


def exact_nearest(rows: FloatArray, candidates: FloatArray) -> list[int]:
    """Index of the nearest candidate in integers of any size; the first of equals."""
    whole = candidates.astype(np.int64).astype(object)
    squares = [((whole - row) ** 2).sum(axis=1).tolist() for row in rows.astype(int).astype(object)]
    return [row.index(min(row)) for row in squares]


def test_count_is_the_number_of_rows() -> None:
    for n_rows in (0, 1, 10_000):
        assert result(Count(), np.zeros((n_rows, 2))).tolist() == [n_rows]


@pytest.mark.parametrize("projection", [None, gaussian_projection(5, 3, np.random.default_rng(1))])
def test_votes_equal_brute_force(projection: Projection | None) -> None:
    rows = points(500, 5, seed=1, size=0.6)
    candidates = points(40, 5 if projection is None else 3, seed=2)
    placed = to_grid(rows) if projection is None else projection(to_grid(rows))
    expected = np.bincount(exact_nearest(placed, to_grid(candidates)), minlength=40)
    assert result(NearestVotes(candidates, projection), rows).tolist() == expected.tolist()


@pytest.mark.parametrize("radius", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("weight", [0.25, 0.37, 4.0])
@pytest.mark.parametrize("from_centers", [True, False])
@pytest.mark.parametrize("projection", [None, gaussian_projection(4, 2, np.random.default_rng(2))])
def test_sums_are_clipped_residuals_and_counts(
    radius: float, weight: float, from_centers: bool, projection: Projection | None
) -> None:
    rows = points(400, 4, seed=3, size=0.6)
    centers = points(6, 4 if projection is None else 2, seed=4)
    origins = points(6, 4, seed=5) if from_centers else np.zeros((6, 4))
    query = ClusterSums(centers, origins, radius, weight, projection)

    grid_rows = to_grid(rows)
    placed = grid_rows if projection is None else projection(grid_rows)
    cluster = np.array(exact_nearest(placed, to_grid(centers)))
    residuals = (grid_rows - to_grid(origins)[cluster]) / GRID
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    clipped = residuals * np.minimum(1, radius / lengths)
    expected = np.array([clipped[cluster == index].sum(axis=0) for index in range(6)])
    sizes = np.bincount(cluster, minlength=6)

    sums, counts = query.split(result(query, rows))
    assert counts == pytest.approx(sizes, rel=1e-12)
    # A row loses less than one unit per coordinate to truncation, and 2^-40 to the margin.
    assert (np.abs(sums - expected) <= sizes[:, None] * radius * (1 / UNIT + 2.0**-39)).all()


def test_count_is_exact_when_its_weight_is_not_an_integer_of_units() -> None:
    query = ClusterSums(np.zeros((1, 1)), np.zeros((1, 1)), radius=1.0, weight=1 / 3)
    assert query.split(result(query, np.zeros((1000, 1))))[1] == pytest.approx([1000], rel=1e-14)


@pytest.mark.parametrize(("weight", "square_weight"), [(0.6, 0.4), (1 / 3, 4.0)])
@pytest.mark.parametrize("projection", [None, gaussian_projection(4, 2, np.random.default_rng(2))])
def test_moments_are_clipped_residuals_counts_and_squared_lengths(
    weight: float, square_weight: float, projection: Projection | None
) -> None:
    rows = points(400, 4, seed=3, size=0.6)
    centers = points(6, 4 if projection is None else 2, seed=4)
    radii = np.array([0.01, 0.1, 0.2, 0.5, 1.0, 2.0])
    query = ClusterMoments(centers, radii, weight, square_weight, projection)

    grid_rows = to_grid(rows)
    placed = grid_rows if projection is None else projection(grid_rows)
    cluster = np.array(exact_nearest(placed, to_grid(centers)))
    residuals = (placed - to_grid(centers)[cluster]) / GRID
    lengths = np.linalg.norm(residuals, axis=1)
    clipped = residuals * np.minimum(1, radii[cluster] / lengths)[:, None]
    squares = np.minimum(lengths, radii[cluster]) ** 2
    sizes = np.bincount(cluster, minlength=6)
    assert (lengths < radii[cluster]).any()
    assert (lengths > radii[cluster]).any()

    found = query.split(result(query, rows))
    assert found.sums.shape == centers.shape
    assert found.counts == pytest.approx(sizes, rel=1e-12)
    # A row loses less than one unit per coordinate to truncation, and 2^-40 to the margin.
    lost = sizes * radii * (1 / UNIT + 2.0**-39)
    for index in range(6):
        sums = clipped[cluster == index].sum(axis=0)
        assert (np.abs(found.sums[index] - sums) <= lost[index]).all()
    expected = np.bincount(cluster, squares, 6)
    assert (np.abs(found.squares - expected) <= 2 * lost * radii / square_weight).all()


@pytest.mark.parametrize("projection", [None, gaussian_projection(5, 3, np.random.default_rng(4))])
@pytest.mark.parametrize("radii", [None, np.array([0.01, 0.3, 0.5, 1.0, 2.0])])
def test_bins_are_counted_by_exact_distance(
    projection: Projection | None, radii: FloatArray | None
) -> None:
    rows, centers = points(500, 5, seed=6, size=0.6), points(5, 3 if projection else 5, seed=7)
    edges = np.array([0.1, 0.25, 0.3, 0.7, 1.1])
    grid_rows, grid_centers = to_grid(rows), to_grid(centers)
    grid_rows = grid_rows if projection is None else projection(grid_rows)
    cluster = exact_nearest(grid_rows, grid_centers)
    gaps = grid_rows - grid_centers[cluster]
    squares = (gaps.astype(np.int64).astype(object) ** 2).sum(axis=1)
    scales = np.ones(5) if radii is None else radii
    thresholds = np.ceil((edges * scales[:, None] * GRID) ** 2).astype(np.int64).tolist()
    bins = [
        sum(square >= threshold for threshold in thresholds[own])
        for square, own in zip(squares, cluster, strict=True)
    ]
    expected = np.bincount(bins, minlength=6)
    found = result(DistanceHistogram(centers, edges, radii, projection), rows)
    assert found.tolist() == expected.tolist()


def test_a_distance_equal_to_an_edge_belongs_to_the_bin_above() -> None:
    query = DistanceHistogram(np.zeros((1, 2)), np.array([0.25, 0.5]))
    one_unit = 1 / GRID
    rows = to_grid(np.array([[0.25, 0.0], [0.25 - one_unit, 0.0], [0.0, -0.5], [0.3, 0.4]]))
    assert query.contribute(rows).blocks.ravel().tolist() == [1, 0, 2, 1]


def test_a_query_keeps_its_own_frozen_points() -> None:
    candidates = points(3, 2, seed=8)
    query = NearestVotes(candidates)
    before = query.candidates.copy()
    candidates[:] = 0.0
    assert np.array_equal(query.candidates, before)
    with pytest.raises(ValueError, match="read-only"):
        query.candidates[0, 0] = 1.0


# Well inside the ball, so that the same numbers in another shape stay the same bytes.
ONE, OTHER = points(4, 6, seed=9, size=0.2), points(4, 6, seed=10, size=0.2)
EDGES = np.array([0.1, 0.2])
RADII = np.array([0.1, 0.2, 0.3, 0.4])
WIDE = points(4, 9, seed=11)
GAUSSIAN = gaussian_projection(9, 6, np.random.default_rng(3))


def different_queries() -> list[Query]:
    """Neighbours in this list differ in one field, or in kind."""
    less_gain = Projection(GAUSSIAN.directions, GAUSSIAN.gain / 2)
    turned = Projection(GAUSSIAN.directions[::-1], GAUSSIAN.gain)
    moved = ONE.copy()
    moved[3, 5] += 2 / GRID
    return [
        Count(),
        NearestVotes(ONE),
        NearestVotes(OTHER),
        NearestVotes(moved),
        NearestVotes(ONE[:3]),
        NearestVotes(ONE.reshape(6, 4)),
        NearestVotes(ONE, GAUSSIAN),
        NearestVotes(ONE, less_gain),
        NearestVotes(ONE, turned),
        ClusterSums(ONE, ONE, 0.5, 1.0),
        ClusterSums(ONE, OTHER, 0.5, 1.0),
        ClusterSums(OTHER, ONE, 0.5, 1.0),
        ClusterSums(ONE, ONE, 0.5000001, 1.0),
        ClusterSums(ONE, ONE, 0.5, 1.0000001),
        ClusterSums(ONE, ONE, 1.0, 0.5),
        ClusterSums(ONE, WIDE, 0.5, 1.0, GAUSSIAN),
        ClusterSums(ONE, WIDE, 0.5, 1.0, turned),
        DistanceHistogram(ONE, EDGES),
        DistanceHistogram(ONE, EDGES + 1e-9),
        DistanceHistogram(ONE, EDGES[:1]),
        DistanceHistogram(OTHER, EDGES),
        DistanceHistogram(ONE, EDGES, projection=GAUSSIAN),
        DistanceHistogram(ONE, EDGES, projection=less_gain),
        DistanceHistogram(ONE, EDGES, RADII),
        DistanceHistogram(ONE, EDGES, RADII[::-1]),
        DistanceHistogram(ONE, RADII[1:3], RADII),
        ClusterMoments(ONE, RADII, 1.0, 0.5),
        ClusterMoments(OTHER, RADII, 1.0, 0.5),
        ClusterMoments(ONE, RADII[::-1], 1.0, 0.5),
        ClusterMoments(ONE, RADII, 1.0000001, 0.5),
        ClusterMoments(ONE, RADII, 0.5, 1.0),
        ClusterMoments(ONE, RADII, 1.0, 0.5, GAUSSIAN),
        ClusterMoments(ONE, RADII, 1.0, 0.5, turned),
        ShellMoments(ONE, RADII, 1.0, 0.5, 1),
        ShellMoments(ONE, RADII, 1.0, 0.5, 2),
        ShellMoments(ONE, RADII[::-1], 1.0, 0.5, 2),
        ShellMoments(ONE, RADII, 0.5, 1.0, 2),
        ShellMoments(OTHER, RADII, 0.5, 1.0, 2),
        ShellMoments(ONE, RADII, 1.0, 0.5, 2, GAUSSIAN),
        ShellMoments(ONE, RADII, 1.0, 0.5, 2, turned),
    ]


def test_equal_queries_have_equal_digests() -> None:
    for first, again in zip(different_queries(), different_queries(), strict=True):
        assert digest(first) == digest(again)
    assert digest(NearestVotes(np.asfortranarray(ONE))) == digest(NearestVotes(ONE))


def test_queries_that_differ_anywhere_have_different_digests() -> None:
    digests = [digest(query) for query in different_queries()]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_points_that_are_not_finite_are_refused(bad: float) -> None:
    spoilt = ONE.copy()
    spoilt[1, 1] = bad
    for build in (
        lambda: NearestVotes(spoilt),
        lambda: ClusterSums(spoilt, ONE, 1.0, 1.0),
        lambda: ClusterSums(ONE, spoilt, 1.0, 1.0),
        lambda: ClusterMoments(spoilt, RADII, 1.0, 1.0),
        lambda: DistanceHistogram(spoilt, EDGES),
        lambda: ShellMoments(spoilt, RADII, 1.0, 1.0, 1),
    ):
        with pytest.raises(ValueError, match="finite point of the unit ball"):
            build()


@pytest.mark.parametrize(
    ("radius", "weight"),
    [(0.0, 1.0), (-1.0, 1.0), (2.1, 1.0), (np.nan, 1.0), (1.0, 0.0), (1.0, 16.1), (1.0, np.nan)],
)
def test_a_bad_radius_or_weight_is_refused_with_what_is_allowed(
    radius: float, weight: float
) -> None:
    with pytest.raises(ValueError, match=r"radius must lie between .*, weight between .*; got"):
        ClusterSums(ONE, ONE, radius, weight)


@pytest.mark.parametrize(
    ("radii", "weight", "square_weight"),
    [
        ([0.1, 0.2, 0.3, 0.0], 1.0, 1.0),
        ([0.1, 0.2, 0.3, -0.4], 1.0, 1.0),
        ([0.1, 0.2, 0.3, 2.1], 1.0, 1.0),
        ([0.1, 0.2, 0.3, np.nan], 1.0, 1.0),
        ([0.1, 0.2, 0.3], 1.0, 1.0),
        ([[0.1], [0.2], [0.3], [0.4]], 1.0, 1.0),
        (0.1, 1.0, 1.0),
        (RADII, 0.0, 1.0),
        (RADII, np.nan, 1.0),
        (RADII, 1.0, 16.1),
        (RADII, 1.0, -1.0),
    ],
)
def test_bad_radii_weight_or_square_weight_are_refused_with_what_is_allowed(
    radii: FloatArray, weight: float, square_weight: float
) -> None:
    usable = 2**-10 <= weight <= 16 and 2**-10 <= square_weight <= 16
    allowed = "must lie between 2\\^-10 and 16; got weight=.*, square_weight="
    if usable:
        allowed = "a radius between 2\\^-20 and 2"
    with pytest.raises(ValueError, match=allowed):
        ClusterMoments(ONE, radii, weight, square_weight)


def test_moments_keep_their_own_frozen_radii() -> None:
    radii = RADII.copy()
    query = ClusterMoments(ONE, radii, 1.0, 1.0)
    radii[:] = 1.0
    assert query.radii.tolist() == RADII.tolist()
    with pytest.raises(ValueError, match="read-only"):
        query.radii[0] = 1.0


@pytest.mark.attack
@pytest.mark.parametrize(
    "edges", [[0.9, 0.1, 0.5], [0.1, 0.1], [0.1, np.inf], [-0.5, 0.1], [0.1, np.nan], [[0.1]]]
)
def test_edges_that_do_not_increase_are_refused(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="increasing distances from 0 up"):
        DistanceHistogram(np.zeros((1, 1)), np.array(edges))


@pytest.mark.parametrize(
    "radii",
    [[0.1], [0.1, 0.2, 0.3], [[0.1, 0.2]], 0.1, [0.1, 0.0], [0.1, 2.1], [0.1, np.nan], [-0.1, 0.1]],
    ids=str,
)
def test_distances_in_bad_radii_are_refused_with_what_is_allowed(radii: list[float]) -> None:
    with pytest.raises(ValueError, match=r"each centre needs a radius between 2\^-20 and 2"):
        DistanceHistogram(np.zeros((2, 1)), EDGES, np.array(radii))


def test_distances_keep_their_own_frozen_radii() -> None:
    radii = RADII.copy()
    query = DistanceHistogram(ONE, EDGES, radii)
    radii[:] = 1.0
    assert query.radii is not None
    assert query.radii.tolist() == RADII.tolist()
    with pytest.raises(ValueError, match="read-only"):
        query.radii[0] = 1.0


def test_each_centre_needs_its_origin() -> None:
    with pytest.raises(ValueError, match="2 centres and 1 origins"):
        ClusterSums(np.array([[0.5], [-0.5]]), np.zeros((1, 1)), 1.0, 1.0)


@pytest.mark.parametrize("candidates", [np.array([0.1, 0.2]), np.empty((0, 2))])
def test_candidates_are_a_table_with_rows(candidates: FloatArray) -> None:
    with pytest.raises(ValueError, match="at least one finite point"):
        NearestVotes(candidates)


def test_a_digest_does_not_depend_on_the_kind_of_number() -> None:
    zeros = np.zeros((1, 1))
    assert digest(ClusterSums(zeros, zeros, 1.0, 1.0)) == digest(
        ClusterSums(zeros, zeros, np.float64(1.0), np.float64(1.0))
    )
