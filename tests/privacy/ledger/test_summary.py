"""A ledger at a prompt and in a notebook."""

from __future__ import annotations

from privclust import Ledger
from privclust.privacy.accounting import gaussian_spend
from privclust.privacy.ledger._summary import NAMED_RUNS


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


def ledger_with_runs(*epsilons: str) -> Ledger:
    """Return a ledger of a data set that has a run for each epsilon, of a tenth of the budget."""
    ledger = Ledger.in_memory()
    ledger.add("<b>", 3.0, 1e-6)
    cost = gaussian_spend(ledger.remaining("<b>").quanta // 10, l0=1)
    for number, epsilon in enumerate(epsilons):
        ledger.reserve("<b>", cost, {"epsilon": epsilon}, run=f"{number:016x}")
    return ledger


def test_runs_that_have_not_ended_are_shown_with_what_to_do() -> None:
    """They were counted as all others, and kept what they had set aside."""
    ledger = ledger_with_runs("0.5", "1")
    said = "Run 0000000000000000 is open and keeps what it set aside: resume='0000000000000000' "
    assert said in str(ledger)
    assert "ledger.close('0000000000000000') ends it." in str(ledger)
    assert "Run 0000000000000001 is open" in ledger._repr_html_()
    assert "<b>" not in ledger._repr_html_()
    ledger.close("0000000000000000")
    assert "Run 0000000000000000 is open" not in str(ledger)
    assert "Run 0000000000000001 is open" in str(ledger)


def test_only_the_last_open_runs_are_named() -> None:
    text = str(ledger_with_runs(*["0.5"] * 8))
    assert text.count(" is open and keeps ") == NAMED_RUNS
    assert text.endswith("3 more have not ended.")


def test_a_ledger_says_how_many_more_fits_of_the_last_epsilon_it_grants() -> None:
    ledger = ledger_with_runs("0.5", "1")
    assert "The budget is left for 8 more runs at epsilon 1." in str(ledger)
    ledger.close("0000000000000000")  # which was charged nothing
    assert "The budget is left for 9 more runs at epsilon 1." in str(ledger)
    assert "left for 1 more run at epsilon 1." in str(ledger_with_runs(*["1"] * 9))
    assert "left for no more runs at epsilon 1." in str(ledger_with_runs(*["1"] * 10))
    ledger.lower("<b>", None)
    assert "The budget is left for" not in str(ledger)
