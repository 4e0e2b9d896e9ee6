"""Who must be trusted with what, for the guarantee of a release to hold."""

from __future__ import annotations

from privclust.models.statement import Statement
from privclust.queries.participation import Cohort


def trusted_parties(statement: Statement) -> list[tuple[str, str]]:
    """Return who must be trusted, and with what, each in words.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> [who for who, _ in trusted_parties(model.privacy_statement_)][:2]
    ['Readers of the release', 'The people who ran the fit, and their machine']
    """
    parties = [
        (
            "Readers of the release",
            "Nothing: the guarantee holds whatever they know and however they compute.",
        ),
        *(_WHO_READ_ROWS if statement.cohort is None else _who_run_nodes(statement.cohort)),
        (
            "The people who declared bounds, levels and unit",
            "To have taken them from knowledge of the field and not from the rows, and that one "
            f"{statement.run.unit.quoted} is what has to be protected.",
        ),
        (
            "The people who prepared the table",
            "To have treated each row alone: what looked at other rows is not covered.",
        ),
    ]
    if statement.participation is not None and statement.cohort is None:
        parties.append(
            (
                "The server of the federation, and all who may run code there",
                "With the exact sums of each client, which it sees before noise is added, and to "
                "add the noise.",
            )
        )
    if not statement.run.is_recorded:
        parties.append(
            (
                "Everybody who may read the rows",
                "To have released nothing else from them: no ledger counts other runs.",
            )
        )
    else:
        parties.append(
            (
                "The ledger's owner"
                if statement.cohort is None
                else "The owners of nodes' ledgers",
                "To keep one ledger for these rows under one name, and to put back no older copy.",
            )
        )
        if statement.cohort is None:
            parties.append(_WHO_NAMED_THE_TABLE)
    return parties


_WHO_NAMED_THE_TABLE = (
    "The people who named the data set in each run, such as analysts",
    "To have named it right each time: the ledger counts by that name, and never looks at the "
    "rows.",
)


_WHO_READ_ROWS = (
    (
        "The people who ran the fit, and their machine",
        "With the rows, which they read, and to run the published code: a changed program can "
        "write any statement.",
    ),
)


def _who_run_nodes(cohort: Cohort) -> tuple[tuple[str, str], ...]:
    nodes = "node" if cohort.colluding == 1 else "nodes"
    return (
        (
            f"The coordinator, and any {cohort.colluding} {nodes} together",
            "Nothing about the rows of the others: they see sums that have enough noise without "
            "their own. With the result: it is what they say it is.",
        ),
        (
            "The owner of each node",
            "With the rows of that node, and to run the published code there: a node that adds no "
            "noise counts as one that colludes.",
        ),
    )
