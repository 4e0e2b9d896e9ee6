"""The page that is signed: what is released, what it guarantees, and what that rests on."""

from __future__ import annotations

from collections.abc import Sequence

from privclust.models._canvas import plain_texts
from privclust.models._cluster_table import SHOWN_COLUMNS, ClusterTable
from privclust.models.approval.approval_file import Approval
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.models.approval.other_datasets import listed, same_unit
from privclust.models.approval.trust import trusted_parties
from privclust.models.cluster_model import ClusterModel
from privclust.models.compose import compose
from privclust.models.composition import Composition
from privclust.models.profile import Profile
from privclust.models.report._data_dictionary import data_dictionary
from privclust.models.report._profiles import profile_files, shown_profiles
from privclust.models.report._release_context import release_context
from privclust.models.report._templates import PageHeading, render


@plain_texts()
def approval_page(
    model: ClusterModel,
    approval: Approval,
    profiles: Sequence[Profile] = (),
) -> str:
    """Return a self-contained page for a signature, without scripts or pictures.

    Parameters
    ----------
    model : ClusterModel
        What is released.
    approval : Approval
        Who approves it for what. It names the hashes of the files, and below how many rows a
        cluster is listed without its centre.
    profiles : sequence of Profile, optional
        Profiles of the model that are released with it.
    """
    table = ClusterTable.of(model, SHOWN_COLUMNS, approval.min_size)
    ledger = approval.ledger
    released = compose(model, *profiles)
    lowered = ledger.budget if ledger is not None and ledger.is_lowered else None
    return render(
        "approval.html.j2",
        **release_context(model, profiles, table, lowered, ledger.first if ledger else None),
        kind="approval",
        title=_title(approval, recorded=model.privacy_statement.run.is_recorded),
        heading=PageHeading(approval.dataset, approval.date, approval.model, approval.profiles),
        approval=approval,
        ledger_checked=ledger is not None,
        n_columns=model.n_features_in,
        has_coreset=model.coreset is not None,
        profile_files=profile_files(profiles),
        profiles=shown_profiles(model, profiles, table.hidden),
        totals=_totals(released, ledger),
        other_datasets=listed(approval.other_datasets),
        together=None if ledger is None else same_unit(ledger, approval.other_datasets),
        other_units=ledger is not None
        and any(other.unit != ledger.unit for other in approval.other_datasets),
        earlier=None if ledger is None else ledger.on_earlier(len(released.runs)),
        trusted=trusted_parties(model.privacy_statement),
        dictionary=data_dictionary(model, profiles),
    )


def _title(approval: Approval, recorded: bool) -> str:
    unseen = ", without its ledger" if recorded else ", which no ledger counts"
    return f"Release for approval{unseen if approval.ledger is None else ''}: {approval.dataset}"


def _totals(released: Composition, total: LedgerTotal | None) -> list[tuple[str, float, float]]:
    """Return the release, all that was recorded and all that is admitted, at one delta.

    Beside each epsilon is the power of the best test for one unit.
    """
    if total is None or not released.private:
        return []
    return [
        ("This release", released.epsilon_at(total.budget.delta), released.power),
        ("Everything recorded so far, this release among it", total.epsilon, total.power),
        (
            "The most that the ledger admits under this data set's name"
            + (", as lowered" if total.is_lowered else ""),
            total.budget.epsilon,
            total.largest_power,
        ),
    ]
