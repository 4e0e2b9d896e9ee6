"""Addresses are read strictly: no token goes where it was not meant to."""

from __future__ import annotations

import pytest

from privclust.errors import ParameterError
from privclust.remote._address import Address, is_address


def test_address_has_host_port_prefix_and_table() -> None:
    found = Address.of("https://host:8443/privclust/tables/credit%20cards")
    assert (found.host, found.port, found.table) == ("host", 8443, "credit cards")
    assert found.path("fits", "a/b") == "/privclust/v1/fits/a%2Fb"
    assert Address.of("https://host/v1/tables/credit") == Address.of("https://host/tables/credit/")


@pytest.mark.parametrize(
    "url",
    [
        "credit.parquet",
        "ftp://host/tables/credit",
        "https://host",
        "https://host/credit",
        "https://host/tables/",
        "https://host/tables/a/b",
        "https://host/tables/a?b=c",
        "https://host/tables/a#b",
        "https://host/tables/%0a",
        "https://host:x/tables/a",
        "https://[::1/tables/a",
        "https:///tables/a",
        7,
    ],
)
def test_what_names_no_table_is_refused(url: object) -> None:
    with pytest.raises(ParameterError, match="https://host/tables/credit"):
        Address.of(url)


def test_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ParameterError, match="PRIVCLUST_TOKEN") as refused:
        Address.of("https://me:secret@host/tables/credit")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:s3kr3t@host/clinic",
        "host=db.example password=s3kr3t",
        "https://host/tables/credit?token=s3kr3t",
    ],
)
def test_what_is_no_address_of_a_table_is_not_repeated(url: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Address.of(url)
    assert "s3kr3t" not in str(refused.value)


def test_clear_text_is_for_this_machine_alone() -> None:
    assert not Address.of("http://127.0.0.1:8000/tables/a").secure
    for host in ("host", "127.0.0.1.host", "localhost.host", "10.0.0.1"):
        with pytest.raises(ParameterError, match="in the clear"):
            Address.of(f"http://{host}/tables/a")


@pytest.mark.parametrize("path", ["C:/tables/a", "tables/a", "s3://bucket/a", "a*.csv", "http:"])
def test_paths_are_not_addresses(path: str) -> None:
    assert not is_address(path)
