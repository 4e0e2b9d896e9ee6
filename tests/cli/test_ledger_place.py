"""A ledger is named without what others must not know."""

from __future__ import annotations

import pytest

from privclust.cli._ledger_place import ledger_name
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

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
    named = ledger_name(url)
    assert "budgets" in named
    assert not [text for text in ("sesame", "ito") if text in named]
    with pytest.raises(LedgerError) as refused:
        Ledger.open(url)
    assert "sesame" not in str(refused.value)


def test_a_file_is_named_without_its_folder_and_on_one_line() -> None:
    assert ledger_name("/srv/secret project/budget.db") == "file 'budget.db'"
    assert ledger_name("two\nlines.db") == r"file 'two\nlines.db'"
    assert len(ledger_name("x" * 10_000)) < 100
