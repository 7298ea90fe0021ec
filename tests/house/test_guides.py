"""Every example in the guides runs and prints what it says, and lists of names are complete."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import plots, scaling
from calibrant._research.papers import soft_mean, truthful
from calibrant._research.papers.folder import Figure
from calibrant._research.papers.soft_mean_experiments import run
from needs import need
from page_examples import has_examples, run_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    str(path.relative_to(DOCS).with_suffix("")): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
GUIDES = [name for name, text in PAGES.items() if has_examples(text)]
# Pages that draw figures are run when the site is built, which fails where one prints something
# else than it shows (tests/site).
DRAWN = {name for name in GUIDES if "<!-- figure:" in PAGES[name]}
CONCEPTS = (
    "calibration",
    "which-measure",
    "uncertainty",
    "soft-labels",
    "comparing-models",
    "recalibration",
)
# Losses for training, which need torch to be imported.
WRITTEN = (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split()
LOSSES = {name.rpartition(".")[2] for name in WRITTEN if name.startswith("calibrant.losses.")}
# What a guide shows that is not part of every installation, as the page itself says.
NEEDS = re.compile(r"^<!-- needs: (.+) -->$", re.MULTILINE)


def test_there_are_guides():
    """Every task and every concept has examples that run (test_words.py has which pages exist)."""
    assert set(GUIDES) >= {"start/five-minutes", "start/python", "start/browser"}
    tasks = {name for name in PAGES if name.startswith(("howto/", "concepts/"))}
    assert tasks - set(GUIDES) <= {"howto/questions", "howto/r"}
    concepts = {name for name in DRAWN if name.startswith("concepts/")}
    # The page on measures has tables and no picture.
    assert concepts == {f"concepts/{page}" for page in CONCEPTS if page != "which-measure"}
    assert {"howto/diagrams", "howto/before-after-figure"} <= DRAWN


@pytest.mark.parametrize("guide", [name for name in GUIDES if name not in DRAWN])
def test_guide_examples(guide, tmp_path, monkeypatch):
    if guide == "research/papers":
        # What is printed depends neither on how many replications there are nor on how figures
        # are drawn (tests/papers).
        few = {"n_ranking": 2, "n_sizes": 2, "n_outcomes": 2}
        monkeypatch.setattr(soft_mean, "run", lambda **options: run(**{**options, **few}))
        # Tables of pools are read and ranked there, too: one of them stands for all.
        monkeypatch.setattr(truthful, "SHIPPED", {"cross": truthful.SHIPPED["cross"]})
        monkeypatch.setattr(Figure, "svg", b"<svg></svg>")
        monkeypatch.setattr(Figure, "png", b"")
    for package in " ".join(NEEDS.findall(PAGES[guide])).split():
        need(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    tried, wrong = run_page(PAGES[guide], f"docs/{guide}.md")
    assert tried >= 3
    assert not wrong, "\n".join(wrong)


# --- lists of names: made by hand, held to what there is ------------------------------------------

MEASURES = {measure.name for measure in cal.catalogue()}
CODE = re.compile(r"`([^`\n]+)`")


def prose(page: str) -> str:
    """A page without its fences."""
    return re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)


def rows_under(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    text = PAGES[page].partition(f"## {heading}\n")[2]
    table = text[text.index("\n|") :].strip("\n").partition("\n\n")[0]
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_measure_that_a_guide_names_is_there():
    known = MEASURES | set(cal.__all__) | LOSSES
    for page in PAGES:
        named = {code for code in CODE.findall(prose(page)) if re.fullmatch(r"[a-z0-9_]+", code)}
        alike = {code for code in named if re.search(r"(^|_)(ce|ece|cs)$|_(error|loss)$", code)}
        assert alike <= known, f"{page}: {alike - known}"


def test_the_guide_says_how_each_measure_gets_its_interval():
    losses = {measure.name for measure in cal.catalogue() if measure.notion == "loss"}
    listed: dict[str, int] = {}
    for i, (measures, _) in enumerate(rows_under("research/coverage", "Intervals")):
        names = CODE.findall(measures) + (sorted(losses) if "losses" in measures else [])
        assert not set(names) & set(listed), "a measure is in two rows"
        listed.update(dict.fromkeys(names, i))
    assert set(listed) == MEASURES
    rng = np.random.default_rng(0)
    p = rng.random(120)
    rows = rng.dirichlet([1, 1, 1], 120)
    methods: dict[int, set[str]] = {}
    for y, predicted, shape in (
        (rng.random(120) < p, p, "binary"),
        ([rng.choice(3, p=row) for row in rows], rows, "multiclass"),
    ):
        # What has parts refuses hard labels, and its limits are those of its parts.
        names = [measure.name for measure in cal.catalogue(shape) if not measure.parts]
        result = cal.evaluate(y, predicted, measures=names, uncertainty=True, n_resamples=50)
        for estimate in result.estimates:
            methods.setdefault(listed[estimate.name], set()).add(estimate.interval.method)
    # The second row is the same method on other sums.
    assert methods[0] == methods[1] == {"test inversion over a least-favourable family"}
    assert all(len(found) == 1 for found in methods.values())
    assert len({*map(frozenset, methods.values())}) == 6


def test_the_guide_names_what_a_monitor_measures_by_default():
    default = rows_under("howto/monitor", "What a window costs")[0]
    assert tuple(CODE.findall(default[0])) == cal.Monitor().measures


def test_the_guides_name_every_map_and_every_diagram():
    maps = {CODE.findall(row[0])[0] for row in rows_under("concepts/recalibration", "Which map")}
    assert maps == {scaler.__name__ for scaler in scaling.SCALERS.values()}
    named = CODE.findall(prose("howto/diagrams"))
    # `before_after` arranges diagrams, and has a page of its own.
    displays = set(plots.__all__) - {"before_after"}
    assert {name for name in named if name.endswith("Display")} == displays
    # A figure for each, and one for the bars, which are another style.
    assert PAGES["howto/diagrams"].count("<!-- figure:") == len(displays) + 1
