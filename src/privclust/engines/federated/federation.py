"""A federation as one table: the same question to every client, and their answers added up.

The server sees each client's exact sums and must be trusted with them (docs/federated-trust.md);
what it releases goes through the Curator like everything else.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.domains.base import Domain
from privclust.engines.base import Engine, FailedClientError, TooFewClientsError, guarded
from privclust.engines.federated._request import NONCE_BYTES, WIDTH_MAX, Question
from privclust.engines.federated.client import (
    CLIENT,
    FAILED,
    LARGEST,
    Client,
    Columns,
    answer_size,
    understood,
)
from privclust.engines.federated.wire import HEAD_MAX, encode, head_size
from privclust.errors import ColumnError, CostError, ParameterError, shown
from privclust.queries.base import Count, Query
from privclust.queries.participation import Attendance
from privclust.queries.unit import Unit
from privclust.sources.cells import Kind
from privclust.sources.schema import Schema
from privclust.tracebacks import clears_frames

Exchange = Callable[[Mapping[str, bytes]], Iterable[tuple[str, bytes]]]
"""Sends each client its question and yields answers as they come, with who gave them; from nobody
in particular, more than once, or never."""
QUERY_HEAD = 2**20
"""Bytes that a query may add to the part of a message that says what is in it."""


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients that each hold rows of the same columns; an estimator's `fit` takes it for a table.

    Parameters
    ----------
    exchange : callable
        How requests travel (`privclust.engines.federated.flower`); `Federation.in_process` needs
        none.
    roster : sequence of str
        Names of the clients, which are public.
    columns : sequence of str, or int
        The columns to cluster, or how many there are if they have no names.
    minimum : int, optional
        The fewest clients with whose answers a fit goes on; by default all.
    silos_per_patient : int, default=1
        At how many clients one row's owner, or one id, may have rows. Noise grows with it, so
        it is 1; somebody at two clients is then protected with twice the mu that was promised.
    farewell : callable, optional
        Tells clients that a fit has ended, so that they forget its samples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> tables = {name: rng.normal(60.0, 5.0, (2000, 2)) for name in ("north", "south")}
    >>> from privclust import PEMeans
    >>> federation = Federation.in_process(tables)
    >>> model = PEMeans(1, delta=1e-6, bounds=(0, 120), random_state=0).fit(federation)
    >>> model.participation_[0]
    Attendance(answered=2, asked=2)
    """

    exchange: Exchange
    roster: tuple[str, ...]
    columns: Columns
    minimum: int
    silos_per_patient: int
    farewell: Callable[[bytes], object]

    def __init__(
        self,
        exchange: Exchange,
        roster: Iterable[str],
        columns: Iterable[str] | int,
        *,
        minimum: int | None = None,
        silos_per_patient: int = 1,
        farewell: Callable[[bytes], object] = lambda fit: None,
    ) -> None:
        names = tuple(roster)
        if isinstance(columns, str):  # whose letters would be taken for names
            raise ParameterError(
                f"columns must be a list of names, or how many there are, got {shown(columns)}. "
                f"Name a single column as [{shown(columns)}]."
            )
        given = columns if isinstance(columns, int) else tuple(columns)
        fewest = len(names) if minimum is None else minimum
        if len(set(names)) < len(names) or not _lies_in(fewest, len(names)):
            raise ParameterError(
                "a federation needs clients with names that differ, and a minimum between 1 and "
                f"their number; got {len(names)} name(s) and minimum={shown(minimum)}."
            )
        if not _lies_in(silos_per_patient, len(names)):
            raise ParameterError(
                "silos_per_patient must be a whole number between 1 and the number of clients, "
                f"{len(names)}, got {shown(silos_per_patient)}."
            )
        values = (exchange, names, given, fewest, silos_per_patient, farewell)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    @clears_frames
    def in_process(
        cls,
        tables: Mapping[str, Any],
        columns: Iterable[str] | None = None,
        *,
        minimum: int | None = None,
        silos_per_patient: int = 1,
    ) -> Federation:
        """Return a federation of tables in this process, for tests, notebooks and rehearsals.

        `tables` has one for each client, by name. `columns` are by default all that they have; give
        them if one is a column of ids. `minimum` and `silos_per_patient` are those of the class.
        """
        clients = {name: Client(table) for name, table in tables.items()}

        def exchange(questions: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
            return ((name, clients[name].answer(asked)) for name, asked in questions.items())

        def farewell(fit: bytes) -> None:
            for client in clients.values():
                client.forget(fit)

        return cls(
            exchange,
            clients,
            _common_columns(clients) if columns is None else columns,
            minimum=minimum,
            silos_per_patient=silos_per_patient,
            farewell=farewell,
        )

    @property
    def schema(self) -> Schema:
        """What is public about the columns."""
        names = None if isinstance(self.columns, int) else self.columns
        n_columns = self.columns if isinstance(self.columns, int) else len(self.columns)
        number: Kind = "number"
        return Schema(names, (number,) * n_columns)

    def without(self, column: str | None) -> Federation:
        """Return the federation without `column`, if it is among those to cluster."""
        if isinstance(self.columns, int) or column not in self.columns:
            return self
        return replace(self, columns=tuple(name for name in self.columns if name != column))

    def engine(self, domain: Domain, unit: Unit) -> FederatedEngine:
        """Put the federation behind an engine; an estimator does, with its `domain` and `unit`.

        The unit ``"client"`` means a whole client. What every client would refuse, whatever is
        asked, is refused here: before anything is charged.
        """
        whole = unit.column == CLIENT
        silos = 1 if whole else self.silos_per_patient
        engine = FederatedEngine(self, domain, replace(unit, whole=whole, silos=silos))
        engine.check_question()
        return engine


class FederatedEngine:
    """Sums queries over the clients of a federation.

    Attributes
    ----------
    attendance : list of Attendance
        One for each question so far, those of samples included.
    """

    def __init__(self, federation: Federation, domain: Domain, unit: Unit) -> None:
        self.n_columns = domain.center.size
        self.unit = unit
        self.attendance: list[Attendance] = []
        self._federation = federation
        self._domain = domain
        self._fit = secrets.token_bytes(NONCE_BYTES)
        self._halvings = 0
        self._samples: list[int] = []

    def check_question(self) -> None:
        """Refuse columns and domains about which no question passes the checks of a client."""
        if self.n_columns > WIDTH_MAX:
            raise CostError(
                f"rows of this federation would have {self.n_columns:,} coordinates, and a client "
                f"answers for at most {WIDTH_MAX:,}. Name fewer columns, or declare fewer levels. "
                "Nothing was asked or spent."
            )
        message = self._question(Count(), bytes(NONCE_BYTES))
        if head_size(message) > HEAD_MAX - QUERY_HEAD:
            raise ColumnError(
                f"names and declarations of these columns take {head_size(message):,} bytes of "
                f"each question, and {HEAD_MAX - QUERY_HEAD:,} are allowed. Give columns shorter "
                "names, or name fewer. Nothing was asked or spent."
            )
        if understood(message) is None:
            raise ParameterError(
                "every client would refuse questions about these columns, bounds and unit. Names "
                "must differ, be text, and not be that of the ids; bounds must be finite. Nothing "
                "was asked or spent."
            )

    @guarded
    def aggregate(self, query: Query) -> list[int]:
        """Return the sum of what all units of those clients contribute that answer."""
        federation = self._federation
        nonces = {name: secrets.token_bytes(NONCE_BYTES) for name in federation.roster}
        questions = {name: self._question(query, nonce) for name, nonce in nonces.items()}
        answers = accepted(query, self._of_client, nonces, federation.exchange(questions))
        self.attendance.append(Attendance(len(answers), len(nonces)))
        if len(answers) < federation.minimum:
            raise TooFewClientsError(len(answers), len(nonces), federation.minimum)
        found = np.zeros(query.size, dtype=object)
        for values in answers.values():
            found += values
        return [int(value) for value in found]

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: each client draws its own sample when it is first asked of it."""

    def sample(self, halvings: int, key: bytes) -> Engine:
        """Return an engine over some of the units, each in or out by a coin of its client's.

        Each client draws by a key of its own, which nobody else knows: `key` stays unused
        (docs/proofs/federation.md).
        """
        some = FederatedEngine(self._federation, self._domain, self.unit)
        some.attendance = self.attendance
        some._fit, some._halvings = self._fit, halvings
        self._samples.append(halvings)
        return some

    def close(self) -> None:
        """Let clients forget their samples, if any was drawn: the fit has ended."""
        if self._samples:
            # A fit that is paid for must not be lost over it; samples go a day later.
            with suppress(Exception):
                self._federation.farewell(self._fit)

    @property
    def _of_client(self) -> Unit:
        """What counts as one among the rows of one client."""
        return replace(self.unit, silos=0)

    def _question(self, query: Query, nonce: bytes) -> bytes:
        columns, unit = self._federation.columns, self._of_client
        return encode(
            Question(nonce, self._fit, columns, self._domain, unit, self._halvings, query)
        )


def accepted(
    query: Query,
    unit: Unit,
    nonces: Mapping[str, bytes],
    answers: Iterable[tuple[str, bytes]],
) -> dict[str, NDArray[np.object_]]:
    """Return the first answer of each client that can be one; all others are discarded.

    An answer to an earlier question has another nonce; a second one finds the first in its place.
    A client that says it failed is not absent: going on without it would tell of its rows.
    """
    found: dict[str, NDArray[np.object_]] = {}
    failed = False
    for name, answer in answers:
        if name not in nonces or name in found:
            continue
        if not secrets.compare_digest(answer[:NONCE_BYTES], nonces[name]):
            continue
        failed = failed or answer[NONCE_BYTES:] == FAILED
        if len(answer) != answer_size(query):
            continue
        values = np.frombuffer(answer[NONCE_BYTES:], dtype="<i8").astype(object)
        if _possible(query, unit, values):
            found[name] = values
    if failed:
        raise FailedClientError
    return found


def _possible(query: Query, unit: Unit, values: NDArray[np.object_]) -> bool:
    """Tell whether a client that follows the rules could have given an answer."""
    sizes = np.abs(values)
    if sizes.max(initial=0) > LARGEST or (query.bounds.monotone and values.min(initial=0) < 0):
        return False
    if not unit.whole:
        return True
    bounds = unit.bounds(query)
    return bool(
        sizes.sum() <= bounds.l1
        and (sizes * sizes).sum() <= bounds.l2_squared
        and sizes.max(initial=0) <= bounds.linf
    )


def _lies_in(number: object, most: int) -> bool:
    """Tell whether something is a whole number from 1 to `most`."""
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= most


def _common_columns(clients: Mapping[str, Client]) -> Columns:
    schemas = [client.schema for client in clients.values()]
    if len({(schema.names, schema.n_columns) for schema in schemas}) > 1:
        raise ColumnError(
            "the tables of a federation must have the same columns in the same order. Name those "
            "to cluster with columns=[...]."
        )
    if not schemas:
        return 0  # refused with the empty roster
    return schemas[0].n_columns if schemas[0].names is None else schemas[0].names
