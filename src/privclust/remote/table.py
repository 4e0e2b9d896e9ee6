"""A table at a node of its owner, which estimators fit without a row leaving it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from privclust._frames import clears_frames
from privclust.errors import ColumnError, Message, Parameter, did_you_mean, safe_repr
from privclust.remote._address import Address
from privclust.remote._connection import Certificate, Connection
from privclust.remote._fields import Fields
from privclust.remote._problems import check
from privclust.remote.description import RemoteForecast, TableDescription
from privclust.remote.error import said_as
from privclust.remote.request import Estimator, request_of
from privclust.remote.runs import Report, RunStatus, check_id, run_at_node


class RemoteTable:
    """A table at a node, to be given to `fit`: rows stay there, and its owner's budget binds.

    The node computes the fit, charges its own ledger and sends the released model. Only names and
    parameters travel to it (docs/node.md).

    Parameters
    ----------
    url : str
        Where it is, such as "https://host/tables/credit". TLS is always verified; http:// is for
        127.0.0.1 and localhost alone.
    columns : sequence of str, optional
        Which columns to cluster; by default all that the owner declared.
    token : str, optional
        Who you are: a token of your identity provider. By default it is that of the environment
        variable PRIVCLUST_TOKEN, or of the file that PRIVCLUST_TOKEN_FILE names, read anew for each
        request. It is never shown, pickled or saved.
    ca_file : str, optional
        A PEM file with the authority that signed the node's certificate, if it is your own.
    certificate : str or pair of str, optional
        A PEM file with your client certificate and its key, or one file each, if the node wants it.

    Examples
    --------
    >>> table = RemoteTable("https://node.example/tables/credit", columns=["age", "income"])
    >>> table
    RemoteTable('https://node.example/tables/credit', columns=('age', 'income'))

    With a token in the environment, ``table.describe()`` says what the budget has left, and
    ``PrivateKMeans(8, epsilon=1.0).fit(table)`` returns when the node releases the model.
    """

    labelled_by = (
        "rows of a remote table never leave their node, and neither do labels, which would tell "
        "them apart: fit it, and call model.predict on rows of your own."
    )
    """What `predict` says of it."""

    def __init__(
        self,
        url: str,
        columns: Sequence[str] | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.url = url
        self.columns = _names(columns)
        self.ca_file, self.certificate = ca_file, certificate
        self._connection = Connection(Address.of(url), token, ca_file, certificate)

    def __repr__(self) -> str:
        columns = "" if self.columns is None else f", columns={self.columns!r}"
        return f"{type(self).__name__}({self.url!r}{columns})"

    def __reduce__(self) -> tuple[object, ...]:
        # Without the token: those who get a pickle bring their own.
        return type(self), (self.url, self.columns, None, self.ca_file, self.certificate)

    @clears_frames
    def describe(self) -> TableDescription:
        """Return columns, protected unit, duration and limits, and what the budget has left."""
        path = self._connection.address.path("tables", self._connection.address.table)
        found = TableDescription.of(check(self._connection.send("GET", path), 200).body)
        _check_known(self.columns or (), [column.name for column in found.columns])
        return found

    @clears_frames
    def forecast(self, estimator: Estimator) -> RemoteForecast:
        """Return what a fit of `estimator` would cost and give; nothing is spent."""
        kind, parameters = request_of(estimator)
        parameters.setdefault("delta", self.describe().delta)
        address = self._connection.address
        content = {"estimator": kind, "parameters": parameters, "columns": self._columns}
        path = address.path("tables", address.table, "forecast")
        body = json.dumps(content, allow_nan=False).encode()
        response = self._connection.send("POST", path, body)
        return RemoteForecast.of(check(response, 200).body)

    @clears_frames
    def fits(self) -> tuple[RunStatus, ...]:
        """Return your fits and profiles of this table, to resume or cancel one by its id."""
        address, found = self._connection.address, []
        for place in ("fits", "profiles"):
            response = check(self._connection.send("GET", address.path(place)), 200)
            listed = Fields.of(response.body, f"a list of {place}").parts(place)
            found += [RunStatus.of(one) for one in listed]
        return tuple(one for one in found if one.table == address.table)

    @clears_frames
    def cancel(self, run: str) -> RunStatus:
        """End the fit or profile with the id `run` early; all that it reserved stays spent."""
        name, path = check_id(run, "run"), self._connection.address.path
        response = self._connection.send("POST", path("fits", name, "cancel"), b"{}")
        if response.status == 404:
            response = self._connection.send("POST", path("profiles", name, "cancel"), b"{}")
        return RunStatus.of(Fields.of(check(response, 200, 202).body, "a status"))

    def _run_fit(
        self, kind: str, parameters: Mapping[str, object], resume: str | None, report: Report
    ) -> tuple[str, bytes]:
        """Return the id of a fit and its model file, which nobody has checked."""
        content = {
            "table": self._connection.address.table,
            "estimator": kind,
            "parameters": parameters,
            "columns": self._columns,
        }
        return run_at_node(self._connection, "fit", content, resume, report)

    def _run_profile(
        self, content: Mapping[str, object], resume: str | None, report: Report
    ) -> tuple[str, bytes]:
        """Return the id of a profile and its file, which nobody has checked."""
        return run_at_node(self._connection, "profile", content, resume, report)

    @property
    def _columns(self) -> list[str] | None:
        return None if self.columns is None else list(self.columns)


def _names(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    names = () if isinstance(columns, str) else tuple(columns)
    if (
        not names
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) < len(names)
    ):
        raise ColumnError(
            Message(
                Parameter("columns"),
                " must be a list of different names, such as ",
                said_as("['age', 'income']", "age,income"),
                ". Leave it out to cluster all that the owner declared.",
            )
        )
    return names


def _check_known(columns: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that the owner did not declare; those that they did are public."""
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise ColumnError(
            Message(
                f"the table at the node has no column {safe_repr(unknown[0])} to cluster."
                f"{did_you_mean(unknown, known)} ",
                said_as("Without columns, describe()", "privclust describe"),
                " lists what it has.",
            )
        )
