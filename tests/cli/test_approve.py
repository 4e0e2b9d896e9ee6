"""``privclust approve``: from a model and its ledger to signed papers, and a changed byte found."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import error_message, lay_out, privclust
from helpers.signing import write_keys

from privclust import Ledger, PrivateKMeans, save
from privclust.cli._pages import file_hash
from privclust.models.approval.approval_file import Approval, read_approval
from privclust.models.model_file import read_model
from privclust.models.report.approval_page import approval_page
from privclust.models.report.pdf import to_pdf

FIT = ("fit", "visits.parquet", "--bounds", "visits.toml", "-k", 2, "--delta", 1e-6, "--seed", 0)
PEOPLE = ("--requested-by", "A. Ito", "--approved-by", "B. Sow", "--purpose", "staffing")
KEY = ("--key", "officer.key", "--passphrase-file", "passphrase")
LEDGER = ("--ledger", "budget.db")
PAPERS = ("model.json", "approval.json", "approval.html", "approval.pdf")


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_keys(tmp_path)
    Ledger.create("budget.db", "visits", epsilon=3.0, delta=1e-6)
    done = privclust(*FIT, "--ledger", "budget.db", "--dataset", "visits", "--out", "model.json")
    assert done.exit_code == 0, done.output


def test_a_release_is_approved_signed_and_any_changed_file_found() -> None:
    before = Path("model.json").read_bytes(), Ledger.open("budget.db").head()
    done = privclust(
        "approve", "model.json", *PEOPLE, "--ledger", "budget.db", "--pdf", "approval.pdf"
    )
    assert done.exit_code == 0, done.output
    assert "Nothing is signed yet" in done.output
    assert before == (Path("model.json").read_bytes(), Ledger.open("budget.db").head())
    approval = json.loads(Path("approval.json").read_text(encoding="utf-8"))
    assert approval["purpose"] == "staffing"
    assert approval["ledger"]["head"] == before[1]
    done = privclust("sign", *PAPERS, *KEY, *LEDGER)
    assert done.exit_code == 0, done.output
    check = ("verify", "signature.json", "--public-key", "officer.pub")
    assert privclust(*check).exit_code == 0
    for name in PAPERS:
        content = Path(name).read_bytes()
        Path(name).write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
        error_message(privclust(*check), 1, f"'{name}' was changed after it was signed")
        Path(name).write_bytes(content)
    assert privclust(*check).exit_code == 0


def test_a_reference_is_on_the_page_and_in_what_verify_says() -> None:
    approved = ("approve", "model.json", *PEOPLE, *LEDGER)
    assert privclust(*approved).exit_code == 0
    assert "<dt>Reference</dt>" not in Path("approval.html").read_text(encoding="utf-8")
    assert privclust(*approved, "--reference", "DPO 2026/17", "--force").exit_code == 0
    page = Path("approval.html").read_text(encoding="utf-8")
    assert "<dt>Reference</dt><dd>DPO 2026/17</dd>" in page
    assert "The names on this page are typed; no key is tied to them." in page
    assert "with what B. Sow says in person" in page
    assert privclust("sign", *PAPERS[:3], *KEY, *LEDGER).exit_code == 0
    done = privclust("verify", "signature.json", "--public-key", "officer.pub")
    assert "Reference: DPO 2026/17" in done.output.splitlines()
    done = privclust(*approved, "--reference", "two\nlines", "--force")
    error_message(done, 3, "reference must be 1 to")


@pytest.mark.attack
@pytest.mark.parametrize("options", [(), ("--min-size", 700)])
def test_a_page_that_says_something_else_is_not_signed(options: tuple[Any, ...]) -> None:
    done = privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db", *options)
    assert done.exit_code == 0, done.output
    page, papers = Path("approval.html"), ("model.json", "approval.json", "approval.html")
    honest = page.read_text(encoding="utf-8")
    assert honest.count("staffing") > 0
    for told in (
        honest.replace("staffing", "marketing"),
        honest + "\n",
        honest.replace("1e-06", "0"),
    ):
        page.write_text(told, encoding="utf-8")
        if told != honest:
            done = privclust("sign", *papers, *KEY, *LEDGER)
            error_message(done, 3, "the page 'approval.html' is not what privclust", "Sign nothing")
            assert not Path("signature.json").exists()
    page.write_text(honest, encoding="utf-8")
    assert privclust("sign", *papers, *KEY, *LEDGER).exit_code == 0


@pytest.mark.attack
@pytest.mark.parametrize("paper", ["A4", pytest.param("letter", marks=pytest.mark.long)])
def test_a_pdf_of_another_page_is_not_signed(paper: Any) -> None:
    printed = ("--ledger", "budget.db", "--pdf", "approval.pdf", "--paper", paper)
    assert privclust("approve", "model.json", *PEOPLE, *printed).exit_code == 0
    told = Path("approval.html").read_text(encoding="utf-8").replace("staffing", "marketing")
    honest, file = Path("approval.pdf").read_bytes(), Path("approval.pdf")
    for content in (to_pdf(told, paper), honest + b"\n", b"%PDF-1.7\n"):
        file.write_bytes(content)
        done = privclust("sign", *PAPERS, *KEY, *LEDGER)
        error_message(done, 3, "the PDF 'approval.pdf' is not what is printed", "sign the page")
        assert not Path("signature.json").exists()
    file.write_bytes(honest)
    done = privclust("sign", *PAPERS, *KEY, *LEDGER)
    assert done.exit_code == 0, done.output


@pytest.mark.attack
def test_a_page_without_its_approval_is_not_signed() -> None:
    assert privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db").exit_code == 0
    done = privclust("sign", "model.json", "approval.html", *KEY)
    error_message(done, 3, "together with its approval", "approval.json")


@pytest.mark.attack
def test_other_data_sets_of_the_ledger_are_on_the_page_and_compared() -> None:
    """Who splits one table among names had a total of each name alone."""
    assert privclust("approve", "model.json", *PEOPLE, *LEDGER).exit_code == 0
    page = Path("approval.html")
    assert "There are none. This page does not know other ledgers." in page.read_text("utf-8")
    Ledger.create("budget.db", "visits bis", epsilon=2.0, delta=1e-6)
    second = ("--dataset", "visits bis", "--out", "second.json")
    assert privclust(*FIT, *LEDGER, *second).exit_code == 0
    error_message(privclust("sign", *PAPERS[:3], *KEY, *LEDGER), 9, "something was recorded since")
    assert privclust("approve", "model.json", *PEOPLE, *LEDGER, "--force").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "&#39;visits bis&#39;</th>" in text
    assert "what was recorded of them comes together to epsilon = 1.4" in text
    assert "Do the other data sets of this ledger (1, listed above) hold the same people?" in text
    content = json.loads(Path("approval.json").read_text(encoding="utf-8"))
    content["other_datasets"] = []
    Path("approval.json").write_text(
        json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    told = approval_page(read_model("model.json"), read_approval(Path("approval.json")))
    page.write_text(told, encoding="utf-8")
    done = privclust("sign", *PAPERS[:3], *KEY, *LEDGER)
    error_message(done, 9, "something else of where the table comes from, of the ledger's other")


@pytest.mark.attack
def test_a_total_that_has_grown_is_not_signed() -> None:
    papers = ("model.json", "approval.json", "approval.html")
    assert privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db").exit_code == 0
    done = privclust("sign", *papers, *KEY, "--ledger", "budget.db")
    assert done.exit_code == 0, done.output
    privclust(*FIT, "--ledger", "budget.db", "--dataset", "visits", "--out", "second.json")
    done = privclust("sign", *papers, *KEY, "--ledger", "budget.db", "--force")
    error_message(done, 9, "something was recorded since")


@pytest.mark.attack
def test_an_approval_that_names_another_ledger_is_not_signed() -> None:
    papers = ("model.json", "approval.json", "approval.html")
    assert privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db").exit_code == 0
    assert "The ledger: file &#39;budget.db&#39;." in Path("approval.html").read_text(
        encoding="utf-8"
    )
    Path("budget.db").rename("other.db")
    done = privclust("sign", *papers, *KEY, "--ledger", "other.db")
    error_message(done, 9, "names the ledger", "budget.db", "this is file 'other.db'")


def test_the_page_has_the_words_of_the_ledgers_owner() -> None:
    source = "register of <wards>" + "x" * 10_000
    Ledger.create("owned.db", "visits", epsilon=3.0, delta=1e-6, source=source)
    recorded = ("--ledger", "owned.db", "--dataset", "visits", "--out", "owned.json")
    assert privclust(*FIT, *recorded).exit_code == 0
    done = privclust("approve", "owned.json", *PEOPLE, "--ledger", "owned.db")
    assert done.exit_code == 0, done.output
    page = Path("approval.html").read_text(encoding="utf-8")
    assert "in the words of the ledger's owner: &#39;register of &lt;wards&gt;xxx" in page
    assert "x" * 100 not in page


@pytest.mark.attack
def test_an_approval_that_claims_to_have_checked_numbers_is_not_signed() -> None:
    """Who writes the approval may claim that the numbers were worked out anew."""
    content = json.loads(Path("model.json").read_text(encoding="utf-8"))
    content["coreset"]["points"][0].reverse()
    Path("model.json").write_text(json.dumps(content), encoding="utf-8")
    model, total = read_model("model.json"), Ledger.open("budget.db").total("visits")
    hashed = file_hash(Path("model.json"))
    people = ("visits", "staffing", "A. Ito", "B. Sow", "2026-11-17", hashed)
    claimed = Approval(*people, ledger=total, ledger_place="file 'budget.db'", recomputed=True)
    Path("approval.json").write_text(claimed.to_json(), encoding="utf-8")
    Path("approval.html").write_text(approval_page(model, claimed), encoding="utf-8")
    papers = ("model.json", "approval.json", "approval.html")
    done = privclust("sign", *papers, *KEY, "--ledger", "budget.db")
    error_message(done, 9, "coreset is not what follows from its results", "nothing")


@pytest.mark.attack
def test_a_page_that_speaks_of_a_ledger_is_signed_beside_it_alone() -> None:
    assert privclust("approve", "model.json", *PEOPLE, *LEDGER).exit_code == 0
    done = privclust("sign", *PAPERS[:3], *KEY)
    error_message(done, 3, "speaks of a ledger, file 'budget.db'", "--ledger")


@pytest.mark.attack
@pytest.mark.parametrize("told", ["ledger_source", "recomputed"])
def test_what_a_page_says_of_the_ledger_is_compared_before_it_is_signed(told: str) -> None:
    approved = ("approve", "model.json", *PEOPLE, *LEDGER)
    assert privclust(*approved).exit_code == 0
    content = json.loads(Path("approval.json").read_text(encoding="utf-8"))
    content[told] = "'public toys'" if told == "ledger_source" else False
    Path("approval.json").write_text(
        json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    page = approval_page(read_model("model.json"), read_approval(Path("approval.json")))
    Path("approval.html").write_text(page, encoding="utf-8")
    done = privclust("sign", *PAPERS[:3], *KEY, *LEDGER)
    error_message(done, 9, "something else of where the table comes from")


@pytest.mark.attack
def test_a_profile_with_another_number_is_not_signed() -> None:
    table = ("visits.parquet", "--bounds", "visits.toml", "--columns", "age")
    paid = ("--epsilon", 0.5, "--delta", 1e-7, *LEDGER, "--dataset", "visits")
    done = privclust("profile", "model.json", *table, *paid, "-o", "profile.json")
    assert done.exit_code == 0, done.output
    released = ("approve", "model.json", *PEOPLE, *LEDGER, "--profile", "profile.json")
    assert privclust(*released).exit_code == 0
    before = file_hash(Path("profile.json"))
    text = Path("profile.json").read_text(encoding="utf-8")
    number = next(iter(re.findall(r"0\.\d{12,}", text)))
    Path("profile.json").write_text(
        text.replace(number, number[:3] + "9" + number[4:]), encoding="utf-8"
    )
    after = file_hash(Path("profile.json"))
    for name in ("approval.json", "approval.html"):
        Path(name).write_text(
            Path(name).read_text(encoding="utf-8").replace(before, after), encoding="utf-8"
        )
    papers = ("model.json", "profile.json", "approval.json", "approval.html")
    done = privclust("sign", *papers, *KEY, *LEDGER)
    error_message(done, 12, "profile.json was changed after 'privclust profile' wrote it")
    assert not Path("signature.json").exists()


@pytest.mark.attack
def test_digits_that_no_number_has_are_found() -> None:
    text = Path("model.json").read_text(encoding="utf-8")
    size = json.dumps(json.loads(text)["cluster_sizes"][0])
    assert text.count(size) > 0
    Path("model.json").write_text(text.replace(size, f"{size}000000000000012", 1), encoding="utf-8")
    assert json.loads(Path("model.json").read_text(encoding="utf-8")) == json.loads(text)
    done = privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db")
    error_message(done, 9, "how its numbers are written is not what follows")


def test_a_weak_total_is_red_and_a_recorded_name_stays() -> None:
    Ledger.create("weak.db", "visits", epsilon=30.0, delta=1e-6)
    recorded = ("--ledger", "weak.db", "--dataset", "visits", "--out", "weak.json")
    for _ in range(2):
        assert privclust(*FIT, "--epsilon", 7.5, *recorded, "--force").exit_code == 0
    done = privclust("approve", "weak.json", *PEOPLE, "--ledger", "weak.db")
    assert done.exit_code == 0, done.output
    assert "Both runs on data set 'visits'" in done.stderr
    assert '<p class="broken">Both runs' in Path("approval.html").read_text(encoding="utf-8")
    done = privclust("approve", "weak.json", *PEOPLE, "--dataset", "other", "--force")
    error_message(done, 3, "recorded for data set 'visits', and not for 'other'")


@pytest.mark.attack
def test_columns_under_other_names_are_not_approved() -> None:
    text = Path("model.json").read_text(encoding="utf-8")
    swapped = {"age": "weight", "weight": "age"}
    told = re.sub(r'"(age|weight)"', lambda found: f'"{swapped[found[1]]}"', text)
    assert told != text
    Path("model.json").write_text(told, encoding="utf-8")
    done = privclust("approve", "model.json", *PEOPLE, *LEDGER)
    error_message(done, 9, "clustered_columns was ")


CHANGES: dict[str, Any] = {
    "cluster_centers": lambda content: content["cluster_centers"][0].reverse(),
    "n_rows": lambda content: content.update(n_rows=content["n_rows"] + 1),
    "fit_warning": lambda content: content.update(fit_warning="Jane Doe"),
    "coreset": lambda content: content["coreset"]["points"][0].reverse(),
    "domain": lambda content: content["domain"]["box"].update(lower=[-0.5, 0.0]),
}


@pytest.mark.attack
@pytest.mark.parametrize("key", CHANGES)
def test_numbers_that_do_not_follow_from_the_results_are_not_approved(key: str) -> None:
    content = json.loads(Path("model.json").read_text(encoding="utf-8"))
    assert privclust("ledger", "verify", "budget.db", "--model", "model.json").exit_code == 0
    CHANGES[key](content)
    Path("model.json").write_text(json.dumps(content), encoding="utf-8")
    done = privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db")
    error_message(done, 9, "bounds was" if key == "domain" else f"{key} is not what follows")
    assert not Path("approval.json").exists()
    done = privclust("ledger", "verify", "budget.db", "--model", "model.json")
    assert done.exit_code == 1
    assert Ledger.open("budget.db").verify() == []


def test_a_page_says_whether_numbers_were_worked_out_anew() -> None:
    words = ("approve", "model.json", *PEOPLE)
    assert privclust(*words, "--ledger", "budget.db").exit_code == 0
    assert "worked out anew from the results" in Path("approval.html").read_text(encoding="utf-8")
    assert privclust(*words, "--force").exit_code == 0
    page = Path("approval.html").read_text(encoding="utf-8")
    assert "Whether they do was not checked" in page
    assert "worked out anew" not in page


@pytest.mark.attack
def test_a_model_of_another_version_than_was_recorded_is_not_approved() -> None:
    content = json.loads(Path("model.json").read_text(encoding="utf-8"))
    content["statement"]["version"] = "0.0.1"
    Path("model.json").write_text(json.dumps(content), encoding="utf-8")
    done = privclust("approve", "model.json", *PEOPLE, *LEDGER)
    error_message(done, 9, "what is recorded differs from the version of privclust that made it")
    done = privclust("ledger", "verify", "budget.db", "--model", "model.json")
    assert "the version of privclust that made it" in done.output
    assert done.exit_code == 1


def test_only_what_was_paid_for_may_have_cost_budget() -> None:
    approved = ("approve", "model.json", *PEOPLE, *LEDGER)
    assert privclust(*approved).exit_code == 0
    message = error_message(privclust(*approved), 10, "approval.json exists already. Name another")
    assert "budget" not in message
    assert privclust("sign", *PAPERS[:3], *KEY, *LEDGER).exit_code == 0
    done = privclust("sign", *PAPERS[:3], *KEY, *LEDGER)
    assert "budget" not in error_message(done, 10, "signature.json exists already. Name")
    done = privclust(*approved, "-o", "model.json")
    error_message(done, 3, "have the same name")
    error_message(privclust(*FIT, "-o", "model.json"), 10, "may have cost budget")


def test_what_cannot_be_worked_out_anew_is_said_once() -> None:
    second = ("--init", "model.json", *LEDGER, "--dataset", "visits", "--out", "second.json")
    assert privclust(*FIT, *second).exit_code == 0
    approved = privclust("approve", "second.json", *PEOPLE, *LEDGER)
    assert approved.exit_code == 0, approved.output
    done = privclust("sign", "second.json", *PAPERS[1:3], *KEY, *LEDGER)
    assert done.exit_code == 0, done.output
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "it starts from another model" in done.stderr


def test_a_model_that_the_ledger_contradicts_is_not_approved() -> None:
    content = json.loads(Path("model.json").read_text(encoding="utf-8"))
    content["statement"]["bounds_origin"] = "public data"
    Path("model.json").write_text(json.dumps(content), encoding="utf-8")
    done = privclust("approve", "model.json", *PEOPLE, "--ledger", "budget.db")
    error_message(done, 9, "the origin of its bounds", "Approve nothing")
    assert not Path("approval.json").exists()


@pytest.mark.attack
def test_a_total_that_leaves_runs_out_is_not_written() -> None:
    """A model that starts from an unrecorded fit guarantees less than its ledger's total says."""
    given: dict[str, Any] = {"delta": 1e-6, "bounds": "visits.toml", "random_state": 0}
    first = PrivateKMeans(2, epsilon=6.0, **given).fit("visits.parquet")
    given |= {"ledger": "budget.db", "dataset": "visits"}
    second = PrivateKMeans(2, init=first, epsilon=1.0, **given).fit("visits.parquet")
    save(second, "second.json")
    done = privclust("approve", "second.json", *PEOPLE, "--ledger", "budget.db")
    error_message(done, 9, "follows from runs that the ledger did not record")
    assert not Path("approval.json").exists()


def test_a_fit_that_no_ledger_recorded_wants_a_name() -> None:
    done = privclust(*FIT, "--out", "alone.json")
    assert done.exit_code == 0, done.output
    error_message(privclust("approve", "alone.json", *PEOPLE), 3, "--dataset")
    done = privclust("approve", "alone.json", *PEOPLE, "--dataset", "visits of 2026")
    assert done.exit_code == 0, done.output
    assert "nobody counted" in Path("approval.html").read_text(encoding="utf-8")


def test_people_and_purpose_are_words() -> None:
    done = privclust("approve", "model.json", *PEOPLE, "--purpose", " ", "--ledger", "budget.db")
    error_message(done, 3, "purpose must be 1 to")


@pytest.mark.parametrize("pdf", [(), ("--pdf", "printed/approval.pdf")])
def test_the_suggested_commands_run_as_printed(pdf: tuple[str, ...]) -> None:
    """The papers may be written anywhere; who signs and who checks copy what is printed."""
    for folder in ("for signature", "printed"):
        Path(folder).mkdir()
    papers = ("--ledger", "budget.db", "-o", "for signature/approval.json")
    done = privclust("approve", "model.json", *PEOPLE, *papers, *pdf)
    assert done.exit_code == 0, done.output
    copy, sign = (shlex.split(line) for line in done.stdout.splitlines() if line.startswith("  "))
    assert copy[0] == "cp"
    subprocess.run(copy, check=True, stdin=subprocess.DEVNULL)
    given = [word.replace("YOURS.key", "officer.key") for word in sign[1:]]
    done = privclust(*given, "--passphrase-file", "passphrase")
    assert done.exit_code == 0, done.output
    check = shlex.split(done.stdout.split("checks it with:")[1])
    done = privclust(*check[1:])
    assert done.exit_code == 0, done.output
    assert "model.json (model)" in done.output


def test_papers_of_one_name_are_not_written() -> None:
    Path("papers").mkdir()
    done = privclust("approve", "model.json", *PEOPLE, "-o", "papers/model.json")
    error_message(done, 3, "have the same name", "--out")
    assert not list(Path("papers").iterdir())


@pytest.mark.attack
def test_a_strange_name_in_the_ledger_is_shown_short_and_can_be_signed() -> None:
    name = "\u202e<b>" + "x" * 10_000
    Ledger.create("strange.db", name, epsilon=3.0, delta=1e-6)
    recorded = ("--ledger", "strange.db", "--dataset", name, "--out", "strange.json")
    assert privclust(*FIT, *recorded).exit_code == 0
    done = privclust("approve", "strange.json", *PEOPLE, "--ledger", "strange.db")
    assert done.exit_code == 0, done.output
    assert "Release for approval: &#39;\\u202e&lt;b&gt;xxx" in Path("approval.html").read_text(
        encoding="utf-8"
    )
    papers = ("strange.json", "approval.json", "approval.html")
    done = privclust("sign", *papers, *KEY, "--ledger", "strange.db")
    assert done.exit_code == 0, done.output
