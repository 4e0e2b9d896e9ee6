"""Released results as notebooks show them: what they print, in tables and small pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privclust.models._html import Html, bar, block, curve, details, sentence, table
from privclust.models.formatting import aligned, percent_up, rounded_down, rounded_up, with_error

if TYPE_CHECKING:
    from privclust.models._cluster_table import ClusterTable
    from privclust.models.cluster_model import ClusterModel
    from privclust.models.compare import Comparison
    from privclust.models.composition import Composition
    from privclust.models.hierarchy import Hierarchy
    from privclust.models.k_path import KPath
    from privclust.models.profile import ColumnProfile, Profile
    from privclust.models.statement import Statement
    from privclust.models.track import Series

OF_ERRORS = (
    "± is one standard error, of noise alone: the mean of all rows nearest to a centre may differ "
    "from it by more, because centres are means within the borders of the step before, and rows "
    "far from a centre count as nearer ones."
)
OF_HIDDEN = (
    "Clusters below three standard errors of their size are not reported; what the fit warned of "
    "may have another limit."
)
OF_REFIT = (
    "These clusters follow from the coreset, as does the loss that k_path estimates for them, and "
    "most errors are larger than those of a fit with as many clusters would be."
)
SHOWN_LEVELS = 12
"""Levels of a profiled category that a notebook shows."""


def model_title(model: ClusterModel) -> str:
    """Say what a model is: how many clusters of how many columns, of which data set."""
    k, d = len(model.cluster_centers), model.n_features_in
    name = model.privacy_statement.dataset
    dataset = "" if name is None else f" of data set {name!r}"
    rows = "row" if model.n_rows == 1 else "rows"
    return (
        f"{k} cluster{'s' if k > 1 else ''}{dataset} by {model.estimator}: {d} "
        f"column{'s' if d > 1 else ''}, about {model.n_rows:,} {rows}"
    )


def guarantee(statement: Statement) -> str:
    """Return the guarantee in one line."""
    if not statement.private:
        return "NOT PRIVATE: nothing here protects anybody."
    others = len(statement.composed.runs) - 1
    together = (
        f" That is this run, epsilon = {rounded_up(statement.run.epsilon)}, together with "
        f"{others} that it follows from."
        if others
        else ""
    )
    return (
        f"epsilon = {rounded_up(statement.epsilon)}, delta = {rounded_up(statement.delta)}, for "
        f"adding or removing any one {statement.run.unit.quoted}.{together}"
    )


def model_text(model: ClusterModel) -> str:
    """Return centres and sizes with their errors, and the guarantee, as lines of text."""
    clusters = _clusters(model)
    rows = [[str(number), size, *cells] for number, (size, cells) in enumerate(clusters.rows())]
    return "\n".join(
        [
            model_title(model),
            aligned([["cluster", "size", *clusters.names], *rows]),
            *_notes(model, clusters),
            f"Privacy guarantee: {guarantee(model.privacy_statement)}",
        ]
    )


def _clusters(model: ClusterModel) -> ClusterTable:
    # The table is made of models, whose module imports this one.
    from privclust.models._cluster_table import SHOWN_COLUMNS, ClusterTable

    return ClusterTable.of(model, SHOWN_COLUMNS)


def _notes(model: ClusterModel, clusters: ClusterTable) -> list[str]:
    """Say how good the fit is, and what its table does not show."""
    # These are of models, whose module imports this one.
    from privclust.models._border_note import border_note
    from privclust.models._fit_notes import columns_of
    from privclust.models._missing_cells import missing_note
    from privclust.models.verdict import verdict

    bounded, columns, warning = columns_of(model), clusters.left_out, model.fit_warning
    return [
        *filter(None, [model.privacy_statement.counted_as]),
        *([f"Columns that differ less and are not shown: {columns:,}."] if columns else []),
        *([warning] if warning else []),
        *([OF_HIDDEN] if warning and clusters.hidden.any() else []),
        verdict(model),
        *([OF_REFIT] if model.refit_from else [OF_ERRORS] if _has_errors(model) else []),
        *filter(None, [border_note(model)]),
        *model.quality_sentences,
        *([missing_note(bounded)] if bounded else []),
    ]


def _has_errors(model: ClusterModel) -> bool:
    return model.center_stderr is not None and bool(model.center_stderr.any())


def model_html(model: ClusterModel) -> str:
    """Return centres and sizes with their errors, and the guarantee."""
    clusters = _clusters(model)
    largest = max(float(clusters.sizes.max()), 1.0)
    rows = [
        [str(number), size, Html("") if hidden else bar(float(rows) / largest), *cells]
        for number, ((size, cells), rows, hidden) in enumerate(
            zip(clusters.rows(), clusters.sizes, clusters.hidden, strict=True)
        )
    ]
    statement = model.privacy_statement
    return block(
        model_title(model),
        table(["cluster", "size", "", *clusters.names], rows),
        *(sentence(note, warning=note == model.fit_warning) for note in _notes(model, clusters)),
        sentence(f"Privacy guarantee: {guarantee(statement)}", not statement.private),
    )


def statement_html(statement: Statement) -> str:
    """Return the guarantee, every result with its part of the budget, and what is not covered."""
    composed, source = statement.composed, statement.source
    lines = [guarantee(statement)]
    lines += [composed.strength] if composed.private else []
    rows = [
        [
            line.slot,
            line.query,
            f"{line.coordinates:,}",
            "none" if line.sigma == 0 else rounded_down(line.sigma),
            percent_up(line.share),
            bar(line.share),
        ]
        for line in statement.releases
    ]
    header = ["result", "query", "numbers", "noise (std)", "share of the budget", ""]
    not_covered = [[item] for item in statement.not_covered]
    return block(
        f"{statement.subject}.",
        *(sentence(line, not composed.private or composed.weak) for line in lines),
        sentence(f"Neighbours: {statement.adjacency}"),
        sentence(f"Bounds: {statement.bounds_origin}."),
        *([] if source is None else [sentence(f"Source: {source.sentence}.")]),
        table(header, rows),
        details("What is not covered", table(["not covered"], not_covered, text=True)),
        details("The whole statement", *(sentence(line) for line in str(statement).split("\n"))),
    )


def k_path_html(path: KPath) -> str:
    """Return losses with their errors and stabilities as two curves, and all of it as a table."""
    loss = "capped loss" if path.is_capped else "loss"
    losses = [choice.loss for choice in path.choices]
    errors = [choice.stderr for choice in path.choices]
    stabilities = [choice.stability for choice in path.choices]
    rows = [
        [
            str(choice.n_clusters),
            with_error(choice.loss, choice.stderr),
            f"{choice.stability:.2f}",
            bar(choice.stability),
            f"{choice.silhouette:.3f}",
        ]
        for choice in path.choices
    ]
    return block(
        f"1 to {len(path.choices)} clusters",
        curve(f"{loss} against k, ± 2 standard errors", losses, errors),
        curve("stability against k", stabilities, [0.0] * len(stabilities)),
        table(["k", loss, "stability", "", "silhouette"], rows),
        *(sentence(note) for note in path.notes),
    )


def profile_html(profile: Profile) -> str:
    """Return each column in each cluster, with intervals."""
    sizes = profile.sizes
    rows = [
        [str(number), f"{size:,.0f}", f"{lower:,.0f} to {upper:,.0f}"]
        for number, (size, lower, upper) in enumerate(
            zip(sizes.values, sizes.lower, sizes.upper, strict=True)
        )
    ]
    statement = profile.privacy_statement
    return block(
        f"{statement.subject}.",
        table(["cluster", "size", "95 % interval"], rows),
        *(part for column in profile.columns for part in _column_html(column)),
        *map(sentence, profile.notes),
        sentence(f"Privacy guarantee, with the model: {guarantee(statement)}"),
    )


def _column_html(column: ColumnProfile) -> list[Html]:
    """Return a column's means, and the shares of its levels or ranges."""
    # A profile's module imports this one.
    from privclust.models.profile import format_interval, frequent_places, mean_name

    k, name = len(column.shares.values), column.column.name
    places = frequent_places(column, SHOWN_LEVELS)
    shares = table(
        ["cluster", *(column.labels[place] for place in places)],
        [
            [str(cluster), *(format_interval(column, cluster, place) for place in places)]
            for cluster in range(k)
        ],
    )
    left_out = len(column.labels) - len(places)
    notes = [sentence(f"Rarer levels that are not shown: {left_out:,}.")] if left_out else []
    if column.means is None:
        return [sentence(name), shares, *notes]
    means = table(
        ["cluster", mean_name(column)],
        [[str(cluster), format_interval(column, cluster)] for cluster in range(k)],
    )
    return [sentence(name), means, details(f"shares of the ranges of {name}", shares, *notes)]


def comparison_html(comparison: Comparison) -> str:
    """Return which clusters moved, and by how much."""
    header, *rows = comparison.rows()
    return block(
        comparison.title,
        table(header, rows),
        *(sentence(note) for note in comparison.notes),
    )


def composition_html(together: Composition) -> str:
    """Return what runs guarantee together, each run, and what is not covered."""
    # The module of compositions imports this one.
    from privclust.models.composition import where_recorded

    header = ["estimator", "run", "recorded in", "epsilon", "delta"]
    runs = [
        [
            run.estimator,
            run.name,
            where_recorded(run),
            rounded_up(run.epsilon),
            rounded_up(run.delta),
        ]
        for run in together.runs
    ]
    if not together.private:
        return block("Composition", sentence(together.title, warning=True), table(header, runs))
    not_covered = table(["not covered"], [[item] for item in together.not_covered], text=True)
    return block(
        together.title,
        sentence(together.strength, warning=together.weak),
        table(header, runs),
        sentence(f"Number of rows: {together.n_rows}"),
        *([details("What is not covered", not_covered)] if together.not_covered else []),
    )


def series_html(series: Series) -> str:
    """Return how long each cluster was there, how large it was, and whether it drifted."""
    header, *rows = series.rows()
    return block(series.title, table(header, rows))


def hierarchy_html(tree: Hierarchy) -> str:
    """Return which clusters merge to which, the nearest first, with a bar for each height."""
    header, *rows = tree.rows()
    highest = max((float(height) for height in tree.linkage[:, 2]), default=0.0)
    bars = [bar(float(height) / highest if highest else 0.0) for height in tree.linkage[:, 2]]
    k = tree.n_clusters
    return block(
        f"{k:,} cluster{'s' if k > 1 else ''} and what they merge to",
        table([*header, ""], [[*row, one] for row, one in zip(rows, bars, strict=True)]),
        sentence("Height is what a merge adds to the loss: root, in radii of the bounds."),
    )
