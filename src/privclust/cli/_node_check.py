"""Whether a model file says of a fit of nodes what the ledger of one of them recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privclust.models.private_run import PrivateRun
from privclust.models.statement import Statement
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import Run
from privclust.privacy.plan import slot_of_attempt

CHECKED = (
    "This node took part in that fit, and members, guarantee and the price of each result are "
    "what it recorded. Nodes see no results, so that this says nothing of the numbers."
)


def run_at_node(ledger: Ledger, content: Mapping[str, Any]) -> Run | None:
    """Return the fit of a model in the ledger of a node; None if the ledger has no such fit."""
    try:
        cohort = PrivateRun.from_dict(content["statement"]["run"]).cohort
        return None if cohort is None else ledger.run(cohort.run)
    except (LedgerError, LookupError, TypeError, ValueError):
        return None


def contradictions_at_node(run: Run, content: Mapping[str, Any]) -> list[str]:
    """Return what a model says of its fit that is not what a node recorded."""
    try:
        described = Statement.from_dict(content["statement"], ()).run
        cohort = described.cohort
        assert cohort is not None
        facts = {
            "members": (run.facts["members"].split(" "), list(cohort.members)),
            "coordinator": (run.facts["coordinator"], cohort.coordinator),
            "number of nodes that may collude": (run.facts["colluding"], str(cohort.colluding)),
            "guarantee": (
                (float(run.facts["epsilon"]), float(run.facts["delta"]), run.reserved),
                (described.epsilon, described.delta, described.reserved),
            ),
            "number of rows": (run.facts.get("n_rows", "None"), str(described.n_rows)),
        }
        found = [what for what, (recorded, given) in facts.items() if recorded != given]
        prices, charged = _prices(content), _charged(run)
        # A node that left the fit charged what came before.
        agrees = charged.items() <= prices.items() if cohort.left else charged == prices
        if "releases" in content and not agrees:
            found.append("results and their prices")
    except (LookupError, TypeError, ValueError):
        found = ["fit"]
    return [
        f"the model was changed after its fit: what this node recorded differs from its {what}"
        for what in found
    ]


def _prices(content: Mapping[str, Any]) -> dict[str, int]:
    """Return what each result of a model cost in mu²."""
    results = content.get("releases", ())
    return {result["slot"]: result["charge"]["quanta"] for result in results}


def _charged(run: Run) -> dict[str, int]:
    """Return the same of what a node charged; of a request that was sent again, once."""
    return {slot_of_attempt(name): charge.quanta for name, charge in run.charges.items()}
