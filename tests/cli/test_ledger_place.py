"""A ledger's place is named without what others must not know."""

from __future__ import annotations

import pytest

from privclust.cli._ledger_place import ledger_name, without_password

URLS = [
    "postgresql://ito:opensesame@db.example.org/budgets",
    "postgresql://ito:opensesame@db.example.org:5433/budgets?sslmode=require",
    "postgresql+psycopg://ito:open%40sesame@db.example.org/budgets?password=opensesame",
    "postgresql:///budgets?host=db.example.org&user=ito&Password=opensesame",
    "postgresql://:opensesame@/budgets?sslpassword=opensesame&passfile=opensesame",
]


@pytest.mark.attack
@pytest.mark.parametrize("url", URLS)
def test_no_password_is_named(url: str) -> None:
    for text in (ledger_name(url), without_password(url)):
        assert "sesame" not in text
        assert "budgets" in text
    assert "ito" not in ledger_name(url)


def test_a_url_without_a_password_stays_as_it_is() -> None:
    url = "postgresql://ito@db.example.org:5433/budgets?sslmode=require"
    assert without_password(url) == url


def test_a_file_is_named_without_its_folder_and_on_one_line() -> None:
    assert ledger_name("/srv/secret project/budget.db") == "file 'budget.db'"
    assert ledger_name("two\nlines.db") == r"file 'two\nlines.db'"
    assert len(ledger_name("x" * 10_000)) < 100
