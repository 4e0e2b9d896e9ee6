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


def test_a_run_shows_its_fit_and_how_much_of_its_reservation_is_spent() -> None:
    """It had a name and a state, as if no more were known of it."""
    ledger = Ledger.in_memory()
    ledger.add("patients", 3.0, 1e-6)
    whole = gaussian_spend(1000, l0=1)
    facts = {"estimator": "PrivateKMeans", "n_clusters": "8", "epsilon": "1", "seed": "5"}
    name = ledger.reserve("patients", whole + whole, facts)
    ledger.claim(name, "sizes", whole, b"query")
    words = "PrivateKMeans, 8 clusters, epsilon 1, open, results: 1, for 50.0 % of what it reserved"
    assert repr(ledger.runs("patients")) == f"(<Run {name} of 'patients': {words}>,)"
