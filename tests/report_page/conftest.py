"""A real Chromium, and the pages that the tests open in it: each is made and opened once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import examples, report
from chromium import chromium
from needs import need

NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "x" * 300,
    "a &amp; b \u2028 'q' \"d\"",
    "{{ 7 * 7 }}",
)


# An error, a truthful one, two losses and an order.
COMPARED = ["ece", "lin_ce", "brier", "log_loss", "auroc"]


@pytest.fixture(scope="module")
def browser() -> Any:
    """One browser and one profile: a page in another takes twice as long to open.

    Of a module: pytest would close one of the folder at its end only, and a process has one loop.
    """
    need("altair")
    need("vl_convert")
    with chromium() as started:
        yield started.new_context()


@dataclass
class Opened:
    """A page in the browser, with everything it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    # Whether a test may have changed what another one reads.
    changed: bool = False

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda d: (self.dialogs.append(d.message), d.dismiss()))

    def load(self, path: Path) -> None:
        for kept in (self.said, self.asked, self.dialogs):
            kept.clear()
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        self.page.evaluate(
            "() => { window.folds = [...document.querySelectorAll('details')]"
            ".map(fold => [fold, fold.open]); }"
        )
        self.changed = False

    def show(self, width: int, scheme: str) -> None:
        """In front, as pages behind others do not follow, on a screen of this width and colour."""
        self.page.bring_to_front()
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(media="screen", color_scheme=scheme)


@pytest.fixture(scope="module")
def tabs(browser):
    """A tab for every page. Drawing one takes longer than most of the tests that look at it."""
    tabs: dict[Path, Opened] = {}

    def tab(path: Path) -> Opened:
        if path not in tabs:
            tabs[path] = Opened(browser.new_page(), changed=True)
        return tabs[path]

    return tab


@pytest.fixture
def visit(tabs):
    """A page as it is when it has just been opened, for tests that leave it otherwise."""

    def go(path: Path, *, width: int = 1200, scheme: str = "light") -> Opened:
        opened = tabs(path)
        opened.show(width, scheme)
        opened.load(path)
        opened.changed = True
        return opened

    return go


@pytest.fixture
def look(tabs):
    """A page that several tests look at, opened once, with its folds as they were.

    They read what no other changes, choose what they read, or put it back.
    """

    def at(path: Path, *, width: int = 1200, scheme: str = "light") -> Opened:
        opened = tabs(path)
        opened.show(width, scheme)
        if opened.changed:
            opened.load(path)
        opened.page.evaluate("folds.forEach(([fold, open]) => { fold.open = open; })")
        return opened

    return at


def follow(page: Any, width: int) -> None:
    """Wait until charts are as wide as a screen or a sheet lets them, and nothing is wider."""
    page.wait_for_function(
        "width => document.documentElement.scrollWidth === width &&"
        " [...document.querySelectorAll('.chart svg')]"
        ".every(svg => svg.getBoundingClientRect().width <= width)",
        arg=width,
    )


@dataclass(frozen=True)
class Made:
    """A page on disk, and what it was made of."""

    path: Path
    y: Any
    p: Any
    report: Any
    options: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def saved(folder: Path, stem: str, y: Any, p: Any, **options: Any) -> Made:
    need("altair")
    made = report(y, p, **options)
    return Made(made.save(folder / f"{stem}.html"), y, p, made, options)


@pytest.fixture(scope="session")
def fashion(folder):
    """Ten classes, hard labels, slices."""
    e = examples.load("fashion")
    y, p = e.test_labels[:900], e.test_proba[:900]
    half = np.where(np.arange(900) % 2, "odd", "even")
    # The other pages have all maps side by side, which are slow to fit to ten classes.
    return saved(
        folder,
        "fashion",
        y,
        p,
        name="Fashion",
        by=half,
        source={"file": "fashion.npz"},
        recalibrate="temperature",
    )


@pytest.fixture(scope="session")
def soft(folder):
    """A binary problem with soft labels."""
    e = examples.load("fashion-shirt")
    # All measures are on the other pages.
    few = ["ece", "rmsce", "smooth_ece", "lin_ce", "brier", "log_loss"]
    return saved(folder, "soft", e.test_soft_labels[:200], e.test_proba[:200], measures=few)


@pytest.fixture(scope="session")
def nasty(folder):
    """Names that would be code, were they not text; and bins of one's own."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5) * 0.5, 300)
    labels = (p.cumsum(axis=1)[:, :-1] < rng.random(300)[:, None]).sum(axis=1)
    y = np.array(NASTY, dtype=object)[labels]
    return saved(
        folder,
        "nasty",
        y,
        p,
        classes=list(NASTY),
        name=f"</title>{NASTY[0]}",
        by=np.array(NASTY, dtype=object)[labels[::-1] % 3],
        source={NASTY[1]: NASTY[0]},
        bins=[0, 0.1, 0.5, 1.0],
    )


@pytest.fixture(scope="session")
def pair(folder):
    """Two predictors whose names are one in the name of a file, by one measure."""
    need("altair")
    rng = np.random.default_rng(0)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    models = {"a b": p, "a-b": p**2}
    found = cal.compare(y, models, measures=["brier"], by=np.arange(120) % 2, n_resamples=50)
    return Made(found.save(folder / "pair.html"), y, models, found)


@pytest.fixture(scope="session")
def compared(folder):
    """Four predictors, two of them alike, and one with a bad name."""
    need("altair")
    e = examples.load("fashion-shirt")
    y, h = e.test_labels[:800], e.test_logits[:800]
    proba = {
        name: 1 / (1 + np.exp(-h / t))
        for name, t in (("as is", 1), ("T 1.8", 1.8), (NASTY[0] + "y" * 300, 4), ("alike", 1))
    }
    found = cal.compare(y, proba, measures=COMPARED, n_resamples=100, by=np.arange(800) % 2)
    path = found.save(folder / "compared.html", source="three temperatures")
    return Made(path, y, proba, found)
