"""No public name, parameter, default, option or exit code changes by accident."""

from __future__ import annotations

from helpers.public_api import STORED, lines

RENEW = """
docs/project/deprecation.md says what a change owes to users: a warning first, a line in the
changelog. If that is done, or the name is new, store the list again and commit it:

    python tests/helpers/public_api.py
"""


def test_what_users_rely_on_is_what_was_stored() -> None:
    stored, found = STORED.read_text().splitlines(), lines()
    gone = [f"- {line}" for line in stored if line not in found]
    new = [f"+ {line}" for line in found if line not in stored]
    assert found == stored, "\n".join(["the public API changed.", *gone, *new, RENEW])


def test_the_list_has_what_users_type_most() -> None:
    """Guards against a list that is stored empty or in part."""
    text = STORED.read_text()
    for line in (
        "privclust.PrivateKMeans(",
        "privclust.PrivateKMeans.cluster_centers_",
        "$ privclust fit --epsilon",
        "exit code 8: BudgetExceededError",
    ):
        assert line in text
