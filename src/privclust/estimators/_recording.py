"""How a fit is recorded: which ledger pays for it, and what a resumed fit must have in common."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from privclust._version import __version__
from privclust.domains.base import Domain
from privclust.errors import Message, Parameter, ParameterError, shown
from privclust.models.private_run import Record
from privclust.privacy.fingerprint import written_out
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.unit import Unit

_APART = ("ledger", "dataset", "random_state", "bounds", "radius", "unit", "init", "period")
"""Parameters that say where to record, or that facts name in another way."""
_FEDERATED = re.compile(r"whole client|.* in \d+ clients?")
"""What only units of federations are called."""


@dataclass(frozen=True)
class Recording:
    """Where one fit is recorded.

    Attributes
    ----------
    ledger : Ledger or None
        None if nobody keeps the budget.
    label : str
        The data set's name in the ledger.
    seed : int
        Of public choices; drawn now, typed by the user, or that of the run to resume.
    facts : mapping
        Public parameters, seed and versions.
    resume : str or None
        The run to go on with.
    """

    ledger: Ledger | None
    label: str
    seed: int
    facts: Mapping[str, str]
    resume: str | None

    @contextmanager
    def telling_how_to_resume(self, run: str) -> Iterator[None]:
        """Whatever ends the fit too early, add how to go on with it."""
        try:
            yield
        except BaseException as error:
            if self.ledger is not None:
                error.add_note(
                    Message(
                        f"privclust: run {run} is in the ledger; ",
                        Parameter("resume", run, f"fit(X, resume={run!r})"),
                        " goes on with it, and nothing is paid twice.",
                    )
                )
            raise

    def record(self, head: str) -> Record | None:
        """Return what a statement says about where the fit is recorded."""
        return record_in(self.ledger, self.label, head)


def recording(
    model: Any, domain: Domain, origin: str, unit: Unit, seed: int | None, resume: object
) -> Recording:
    """Open the ledger that `model` names, if any, and collect what is public about the fit.

    `origin` says where the bounds come from.
    """
    if not type(model).__name__.isidentifier():
        raise ParameterError(
            f"the class of this estimator is called {shown(type(model).__name__)}, which is not a "
            "name of Python, so no statement could name it. Give the class another name."
        )
    ledger, label = ledger_of(model.ledger, model.dataset, unit)
    if resume is not None and (ledger is None or not isinstance(resume, str)):
        raise ValueError(
            f"resume={shown(resume)} needs a ledger, its dataset and the name of a run in it, as "
            "'privclust ledger runs' lists them."
        )
    if seed is None and isinstance(resume, str) and ledger is not None:
        seed = int(ledger.run(resume).facts.get("seed", 0))
    elif seed is None:
        seed = int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    given = model.get_params(deep=False)
    facts = {
        "estimator": type(model).__name__,
        **{name: _fact(value) for name, value in given.items() if name not in _APART},
        **({} if given.get("init") is None else {"init": _fact(given["init"])}),
        **fact_of_dependency(given.get("init")),
        **fact_of_period(given.get("period")),
        "bounds": sha256(written_out(domain)).hexdigest()[:16],
        "bounds_origin": origin,
        "seed": str(seed),
        "unit": unit.ledger_name,
        "privclust": __version__,
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
    }
    return Recording(ledger, label, seed, facts, resume if isinstance(resume, str) else None)


def fact_of_dependency(model: Any) -> dict[str, str]:
    """Return which run a fit starts from, or a profile is grouped by, where it is a model's."""
    statement = getattr(model, "privacy_statement_", None)
    return {} if statement is None else {"follows_from": statement.run.name}


def record_in(ledger: Ledger | None, label: str, head: str) -> Record | None:
    """Return where a run is recorded: its data set, the total of that, the ledger's last hash."""
    if ledger is None:
        return None
    budget = ledger.dataset(label).budget
    return Record(label, budget.epsilon, budget.delta, head)


def fact_of_period(period: object) -> dict[str, str]:
    """Return which period pays, where one is named, as the ledger knows it."""
    if period is None:
        return {}
    if not isinstance(period, str):
        raise ParameterError(
            f"period must be a text such as '2026-W07', got {shown(period)}. Type it in quotes."
        )
    return {"period": period}


def _fact(value: object) -> str:
    """Write a parameter so that equal numbers, and equal arrays, look equal; a model by centres."""
    value = getattr(value, "cluster_centers_", value)
    if isinstance(value, np.ndarray):
        return sha256(f"{value.dtype}{value.shape}".encode() + value.tobytes()).hexdigest()[:16]
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return shown(value)


def ledger_of(place: object, label: object, unit: Unit) -> tuple[Ledger | None, str]:
    """Open the ledger at a place, if one is named, and check that it protects the same unit."""
    if place is None and label is None:
        return None, "unrecorded"
    if not isinstance(place, str | os.PathLike) or not isinstance(label, str):
        raise ValueError(
            f"ledger must be the path or URL of a ledger, not an object, which clone() would copy, "
            f"and dataset the name of a data set in it; got {shown(place)} and {shown(label)}. "
            "Give both or neither."
        )
    ledger = Ledger.open(os.fspath(place))
    protected, asked = ledger.dataset(label).unit, unit.ledger_name
    if unit.silos == 0 and _FEDERATED.fullmatch(asked):
        asked = f"{asked!r}, a column of one table"
    if protected != asked:
        raise ValueError(
            f"data set {label!r} is protected per {protected}, this fit per {asked}. Set unit "
            "to the column that the ledger names, or leave it out if that is 'row'; in a "
            "federation, set silos_per_patient to the number of clients that it names."
        )
    return ledger, label
