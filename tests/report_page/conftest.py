"""A real Chromium, and the pages that the tests open in it: each is made once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import examples
from calibrant._api.report.report import report
from chromium import chromium
from needs import need

NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "x" * 300,
    "a &amp; b \u2028 'q' \"d\"",
    "{{ 7 * 7 }}",
)


@pytest.fixture(scope="module")
def browser() -> Any:
    need("altair")
    need("vl_convert")
    with chromium() as started:
        yield started


@dataclass
class Opened:
    """A page in the browser, with everything it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


def _opened(browser: Any, path: Path, width: int, options: dict[str, Any]) -> tuple[Any, Opened]:
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    opened = Opened(context.new_page())
    opened.page.on("console", lambda message: opened.said.append(message.text))
    opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.page.on("request", lambda request: opened.asked.append(request.url))
    opened.page.on("dialog", lambda d: (opened.dialogs.append(d.message), d.dismiss()))
    opened.page.goto(path.as_uri())
    opened.page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    return context, opened


@pytest.fixture
def visit(browser):
    """Open a file; what went wrong on it is kept."""
    contexts = []

    def go(path: Path, *, width: int = 1200, **options: Any) -> Opened:
        context, opened = _opened(browser, path, width, options)
        contexts.append(context)
        return opened

    yield go
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def look(browser):
    """A page that several tests look at, opened once: drawing one takes longer than most of them.
    They read what no other changes, or choose what they read.
    """
    pages: dict[Path, tuple[Any, Opened]] = {}

    def at(path: Path) -> Opened:
        if path not in pages:
            pages[path] = _opened(browser, path, 1200, {})
        return pages[path][1]

    yield at
    for context, _ in pages.values():
        context.close()


@dataclass(frozen=True)
class Made:
    """A page on disk, and what it was made of."""

    path: Path
    y: Any
    p: Any
    report: Any


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def saved(folder: Path, stem: str, y: Any, p: Any, **options: Any) -> Made:
    need("altair")
    made = report(y, p, **options)
    return Made(made.save(folder / f"{stem}.html"), y, p, made)


@pytest.fixture(scope="session")
def fashion(folder):
    """Ten classes, hard labels, slices."""
    e = examples.load("fashion")
    y, p = e.test_labels[:900], e.test_proba[:900]
    half = np.where(np.arange(900) % 2, "odd", "even")
    return saved(folder, "fashion", y, p, name="Fashion", by=half, source={"file": "fashion.npz"})


@pytest.fixture(scope="session")
def soft(folder):
    """A binary problem with soft labels."""
    e = examples.load("fashion-shirt")
    return saved(folder, "soft", e.test_soft_labels[:500], e.test_proba[:500])


@pytest.fixture(scope="session")
def nasty(folder):
    """Names that would be code, were they not text."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5) * 0.5, 300)
    labels = (p.cumsum(axis=1)[:, :-1] < rng.random(300)[:, None]).sum(axis=1)
    y = np.array(NASTY, dtype=object)[labels]
    return saved(
        folder, "nasty", y, p, classes=list(NASTY), name=f"</title>{NASTY[0]}",
        by=np.array(NASTY, dtype=object)[labels[::-1] % 3], source={NASTY[1]: NASTY[0]},
    )  # fmt: skip


@pytest.fixture(scope="session")
def compared(folder):
    """Three predictors, one with a bad name."""
    need("altair")
    e = examples.load("fashion-shirt")
    y, h = e.test_labels[:800], e.test_logits[:800]
    proba = {name: 1 / (1 + np.exp(-h / t)) for name, t in (("as is", 1), ("T 1.8", 1.8),
             (NASTY[0] + "y" * 300, 4))}  # fmt: skip
    found = cal.compare(y, proba, n_resamples=100, by=np.arange(800) % 2)
    path = found.save(folder / "compared.html", source="three temperatures")
    return Made(path, y, proba, found)
