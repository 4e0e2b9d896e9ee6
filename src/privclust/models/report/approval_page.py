"""The page that is signed: what is released, what it guarantees, and what that rests on."""

from __future__ import annotations

from collections.abc import Sequence

from privclust.models._canvas import plain_texts
from privclust.models._cluster_table import SHOWN_COLUMNS, ClusterTable
from privclust.models.approval.approval_file import Approval
from privclust.models.approval.trust import trusted_parties
from privclust.models.cluster_model import ClusterModel
from privclust.models.profile import Profile
from privclust.models.report._data_dictionary import data_dictionary
from privclust.models.report._profiles import shown_profiles
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
    return render(
        "approval.html.j2",
        **release_context(model, profiles, table),
        kind="approval",
        title=f"Release for approval: {approval.dataset}",
        heading=PageHeading(approval.dataset, approval.date, approval.model, approval.profiles),
        approval=approval,
        n_columns=model.n_features_in,
        has_coreset=model.coreset is not None,
        profiles=shown_profiles(model, profiles, table.hidden),
        trusted=trusted_parties(model.privacy_statement),
        dictionary=data_dictionary(model, profiles),
    )
