"""The site in docs/_build, in a browser: on a narrow screen, a wide one, and for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from helpers.chromium import Browser, program, running, served
from typer.main import get_command

from privclust.cli import app

BUILT = Path(__file__).parents[2] / "docs" / "_build"
PAGES = (
    "index",
    "start/quickstart",
    "tutorials/first-clustering",
    "gallery/index",
    "gallery/plot_rivals",
    "benchmarks",
    "assurance",
    "benchmarks/accuracy",
    "explanations/epsilon",
    "explanations/how-it-works",
    "how-to/nightly-job",
    "reference/comparison",
    "reference/faq",
    "stories/credit",
    "stories/uber",
    "reference/generated/privclust.PrivateKMeans",
)
BUNDLE = "_static/styles/pages.css"
FONT = "_static/vendor/fontawesome/webfonts/fa-solid-900.woff2"
PAGE_BYTES = 500_000
"""Of the first page with all that it loads, uncompressed; the theme alone would send 2.8 MB."""
WIDTHS = (390, 1280)
"""A telephone and a small laptop."""
VIEWS = list(product(PAGES, WIDTHS))
TOO_WIDE = """
// A box may scroll by itself, such as one with code; a page may not.
[...document.querySelectorAll("article :is(img, pre, table, p, li, dt)")]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .filter(e => { for (let at = e; at.tagName != "ARTICLE"; at = at.parentElement)
                   if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return false;
                 return true; })
  .map(e => e.outerHTML.slice(0, 120))
"""
AXE = files("axe_core_python").joinpath("axe.min.js").read_text() + "; 1"
SEVERE = """
axe.run({resultTypes: ["violations"]}).then(found => found.violations
  .filter(v => ["serious", "critical"].includes(v.impact))
  .flatMap(v => v.nodes.map(node => `${v.id}: ${node.html.slice(0, 200)}`)))
"""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    if not (BUILT / "index.html").exists():
        pytest.skip("the site is not built; sphinx-build -W docs docs/_build does it")
    with served(BUILT) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = program()
    if chromium is None:
        pytest.skip("no Chromium; Debian's package chromium has one")
    with running(chromium) as found:
        yield found


@pytest.mark.parametrize(("page", "width"), VIEWS)
def test_a_page_fits_and_can_be_used_by_everybody(
    page: str, width: int, site: str, browser: Browser
) -> None:
    assert faults_of(f"{page}.html", width, "light", site, browser) == []


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), list(product(WIDTHS, ("light", "dark"))))
def test_all_pages_fit_and_can_be_used_by_everybody(
    width: int, scheme: str, site: str, browser: Browser
) -> None:
    files = [file.relative_to(BUILT) for file in sorted(BUILT.rglob("*.html"))]
    pages = [str(file) for file in files if "_static" not in file.parts]  # templates lie there
    found = {page: faults_of(page, width, scheme, site, browser) for page in pages}
    assert {page: faults for page, faults in found.items() if faults} == {}


def faults_of(page: str, width: int, scheme: str, site: str, browser: Browser) -> list[str]:
    """Return what a page loads from elsewhere, what does not fit, and what axe-core finds."""
    browser.open(f"{site}/{page}", width, scheme=scheme)
    loaded = browser.evaluate('performance.getEntriesByType("resource").map(e => e.name)')
    faults = [f"loads {name}" for name in loaded if not name.startswith((site, "data:"))]
    if browser.evaluate("document.documentElement.scrollWidth") > width:
        faults.append("scrolls sideways")
    faults += browser.evaluate(TOO_WIDE)
    browser.evaluate(AXE)
    return faults + list(browser.evaluate(SEVERE))


@pytest.mark.parametrize("page", ["index", "start/quickstart", "gallery/plot_rivals"])
def test_other_sites_show_a_card_and_words_of_the_page(
    page: str, site: str, browser: Browser
) -> None:
    browser.open(f"{site}/{page}.html", WIDTHS[1])
    tags = dict(
        browser.evaluate(
            """[...document.querySelectorAll("meta[property], meta[name]")]
            .map(tag => [tag.getAttribute("property") || tag.name, tag.content])"""
        )
    )
    assert tags["description"] == tags["og:description"]
    assert 20 < len(tags["description"]) < 165
    assert browser.evaluate("document.title").startswith(tags["og:title"])
    size = browser.evaluate(
        f"""new Promise(done => {{ const card = new Image(); card.src = "{tags["og:image"]}";
        card.onload = () => done([card.width, card.height]); card.onerror = () => done([]); }})"""
    )
    assert size == [int(tags["og:image:width"]), int(tags["og:image:height"])]


def test_a_page_loads_what_it_uses(site: str, browser: Browser) -> None:
    browser.open(f"{site}/index.html", WIDTHS[1])
    loaded = dict(
        browser.evaluate(
            """performance.getEntriesByType("resource")
            .map(entry => [new URL(entry.name).pathname, entry.decodedBodySize])"""
        )
    )
    assert [name for name in loaded if name.endswith(".css")] == [f"/{BUNDLE}"]
    assert not [name for name in loaded if "fontawesome.js" in name or "search" in name]
    assert not [name for name in loaded if name.endswith("-dark.svg")]
    assert 0 < sum(loaded.values()) < PAGE_BYTES
    sizes = browser.evaluate(
        """[...document.querySelectorAll('article img[src*="_images/"]')]
        .filter(image => image.offsetParent).map(image => [image.width, image.height])"""
    )
    assert sizes
    assert all(width > height > 0 for width, height in sizes)


@pytest.mark.usefixtures("site")
def test_icons_that_pages_show_are_in_the_font() -> None:
    styles = (BUILT / BUNDLE).read_text(encoding="utf-8")
    icons = dict(re.findall(r'\.(fa-[\w-]+)(?:,[^{]*)?\{--fa:"\\([0-9a-f]+)', styles))
    font = set(TTFont(BUILT / FONT).getBestCmap())
    assert {"fa-magnifying-glass", "fa-moon", "fa-bars"} <= icons.keys()
    assert {int(code, 16) for code in icons.values()} <= font
    assert len(font) < 100


@pytest.mark.usefixtures("site")
def test_styles_are_those_of_classes_that_pages_or_scripts_have() -> None:
    styles = (BUILT / BUNDLE).read_text(encoding="utf-8")
    assert ".prev-next-area" in styles
    assert ".collapsing" in styles  # which a script sets
    assert ".ablog__prev-next" not in styles
    assert styles.count("{") == styles.count("}")


@pytest.mark.usefixtures("site")
def test_every_command_and_option_is_on_its_page() -> None:
    page = (BUILT / "reference" / "command-line.html").read_text()
    shown = set(re.findall(r'<span class="pre">(--?[\w-]+)</span>', page))
    headings = " ".join(re.findall(r"<h2>(.*?)<a ", page))
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        assert f">{name}</span>" in headings
        below = getattr(command, "commands", {name: command})
        for option in (o for one in below.values() for p in one.params for o in p.opts):
            assert not option.startswith("-") or option == "--help" or option in shown


@pytest.mark.usefixtures("site")
def test_numbers_stay_with_their_units_and_long_names_and_sentences_break() -> None:
    assurance = (BUILT / "assurance.html").read_text(encoding="utf-8")
    assert "models/<wbr>test_<wbr>" in assurance
    assert "less than 5\N{NO-BREAK SPACE}% (" in assurance
    start = (BUILT / "start" / "quickstart.html").read_text(encoding="utf-8")
    assert start.count('class="sentences highlight-text') == 1  # the statement; arrays stay
    assert not [code for code in re.findall(r"(?s)<pre>.*?</pre>", start) if "\xa0" in code]


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("FAQ", "reference/faq"),
        ("GDPR", "reference/faq"),
        ("PyPI", "reference/faq"),
        ("epsilon", "explanations/epsilon"),
    ],
)
def test_the_search_finds_what_people_type(
    word: str, page: str, site: str, browser: Browser
) -> None:
    browser.open(f"{site}/search.html?q={word}", WIDTHS[1])
    links = (
        '[...document.querySelectorAll("#search-results li a")].map(a => a.getAttribute("href"))'
    )
    browser.wait_for(f'{links}.some(link => link.includes("{page}.html"))')


def test_the_slider_changes_what_it_says(site: str, browser: Browser) -> None:
    browser.open(f"{site}/explanations/epsilon.html", WIDTHS[0])
    shown = '[...document.querySelectorAll("#epsilon-words p")].filter(p => !p.hidden)[0].innerText'
    before = browser.evaluate(shown)
    browser.evaluate(
        """(() => { const range = document.getElementById("epsilon-range"); range.value = 0;
        range.dispatchEvent(new Event("input")); return 1; })()"""
    )
    assert browser.evaluate(shown) != before
    assert browser.evaluate('document.getElementById("epsilon-value").textContent') == "0.05"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_search_finds_the_flagship(width: int, site: str, browser: Browser) -> None:
    browser.open(f"{site}/search.html?q=PrivateKMeans", width)
    browser.wait_for('document.querySelectorAll("#search-results li a").length > 0')
    links = browser.evaluate(
        '[...document.querySelectorAll("#search-results li a")].map(a => a.getAttribute("href"))'
    )
    assert any("privclust.PrivateKMeans.html" in link for link in links)


def test_faults_would_be_noticed(site: str, browser: Browser) -> None:
    browser.open(f"{site}/index.html", WIDTHS[0])
    browser.evaluate(AXE)
    browser.evaluate(
        """document.querySelector("article").insertAdjacentHTML("beforeend",
        "<img src='data:,' style='display: block; width: 900px; max-width: none; height: 9px'>"); 1
        """
    )
    assert [fault.split(":")[0] for fault in browser.evaluate(SEVERE)] == ["image-alt"]
    assert len(browser.evaluate(TOO_WIDE)) == 1
