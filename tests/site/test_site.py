"""The documentation site: it builds without a warning, is whole, and needs no network."""

from __future__ import annotations

import contextlib
import gc
import posixpath
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import calibrant as cal
from calibrant import examples, plots, results, scaling
from chromium import chromium
from needs import need

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Where the first page leads, whoever reads it.
FIRST = (
    "start/install",
    "start/five-minutes",
    "start/python",
    "howto/choose-a-checkpoint",
    "howto/ci-gate",
    "howto/llm-log",
    "howto/clinical",
    "howto/votes",
    "howto/billions",
    "concepts/which-measure",
    "concepts/calibration",
)
TABS = ["Get started", "How-to", "Concepts", "Reference", "Research"]
# What people search for, in their words, and a page that answers.
SEARCHED = {
    "truthful": "measures/lin_ce",
    "refusal": "howto/llm-confidences",
    "verbalized": "howto/llm-confidences",
    "acc_norm": "howto/llm-log",
    "TRIPOD": "howto/tripod",
    "optimism": "howto/tripod",
    "confidence interval": "concepts/uncertainty",
}
ELSEWHERE = re.compile(r"^(?:https?:)?//", re.IGNORECASE)


# Pages of ours are well formed, and megabytes: expressions read them faster than a parser does.
UNREAD = re.compile(r"<!--.*?-->|(<script\b[^>]*>).*?(?=</script>)", re.DOTALL)
TAG = re.compile(r"<([a-z][a-z0-9-]*)\b((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>", re.IGNORECASE)
ATTRIBUTE = re.compile(r"([a-z-]+)=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
TOLD = {"id", "title", "style", "src", "srcset", "href", "data"}


class Page:
    """What a page loads by itself, where it leads, and what can be linked to on it."""

    def __init__(self, path: Path) -> None:
        content = UNREAD.sub(r"\1", path.read_text(encoding="utf-8"))
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.anchors: set[str] = set()
        self.titles: list[str] = []
        for tag, attributes in TAG.findall(content):
            if "=" in attributes:
                self.read(tag.lower(), attributes)
        self.text = unescape(re.sub(r"<[^>]*>", "", content))
        formulas = re.findall(r"<math\b.*?</math>", content, re.DOTALL)
        self.formulas = [unescape(re.sub(r"<[^>]*>", "", formula)) for formula in formulas]

    def read(self, tag: str, attributes: str) -> None:
        told = {
            name.lower(): unescape(double or single or bare)
            for name, double, single, bare in ATTRIBUTE.findall(attributes)
            if name.lower() in TOLD
        }
        self.anchors.add(told.get("id", ""))
        self.titles.append(told.get("title", ""))
        if tag == "a":
            self.leads.append(told.get("href", ""))
            return
        self.loads += [told[name] for name in ("src", "srcset", "href", "data") if name in told]
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", told.get("style", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python", "latex2mathml"):
        need(package)
    folder = tmp_path_factory.mktemp("site")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    # In this process, which has imported most of what the pages are made of.
    with contextlib.chdir(ROOT), pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        patch.setenv("DISABLE_MKDOCS_2_WARNING", "true")
        config = load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(folder))
        config.plugins.on_startup(command="build", dirty=False)
        # Trees of modules and pages grow and stay: to look for garbage in them takes seconds.
        gc.disable()
        try:
            build(config)
        finally:
            gc.enable()
            config.plugins.on_shutdown()
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    return {str(path.relative_to(site)): Page(path) for path in sorted(site.rglob("*.html"))}


def test_no_page_loads_anything_from_elsewhere(pages):
    assert len(pages) > 60
    found = {name: [a for a in page.loads if ELSEWHERE.match(a)] for name, page in pages.items()}
    assert {name: loads for name, loads in found.items() if loads} == {}


def test_no_style_loads_anything_from_elsewhere(site):
    styles = list(site.rglob("*.css"))
    assert styles
    for path in styles:
        text = path.read_text(encoding="utf-8")
        for address in re.findall(r"(?:url\(|@import )\s*['\"]?([^'\")\s]+)", text):
            assert not ELSEWHERE.match(address), f"{path.name}: {address}"


def test_everyone_finds_their_page_from_the_first(site, pages):
    text = (site / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'class="md-tabs__link">\s*([^<]+?)\s*<', text)
    assert tabs == TABS
    # Beside the navigation, which leads everywhere.
    article = re.search(r"<article.*?</article>", text, re.DOTALL)[0]
    leads = set(re.findall(r'href="([^"]+)"', article))
    assert {f"{page}.html" for page in FIRST} <= leads
    assert leads <= set(pages["index.html"].leads)


def redirects() -> dict[str, str]:
    """Old pages, and where they lead."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    block = re.search(r"redirect_maps:\n((?: {8}.+\n)+)", text)[1]
    return dict(line.strip().split(": ") for line in block.splitlines())


def test_old_addresses_lead_to_their_new_pages(site, pages):
    assert len(redirects()) > 40
    for old, new in redirects().items():
        name = old.replace(".md", ".html")
        (lead,) = pages[name].leads
        there = posixpath.normpath(posixpath.join(posixpath.dirname(name), lead))
        assert there == new.replace(".md", ".html") and (site / there).exists(), old


def test_the_header_has_the_version(site, pages):
    old = {name.replace(".md", ".html") for name in redirects()}
    for name in set(pages) - old:
        if name != "404.html" and not name.startswith("assets/"):
            text = (site / name).read_text(encoding="utf-8")
            header = re.search(r"<header.*?</header>", text, re.DOTALL)[0]
            assert f"<span>{cal.__version__}</span>" in header, name


def test_every_measure_has_a_page(pages):
    names = {measure.name for measure in cal.catalogue()}
    wanted = {"formula", "what-it-promises", "example"}
    parts = {name: wanted & pages[f"measures/{name}.html"].anchors for name in names}
    assert parts == dict.fromkeys(names, wanted)
    assert {f"{name}.html" for name in names} - set(pages["measures/index.html"].leads) == set()


def test_figures_are_drawn_by_the_examples(site, pages):
    shown = [load for load in pages["howto/diagrams.html"].loads if load.endswith(".svg")]
    assert len(shown) == len(plots.__all__)
    assert all((site / "howto" / load).stat().st_size > 5_000 for load in shown)


def test_pages_are_made_by_the_examples(site, pages):
    pattern = r"\.\./assets/.*\.html"
    shown = [load for load in pages["howto/diagrams.html"].loads if re.match(pattern, load)]
    assert shown == [f"../assets/howto-diagrams-{name}.html" for name in ("report", "models")]
    for load, title in zip(shown, ("Shirt or not", "Before and after recalibration"), strict=True):
        assert f"<title>{title}" in (site / "howto" / load).read_text(encoding="utf-8")


def test_formulas_are_drawn_by_the_browser(pages):
    assert len(pages["measures/lin_ce.html"].formulas) == 1
    assert len(pages["reference/measures.html"].formulas) >= 20
    drawn = [formula for page in pages.values() for formula in page.formulas]
    # What the converter does not know stays TeX.
    assert [formula for formula in drawn if "\\" in formula] == []


def public_names() -> dict[str, str]:
    """Every public path, and the shortest one of the same thing, which is its anchor."""
    first: dict[int, str] = {}
    found = {}
    for module in (cal, scaling, plots, results, examples):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing):
                path = f"{module.__name__}.{name}"
                found[path] = first.setdefault(id(thing), path)
    return found


def test_the_reference_has_every_public_name(pages):
    names = public_names()
    assert len(names) > 150
    here = [page.anchors for name, page in pages.items() if name.startswith("reference/")]
    there = set().union(*here)
    led_to = {lead.partition("#")[2] for lead in pages["reference/index.html"].leads}
    assert {path for path, anchor in names.items() if anchor not in there} == set()
    assert {path for path, anchor in names.items() if anchor not in led_to} == set()


def test_the_reference_has_every_loss(pages):
    """Their names are read, not imported: the site is built without torch."""
    page = pages["reference/losses.html"]
    written = (ROOT / "tests/house/public_names.txt").read_text(encoding="utf-8").split()
    paths = [path for path in written if path.startswith("calibrant.losses.")]
    assert len(paths) == 8 and set(paths) <= set(page.anchors)
    leads = pages["reference/index.html"].leads
    assert all(any(lead.endswith(f"#{path}") for lead in leads) for path in paths)


def test_the_reference_names_public_paths_only(pages):
    """Rooms with a leading underscore are nobody's to link to."""
    internal = re.compile(r"calibrant(\.\w+)*\._[a-z]")
    for name, page in pages.items():
        named = [*page.anchors, *page.leads, *page.titles]
        assert [each for each in named if internal.search(each)] == [], name


def test_docstrings_are_shown_section_by_section(pages):
    shown = pages["reference/measures.html"].text
    for section in ("Parameters:", "Returns:", "Raises:", "Examples:"):
        assert shown.count(section) >= 20, section
    assert 'one of "l1", "l2", "max"' in shown


def test_words_are_explained(pages):
    """Words that a first-time reader cannot know are explained where they are first used."""
    anchors = pages["reference/glossary.html"].anchors
    wanted = {"notion", "target", "prediction", "confidence", "statistic", "cell", "cluster"}
    wanted |= {"resampling-block", "noise-floor", "verdict", "truthful", "level-sets"}
    wanted |= {"soft-labels", "estimand"}
    assert wanted <= anchors
    explained = re.compile(r"\]\((\.\./)?(concepts/[\w-]+|reference/glossary|measures/\w+)\.md")
    without = {
        path.relative_to(DOCS).as_posix()
        for folder in ("howto", "concepts", "research")
        for path in (DOCS / folder).glob("*.md")
        if not explained.search(path.read_text(encoding="utf-8"))
    }
    # Pages that show what there is, and explain nothing.
    assert without <= {"howto/r.md", "research/literature.md", "research/speed.md"}


def test_links_between_pages_lead_somewhere(pages):
    for name, page in pages.items():
        for lead in page.leads:
            path, _, anchor = lead.partition("#")
            if not anchor or ELSEWHERE.match(lead) or ":" in path:
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path or name))
            if not path:
                target = name
            assert anchor in pages[target].anchors, f"{name}: {lead}"


@pytest.mark.parametrize("where", ["above", "below"])
def test_a_guide_whose_examples_print_something_else_is_not_built(site, where):
    """So those of guides with figures are tried here, and not once more with other guides'."""
    from mkdocs.exceptions import PluginError

    figures = sys.modules["figures"]  # as the build has loaded it
    session, script = "```python\n>>> {}\n{}\n```\n".format, "```python\n{}\n```\n".format
    right = script("import matplotlib.pyplot") + session("1 + 1", 2)
    wrong = session("2 * 3", 7)
    mark = "<!-- figure: none -->\n"
    assert set(figures.drawn("a.md", right + mark)) == {"assets/a-none.svg"}
    page = wrong + mark + right if where == "above" else right + mark + wrong
    with pytest.raises(PluginError, match="7"):
        figures.drawn("a.md", page)


@pytest.fixture(scope="module")
def tab():
    """One page of a browser for all."""
    with chromium() as started:
        yield started.new_page()


@pytest.fixture
def go(site, tab):
    """Open a page, which must run without an error and ask the network for nothing."""
    asked: list[str] = []
    errors: list[str] = []
    heard = {
        "request": lambda request: asked.append(request.url),
        "pageerror": lambda error: errors.append(str(error)),
        "console": lambda said: errors.append(said.text) if said.type == "error" else None,
    }
    for event, hear in heard.items():
        tab.on(event, hear)

    def to(path: str) -> Any:
        tab.set_viewport_size({"width": 1280, "height": 720})
        tab.goto((site / f"{path}.html").as_uri())
        return tab

    yield to
    for event, hear in heard.items():
        tab.remove_listener(event, hear)
    assert asked and errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


class TestFromDiskInChromium:
    @pytest.mark.parametrize(
        ("path", "scheme"),
        [
            ("index", "dark"),
            ("concepts/which-measure", "light"),
            ("measures/index", "dark"),
            ("measures/lin_ce", "light"),
            ("howto/ci-gate", "dark"),
            ("reference/bins", "light"),
        ],
    )
    def test_pages_open_in_light_and_dark_and_a_phone_needs_no_scrolling_sideways(
        self, tab, go, path, scheme
    ):
        tab.emulate_media(color_scheme=scheme)
        page = go(path)
        wanted = {"light": "default", "dark": "slate"}[scheme]
        assert page.get_attribute("body", "data-md-color-scheme") == wanted
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    def test_the_search_finds_what_people_look_for(self, go):
        page = go("index")
        for words, answer in SEARCHED.items():
            page.click(".md-search__input", click_count=3)
            page.keyboard.type(words)  # in place of the words before
            page.wait_for_selector(f".md-search-result__link[href*='{answer}.html']")

    @pytest.mark.parametrize(
        "path", ["start/five-minutes", "howto/ci-gate", "reference/results", "research/benchmarks"]
    )
    def test_no_code_is_cut(self, go, path):
        """On a screen of usual width every line of code is seen whole."""
        page = go(path)
        page.set_viewport_size({"width": 1400, "height": 900})
        blocks = page.locator("pre > code")
        assert blocks.count() >= 3
        assert blocks.evaluate_all("all => all.every(c => c.scrollWidth <= c.clientWidth + 1)")

    def test_what_is_copied_is_what_is_typed(self, go):
        page = go("measures/ece")
        page.wait_for_selector(".highlight code")
        session = page.locator(".highlight code", has_text=">>> import calibrant").first
        session.evaluate("code => code.setAttribute('data-md-copying', '')")
        copied = session.inner_text()
        assert "import calibrant as cal" in copied
        assert ">>>" not in copied and "0.041" not in copied
