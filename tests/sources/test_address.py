"""Addresses are told from paths, and none that holds a password is taken or repeated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from privclust import PrivateKMeans
from privclust.errors import ParameterError, UnreadableFileError
from privclust.sources.address import check_no_password, is_database, refuse_address
from privclust.sources.files import open_files

SECRET = "s3kr3t"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ada:{SECRET}@db.example/clinic",
        f"postgres://ada:{SECRET}@db.example:5432/clinic?sslmode=require",
        f"postgresql://ada:a/{SECRET}@db.example/clinic",
        f"postgresql://db.example/clinic?user=ada&password={SECRET}",
        f"postgresql://db.example/clinic?PASSWORD={SECRET}",
        f"postgresql://db.example/clinic?sslpassword={SECRET}",
        f"postgresql://ada:{SECRET}@[::bad/clinic",
        f"postgresql://db.example/clinic?oauth_client_secret={SECRET}",
        f"postgresql://db.example/clinic?scram_client_key={SECRET}",
    ],
)
def test_a_password_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ParameterError, match=r"holds a password.*\.pgpass") as refused:
        check_no_password(address)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://db.example/clinic",
        "postgresql://ada@db.example:5432/clinic?sslmode=require",
        "postgresql:///clinic?service=nightly",
        "postgresql://[::1]:5432/clinic",
        "sqlite:///clinic.db",
    ],
)
def test_addresses_without_one_are_taken(address: str) -> None:
    check_no_password(address)
    assert is_database(address)


@pytest.mark.parametrize("scheme", ["postgresql", "ftp", "mysql", "hdfs"])
def test_an_address_in_place_of_a_path_is_refused_without_it(scheme: str) -> None:
    with pytest.raises(UnreadableFileError, match=f"begins with {scheme}:// is no path") as refused:
        refuse_address(f"{scheme}://ada:{SECRET}@host/place.parquet")
    assert SECRET not in str(refused.value)


def test_a_fit_to_an_address_shows_no_password() -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)})
    with pytest.raises(UnreadableFileError, match=r"privclust\.sql") as refused:
        model.fit(f"postgresql://ada:{SECRET}@127.0.0.1:1/clinic")
    assert SECRET not in str(refused.value)


@pytest.mark.attack
@pytest.mark.parametrize(
    "path",
    [
        f"host=db.example user=ada password={SECRET}",
        f"jdbc:postgresql://db.example/clinic?user=ada&password={SECRET}",
        f" postgresql://ada:{SECRET}@db.example/clinic",
        f"postgresql:ada:{SECRET}@db.example/clinic",
        Path(f"postgresql://ada:{SECRET}@db.example/clinic"),
        f"s3:/AKIATEST:{SECRET}@clinic/visits",
        f"ada:{SECRET}@db.example/clinic",
    ],
)
def test_a_miswritten_address_shows_no_password(path: str | Path) -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)})
    with pytest.raises(UnreadableFileError, match="looks like an address") as refused:
        model.fit(path)
    assert SECRET not in str(refused.value)


def test_a_path_that_only_looks_so_is_read(tmp_path: Path) -> None:
    file = tmp_path / "visits 10:30@clinic.csv"
    file.write_text("age\n40\n", encoding="utf-8")
    assert open_files(file)[0].names == ("age",)
    with pytest.raises(FileNotFoundError, match=r"at 'ada@clinic\.csv'"):
        open_files("ada@clinic.csv")


def test_an_array_is_no_address() -> None:
    assert not is_database(np.zeros(3))
    refuse_address(np.zeros(3))


def test_a_password_in_place_of_a_port_is_refused() -> None:
    for address in ("postgresql://ada:s3kr3t/clinic", "postgresql://db/c?pass%77ord=s3kr3t"):
        with pytest.raises(ParameterError, match="holds a password") as refused:
            check_no_password(address)
        assert "s3kr3t" not in str(refused.value)
    for address in ("postgresql://[::1]:5432/c", "postgresql://a:1,b:2/c", "postgresql://%2Frun/c"):
        check_no_password(address)
