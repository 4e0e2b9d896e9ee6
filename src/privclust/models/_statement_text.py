"""A statement in words. Each sentence follows from the record; none is typed in by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privclust.domains.bounds import UNSTATED
from privclust.domains.bounds_file import PRIVATE_RELEASE
from privclust.domains.origin import Origin
from privclust.errors import safe_repr
from privclust.models._cohort_text import cohort_lines, cohort_not_covered
from privclust.models.composition import describe_run
from privclust.models.formatting import percent_up, plural, rounded_down, rounded_up
from privclust.queries.unit import Unit

if TYPE_CHECKING:
    from privclust.models.statement import Participation, ReleaseLine, Statement

ALWAYS_NOT_COVERED = (
    "names, number and types of the columns",
    "labels and distances that predict and transform compute for protected rows",
    "bounds chosen after looking at the rows",
    "what was done to the rows before (scaling, filters, joins, removed duplicates): a step that "
    "looked at other rows lets one row change many",
    "running time and memory, and whether a fit fails",
    "other fits of the same rows that no common ledger recorded under the same name",
    "what was chosen after looking at other results of the same rows, such as the number of "
    "clusters, columns, weights, or which model is shown: then those count as well",
)
ROLES = {"start": "started from", "clusters": "grouped by the clusters of"}


def text(statement: Statement) -> str:
    """Return all of it, for whoever signs."""
    run = statement.run
    noisy = "" if run.epsilon == math.inf else "noisy "
    results = "result" if len(statement.releases) == 1 else "results"
    return "\n".join(
        [
            f"{statement.subject}.",
            *_guarantee(statement),
            *cohort_lines(statement),
            f"Neighbours: {statement.adjacency}",
            f"Number of rows: {n_rows(statement)}",
            f"Bounds: {statement.bounds_origin}.",
            *([] if statement.source is None else [f"Source: {statement.source.sentence}."]),
            *(
                f"Public by the user's word: {points.count} points ({points.parameter})."
                for points in statement.public_points
            ),
            f"Noise: {run.noise}. Ledger: {_recorded(statement)}. privclust {statement.version}.",
            f"Learned from the rows in this run ({len(statement.releases)} {noisy}{results}; "
            f"{_rest(statement)}):",
            *(_line(release, run.unit) for release in statement.releases),
            *_sampled(statement),
            "Not covered: " + "; ".join(statement.not_covered) + ".",
        ]
    )


def subject(statement: Statement) -> str:
    """Say what was released."""
    columns = statement.columns
    if statement.kind == "profile":
        assert not isinstance(columns, int)
        listed = ", ".join(map(repr, columns))
        return (
            f"Profile of the {statement.n_clusters} clusters of {statement.estimator} by {listed}"
        )
    listed = "" if isinstance(columns, int) else f" ({', '.join(map(repr, columns))})"
    count = columns if isinstance(columns, int) else len(columns)
    found = f"{statement.estimator}, {statement.n_clusters} clusters, {count} columns{listed}"
    if statement.kind == "refit":
        return f"{found}; from the coreset of another fit, at no further cost"
    return found


def n_rows(statement: Statement) -> str:
    """Say how the number of rows was treated."""
    return statement.composed.n_rows


def factor(epsilon: float) -> str:
    """Return how much more likely an outcome may become, rounded up."""
    return rounded_up(math.exp(epsilon), 3) if epsilon < 700 else "more than 1e+300"


def adjacency(unit: Unit, place: str) -> str:
    """Say which two tables are compared; `place` is what each place of a federation is called."""
    if unit.whole:
        return (
            "two federations of the same clients, in one of which one client has no rows. No "
            f"client's vector may be longer than those of {plural(unit.rows, 'row')}."
        )
    tables, where, each = "tables", "", ""
    if unit.clients:
        clients = f"one {place}" if unit.clients == 1 else f"each of up to {unit.clients} {place}s"
        tables, where, each = "federations", f" at {clients}", f" at each {place}"
    if unit.column is None:
        return f"two {tables} of the same columns, one of which has one row more{where}."
    return (
        f"two {tables} of the same columns, one of which has all rows of one {unit.column!r} more"
        f"{where}, however many. Rows without one count as one {unit.column!r}"
        f"{each or ' together'}. None may add more to a result than "
        f"{plural(unit.rows, 'row')} may{each}."
    )


def counted_as(unit: Unit) -> str | None:
    """Say as how many rows one unit counts; None if every row is one."""
    if unit.column is None:
        return None
    rows = f"{unit.total_rows:,} row{'s' if unit.total_rows > 1 else ''}"
    where = " in each cluster" if unit.whole else ""
    return f"Each {safe_repr(unit.column)} counts as {rows} at most{where}."


def not_covered(statement: Statement) -> tuple[str, ...]:
    """List what the guarantee does not speak of."""
    listed = [_several(statement.run.unit, statement.place)]
    if statement.cohort is not None:
        listed += cohort_not_covered(statement.run, statement.cohort)
    elif statement.participation is not None:
        listed.append("what the server of the federation sees, which are exact sums of each client")
    if statement.participation is not None:
        listed.append(_taking_part(statement.participation, statement.place))
    listed += ALWAYS_NOT_COVERED
    if statement.source is not None:
        listed.append(source_not_covered(statement.source))
    if statement.bounds_origin == UNSTATED:
        listed.append(
            "whether the bounds were taken from the rows, since nobody stated their origin"
        )
    if statement.public_points:
        listed.append("whether the points that the user calls public are public")
    if statement.bounds_origin == PRIVATE_RELEASE:
        listed.append("what the private release that the bounds come from has cost")
    return (*listed, *statement.composed.not_covered)


def source_not_covered(source: Origin) -> str:
    """Say what the name and the salted hash of a table tell."""
    if source.salted_hash is None:
        return (
            "the name of the table that was read, in which the hash of a query lets a guess of its "
            "words be checked"
        )
    return (
        "the name of the table that was read, and which state of it, which whoever can read the "
        "table finds by the salted hash"
    )


def _guarantee(statement: Statement) -> list[str]:
    composed = statement.composed
    if not composed.private:
        noise = " and ".join(dict.fromkeys(run.noise for run in composed.runs))
        return [
            f"NOT PRIVATE. Noise: {noise}. Nothing here protects anybody; use it on public rows "
            "only."
        ]
    lines = [
        f"Privacy guarantee: adding or removing any one {_one(statement.run.unit)} makes no "
        f"outcome more than {factor(composed.epsilon)} times as likely, up to a remainder of "
        f"delta: epsilon = {rounded_up(composed.epsilon)}, delta = {rounded_up(composed.delta)} "
        f"(accounted as {rounded_up(statement.mu)}-Gaussian DP). {composed.strength}"
    ]
    if statement.dependencies:
        lines += [
            f"That is the guarantee of {len(composed.runs)} runs on the rows together, because "
            "this one follows from the others:",
            f"  this run: {describe_run(statement.run)}",
            *(f"  {ROLES[one.role]} {describe_run(one.run)}" for one in statement.dependencies),
        ]
    return lines


def _rest(statement: Statement) -> str:
    """Say what everything else in the object follows from."""
    others = []
    if statement.dependencies:
        others.append("the other runs")
    if statement.public_points:
        others.append("the public points")
    if statement.bounds_origin == PRIVATE_RELEASE:
        others.append("the bounds")
    return "all else follows from these " + (f"and {' and '.join(others)}" if others else "alone")


def _one(unit: Unit) -> str:
    return unit.quoted if unit.column is None else f"{unit.quoted} with all its rows"


def _recorded(statement: Statement) -> str:
    record, cohort = statement.record, statement.cohort
    if record is None and cohort is None:
        return "unrecorded; nothing here stops further fits of the same rows, which add to epsilon"
    places = []
    if cohort is not None:
        places.append(
            f"those of the nodes, which count all fits of their own rows, run {cohort.run} there"
        )
    if record is not None:
        own = "" if cohort is None else "the coordinator's, which binds nobody else: "
        places.append(
            f"{own}data set {record.dataset!r}, whose fits together keep epsilon = "
            f"{rounded_up(record.epsilon)}, delta = {rounded_up(record.delta)}; run "
            f"{statement.run.name}, last entry {record.head}"
        )
    return "; ".join(places)


def _line(release: ReleaseLine, unit: Unit) -> str:
    one = unit.quoted
    slot, query = (repr(name)[1:-1] for name in (release.slot, release.query))
    measured = f"  {slot}: {query}, {plural(release.coordinates, 'number')}"
    if release.one_row_in > 1:
        measured += f", of one {one} in {release.one_row_in} at random"
    if release.sigma == 0:
        return f"{measured}, no noise"
    return (
        f"{measured}, {release.mechanism} noise of standard deviation "
        f"{rounded_down(release.sigma)} where one {one} adds at most "
        f"{rounded_up(release.sensitivity)}, {percent_up(release.share)} of this run's "
        "budget"
    )


def _sampled(statement: Statement) -> list[str]:
    if all(release.one_row_in == 1 for release in statement.releases):
        return []
    return [
        "Those chosen at random are a secret sample, for speed; no credit is taken for it: all are "
        "protected alike."
    ]


def _several(unit: Unit, place: str) -> str:
    if unit.whole:
        return "people with rows at several clients, who are protected less than one client is"
    most = plural(unit.clients, place)
    more = f", or with rows at more than {most}" if unit.clients else ""
    if unit.column is None:
        return f"people with several rows{more}, who are protected less than one row is"
    return (
        f"people with several values of {unit.column!r}{more}, who are protected less than one is"
    )


def _taking_part(participation: Participation, place: str) -> str:
    taking_part = []
    if participation.invited:
        responded, invited = participation.responded, participation.invited
        some = f"all {invited}" if responded == invited else f"at least {responded} of {invited}"
        taking_part.append(f"{some} {place}s responded to each query")
    if participation.earlier:
        # Results that a ledger had stored: who took part in them is not stored.
        taking_part.append(
            f"not counting {participation.earlier} measured before the fit was resumed"
        )
    return f"who takes part ({', '.join(taking_part)})"
