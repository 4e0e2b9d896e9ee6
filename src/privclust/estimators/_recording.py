"""How a run is recorded: which ledger pays, and what a resumed run must have in common."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version

import numpy as np

from privclust._version import __version__
from privclust.domains.base import Domain
from privclust.domains.origin import (
    FACTS_OF_TABLES,
    Origin,
    hash_of_state,
    recorded_hash,
    state_of_hash,
)
from privclust.errors import Message, Parameter, ParameterError, safe_repr, warn_user
from privclust.estimators._common_parameters import Parameters, held_model
from privclust.estimators._input import OpenTable
from privclust.estimators._open_runs import open_runs_message
from privclust.estimators._own_parameters import models_in, own_parameters
from privclust.estimators._progress import should_show_progress, tell
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import rounded_up
from privclust.models.private_run import Record
from privclust.privacy.fingerprint import serialize
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.unit import Unit
from privclust.sources.snapshot import Snapshot

_APART = ("ledger", "dataset", "random_state", "bounds", "radius", "unit", "init", "period")
"""Parameters that say where to record, or that facts name in another way."""
ANALYST = "analyst"
"""The fact that says who lets a fit run."""
FACTS_OF_CALLERS = {ANALYST}
"""Facts that a node adds to those of a fit."""
_TAKEN = {
    *("bounds_origin", "clustered_columns", "estimator", "follows_from", "numpy", "privclust"),
    "seed",
    *FACTS_OF_CALLERS,
    *FACTS_OF_TABLES,
}
"""Facts that are no parameters."""
_FEDERATED = re.compile(r"whole client|.* in \d+ clients?")
"""What only units of federations are called."""
_ANOTHER = "Name another data set."
_READABLE = 80
"""Characters of a fact; what is longer is written as a hash."""


@dataclass(frozen=True)
class Recording:
    """Where one run is recorded.

    Attributes
    ----------
    ledger : Ledger or None
        None if nobody keeps the budget.
    label : str
        The data set's name in the ledger.
    facts : mapping
        Public parameters, seed and versions.
    resume : str or None
        The run to go on with.
    call : str
        How the run is resumed, with "RUN" for its name.
    source : Origin or None
        Which state of which table is read, where that is known.
    """

    ledger: Ledger | None
    label: str
    facts: Mapping[str, str]
    resume: str | None
    call: str
    source: Origin | None

    @contextmanager
    def noting_how_to_resume(self, run: str) -> Iterator[None]:
        """Whatever ends the run too early, add how to go on with it, if it may go on."""
        try:
            yield
        except BaseException as error:
            if self.ledger is not None and _may_go_on(self.ledger, run):
                call = self.call.replace("RUN", repr(run))
                error.add_note(
                    Message(
                        f"privclust: run {run} is in the ledger; ",
                        Parameter("resume", run, call),
                        " goes on with it, and nothing is paid twice.",
                    )
                )
            raise

    def warn_of_open_runs(self) -> None:
        """Before a new run is charged, say which ones of its data set could be gone on with."""
        if self.ledger is None or self.resume is not None:
            return
        message = open_runs_message(self.label, self.ledger.runs(self.label))
        if message is not None:
            warn_user(message)

    def tell_what_is_left(self) -> None:
        """From the second run of a data set on, say what its ledger has left."""
        if self.ledger is None or not should_show_progress():
            return
        if len(self.ledger.runs(self.label)) < 2:
            return
        budget = self.ledger.dataset(self.label).budget
        left = f"{self.ledger.epsilon_left(self.label):g}"
        tell(
            f"Data set {self.label!r} has epsilon {left} left for one more run, of "
            f"{rounded_up(budget.epsilon)} in all, at delta {rounded_up(budget.delta)}."
        )

    def record(self, head: str) -> Record | None:
        """Return where the run is recorded: data set, its total, the ledger's last hash."""
        if self.ledger is None:
            return None
        budget = self.ledger.dataset(self.label).granted
        return Record(self.label, budget.epsilon, budget.delta, head)


def _may_go_on(ledger: Ledger, run: str) -> bool:
    """Tell whether a run is open still; a ledger that cannot be read may hold it open."""
    try:
        return ledger.run(run).open
    except Exception:  # it may be the ledger that failed, and its error is raised already
        return True


def recording(
    estimator: Parameters,
    table: OpenTable,
    seed: int | None,
    resume: object,
    further: Mapping[str, str],
) -> Recording:
    """Open the ledger that an estimator names, if any, and collect what is public about its fit.

    `further` facts are those of a caller, such as who lets it run.
    """
    unit, names = table.engine.unit, table.schema.names
    kind = type(estimator).__name__
    if not kind.isidentifier():
        raise ParameterError(
            f"the class of this estimator is called {safe_repr(kind)}, which is not a "
            "name of Python, so no statement could name it. Give the class another name."
        )
    _check_not_beside(estimator)
    ledger, label = ledger_of(estimator.ledger, estimator.dataset, unit)
    run = run_to_resume(resume, ledger)
    if seed is None and run is not None and ledger is not None:
        seed = int(ledger.run(run).facts.get("seed", 0))
    elif seed is None:
        seed = int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    given = estimator.get_params(deep=False)
    _check_names(given)
    source = source_of(table.snapshot, ledger, run)
    starts = [model for value in own_parameters(given).values() for model in models_in(value)]
    facts = {
        "estimator": kind,
        **{name: _fact(value) for name, value in given.items() if name not in _APART},
        **({} if given.get("init") is None else {"init": _fact(given["init"])}),
        **fact_of_dependencies(starts),
        **fact_of_period(estimator.period),
        **({} if names is None else {"clustered_columns": _hash_of_names(names)}),
        "bounds": fingerprint_of(table.domain),
        "bounds_origin": table.bounds_origin,
        "seed": str(seed),
        "unit": unit.ledger_name,
        **({} if source is None else source.facts),
        **versions(),
        **further,
    }
    return Recording(ledger, label, facts, run, "fit(X, resume=RUN)", source)


def _check_not_beside(estimator: Parameters) -> None:
    """Refuse to fit without a ledger what was recorded in one, which a loaded model forgets."""
    model = held_model(estimator)
    record = None if model is None else model.privacy_statement.run.record
    if estimator.ledger is None and record is not None:
        raise ParameterError(
            Message(
                "this model was recorded in a ledger, for data set "
                f"{safe_repr(record.dataset)}, and model files do not say where that is. Name it, ",
                Parameter("ledger", "budget.db", "set_params(ledger='budget.db', dataset=…)"),
                ", so that another fit is charged to the same account. A new estimator needs none.",
            )
        )


def source_of(snapshot: Snapshot | None, ledger: Ledger | None, run: str | None) -> Origin | None:
    """Return which state of a table is read; a run that is resumed reads the same or no row."""
    if snapshot is None:
        return None
    identity = snapshot.identity
    salted_hash = None if identity is None else hash_of_state(identity)
    if run is not None and ledger is not None:
        salted_hash = recorded_hash(ledger.run(run).facts)
        snapshot.restore(
            None if salted_hash is None else state_of_hash(salted_hash, snapshot.identities())
        )
    return replace(snapshot.origin, salted_hash=salted_hash)


def _check_names(given: Mapping[str, object]) -> None:
    """Refuse parameters whose names a ledger needs for other facts, and would not record."""
    taken = sorted(_TAKEN & given.keys())
    if taken:
        raise ParameterError(
            f"the parameter {taken[0]!r} of this estimator is called like something else that a "
            f"ledger records of every fit. Give it another name than {', '.join(sorted(_TAKEN))}."
        )


def run_to_resume(resume: object, ledger: Ledger | None) -> str | None:
    """Return the name of the run to go on with, if one is named."""
    if resume is None or (ledger is not None and isinstance(resume, str)):
        return resume
    raise ParameterError(
        f"resume={safe_repr(resume)} needs a ledger, its dataset and the name of a run in it, as "
        "'privclust ledger runs' lists them."
    )


def fact_of_dependencies(models: Sequence[ClusterModel]) -> dict[str, str]:
    """Return which runs a fit starts from, or a profile is grouped by."""
    names = ", ".join(model.privacy_statement.run.name for model in models)
    return {"follows_from": names} if names else {}


def fingerprint_of(domain: Domain) -> str:
    """Return a short hash of what was declared about values."""
    return sha256(serialize(domain)).hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions on which results depend, bit for bit."""
    return {"privclust": __version__} | {name: version(name) for name in ("numpy", "scikit-learn")}


def fact_of_period(period: object) -> dict[str, str]:
    """Return which period pays, where one is named, as the ledger knows it."""
    if period is None:
        return {}
    if not isinstance(period, str):
        raise ParameterError(
            f"period must be a text such as '2026-W07', got {safe_repr(period)}. Type it in quotes."
        )
    return {"period": period}


def _fact(value: object) -> str:
    """Write a parameter so that it looks equal to equal ones alone; a model by its centres.

    What is too long to be read is written as a hash of the whole.
    """
    model = held_model(value)
    value = value if model is None else model.cluster_centers
    if isinstance(value, np.ndarray):
        return _hashed(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    if isinstance(value, tuple | list):
        text = f"[{', '.join(map(_fact, value))}]"
        return text if len(text) <= _READABLE else f"{len(value)} values, {_hashed(text.encode())}"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = safe_repr(value)
    if isinstance(value, str | int) and text.endswith(("…", "digits")):
        whole = value if isinstance(value, str) else hex(value)
        return f"{text} {_hashed(whole.encode('utf-8', 'surrogatepass'))}"
    return text


def _hash_of_names(names: Sequence[str]) -> str:
    """Return what tells names of columns from others; a ledger does not say how they read."""
    return _hashed(repr([str(name) for name in names]).encode("utf-8", "surrogatepass"))


def _hashed(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def ledger_of(
    place: object, label: object, unit: Unit, *, is_profile: bool = False
) -> tuple[Ledger | None, str]:
    """Open the ledger at a place, if one is named, and check that it protects the same unit."""
    if place is None and label is None:
        return None, "unrecorded"
    if isinstance(place, str | os.PathLike) and label is None:
        known = [repr(account.label) for account in Ledger.open(os.fspath(place)).datasets()]
        raise ParameterError(
            f"dataset is missing; the ledger has {', '.join(known) or 'none'}. Give both, such as "
            "ledger='budget.db' and dataset='patients', or neither."
        )
    if not isinstance(place, str | os.PathLike) or not isinstance(label, str):
        raise ParameterError(
            f"ledger must be the path or URL of a ledger, not an object, which clone() would copy, "
            f"and dataset the name of a data set in it; got {safe_repr(place)} and "
            f"{safe_repr(label)}. Give both, such as ledger='budget.db' and dataset='patients', or "
            "neither."
        )
    ledger = Ledger.open(os.fspath(place))
    protected, wanted = ledger.dataset(label).unit, unit.ledger_name
    if unit.clients == 0 and _FEDERATED.fullmatch(wanted):
        wanted = f"{wanted!r}, a column of one table"
    if protected != wanted:
        both = f"data set {label!r} is protected per {protected}, this fit per {wanted}. "
        if is_profile:
            raise ParameterError(f"{both}A profile protects what its fit does. {_ANOTHER}")
        raise ParameterError(Message(both, *_other_unit(protected, unit)))
    return ledger, label


def _other_unit(protected: str, unit: Unit) -> list[str | Parameter]:
    """Return how a fit of `unit` comes to protect what its ledger names."""
    if unit.clients or unit.whole:
        number = Parameter("clients_per_unit")
        return [
            *("Set ", Parameter("unit"), " to the column that the ledger names, or leave it out "),
            *("if that is 'row', and ", number, " to the number of clients that it names."),
        ]
    if _FEDERATED.fullmatch(protected):
        return [f"Only a federation protects that. {_ANOTHER}"]
    if protected == "row":
        return [
            f"To protect each {unit.quoted}, name a data set that was created with it as its unit. "
            "A fit without ",
            Parameter("unit", unit.column, f"unit={unit.column!r}"),
            " protects single rows alone.",
        ]
    column = Parameter("unit", protected, f"unit={protected!r}")
    return ["Type ", column, ", or name another data set."]
