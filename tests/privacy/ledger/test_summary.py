"""A ledger at a prompt and in a notebook."""

from __future__ import annotations

from privclust import Ledger
from privclust.privacy.accounting import gaussian_spend


def test_a_ledger_shows_each_data_set_and_what_is_left() -> None:
    ledger = Ledger.in_memory()
    assert str(ledger) == repr(ledger) == "a ledger without data sets"
    ledger.add("patients", 3.0, 1e-6, unit="person")
    ledger.add("<b>visits</b>", 1.0, 1e-6)
    first = "patients: epsilon 3 left for one more run, of 3 in all at delta 1e-06; runs: 0"
    assert str(ledger).splitlines()[0] == first
    half = gaussian_spend(ledger.remaining("patients").quanta // 2, l0=1)
    ledger.reserve("patients", half, {})
    left = ledger.epsilon_left("patients")
    shown = float(str(ledger).split()[2])
    assert 0.99 * left <= shown <= left
    html = ledger._repr_html_()
    assert "<td>patients</td><td>person</td><td>3</td>" in html
    assert "&lt;b&gt;visits" in html
    assert "<b>" not in html
