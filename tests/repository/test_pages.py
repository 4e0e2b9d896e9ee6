"""Every page of the documents runs as printed (tests/helpers/pages.py says by which rules)."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from helpers.pages import DOCS, agrees, blocks_of, pictures_of, run

from privclust.domains.bounds import declared_columns
from privclust.privacy.accounting import mu_of

FOLDERS = ("start", "tutorials", "explanations", "how-to")
ALONE = (
    "approval.md",
    "bounds.md",
    "federated.md",
    "postprocessing.md",
    "profiles.md",
    "reference/cheat-sheet.md",
    "reference/comparison.md",
    "series.md",
)
PAGES = sorted(
    [page for folder in FOLDERS for page in (DOCS / folder).glob("*.md")]
    + [DOCS / name for name in ALONE]
)
FEDERATED, APP = DOCS / "federated.md", DOCS.parent / "examples" / "federation"
WRITTEN = {
    "approval.md": ["approval.pdf"],
    "postprocessing.md": ["hierarchy.png"],
    "series.md": ["year.db"],
}
"""Files that pages say they write."""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_runs_as_printed(page: Path) -> None:
    """Numbers that are certain are rounded to where ten standard errors of noise do not show."""
    if page == FEDERATED:
        shutil.copytree(APP, APP.name)  # as the page says
    assert run(page).differences() == []
    for file in WRITTEN.get(page.name, ()):
        assert Path(file).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_pictures_of_a_page_are_there(page: Path) -> None:
    for picture in pictures_of(page):
        assert picture.exists()


def test_the_code_of_the_first_page_runs_on_the_table_of_the_quickstart() -> None:
    table, *_ = blocks_of((DOCS / "start" / "quickstart.md").read_text())[1:]
    (code,) = [b for b in blocks_of((DOCS / "index.md").read_text()) if b.language == "python"]
    names: dict[str, object] = {}
    exec(compile(table.content, "quickstart.md", "exec"), names)
    exec(compile(code.content, "index.md", "exec"), names)


def test_the_file_of_the_page_on_profiles_declares_what_its_mapping_does() -> None:
    profile = run(DOCS / "profiles.md").names["profile"]
    columns, origin = declared_columns(Path("profile.toml"), ["income", "ward"])
    assert columns == tuple(one.column for one in profile.columns)
    assert origin == "domain knowledge"


@pytest.mark.parametrize(
    ("page", "words", "total", "each", "fits"),
    [
        ("nightly-job.md", "Epsilon 4 pays for about 45 nights of 0.5", 4.0, 0.5, 45),
        ("every-month.md", "Epsilon 3 pays for twelve months of 0.75", 3.0, 0.75, 12),
    ],
)
def test_a_budget_pays_for_as_many_fits_as_its_page_says(
    page: str, words: str, total: float, each: float, fits: int
) -> None:
    assert words in (DOCS / "how-to" / page).read_text(encoding="utf-8")
    assert int((mu_of(total, 1e-6) / mu_of(each, 1e-6)) ** 2) == fits


def test_the_page_on_installing_names_what_each_extra_pulls() -> None:
    declared = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    extras = declared["optional-dependencies"]
    lines = (DOCS / "start" / "install.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    pulled = {extra: set(names.split(", ")) for _, extra, names in rows[1:] if "[" not in names}
    for extra, names in pulled.items():
        wanted = extras[extra.strip("`")] if "`" in extra else declared["dependencies"]
        found = {re.split(r"[\[<>=;]", requirement)[0] for requirement in wanted}
        assert names == found
    assert {"`cli`", "`report`", "`spark`", "`flower`", "`sql`"} <= set(pulled)


def test_the_app_of_the_federation_is_the_one_that_its_page_names() -> None:
    assert "cp -r examples/federation ." in FEDERATED.read_text()
    for name in ("pyproject.toml", "bounds.toml", "consortium/client.py", "consortium/server.py"):
        assert (APP / name).exists()


def test_the_page_on_federations_needs_nothing_that_its_install_does_not_bring() -> None:
    blocks = blocks_of(FEDERATED.read_text())
    code = "\n".join(one.content for one in blocks if one.language == "python")
    imported = set(re.findall(r"^(?:import|from) (\w+)", code, flags=re.MULTILINE))
    assert imported == {"numpy", "pyarrow", "privclust"}


@pytest.mark.parametrize(
    ("shown", "printed", "certain", "expected"),
    [
        ("[[ 34.1 117.9]]", "[[134.2  17.]]", False, True),
        ("[[34.1 117.9]]", "[[34.1]]", False, False),
        ("two rows", "two columns", False, False),
        ("3 of 3", "3 of 4", True, False),
        ("3 of 3", "3  of\n3", True, True),
        ("first\n...\nlast", "first\nsecond 2\nlast", True, True),
        ("run c716946571ac9794", "run aaaaaaaaaaaaaaaa", False, True),
    ],
)
def test_words_count_and_numbers_where_they_are_certain(
    shown: str, printed: str, certain: bool, expected: bool
) -> None:
    assert agrees(shown, printed, certain) is expected


def test_a_text_belongs_to_the_code_right_before_it() -> None:
    text = (
        "```python\nprint(1)\n```\n\n<!-- certain -->\n```text\n1\n```\n\nSo:\n\n```text\n2\n```\n"
    )
    assert [(one.language, one.note, one.follows) for one in blocks_of(text)] == [
        ("python", "", False),
        ("text", "certain", True),
        ("text", "", False),
    ]
