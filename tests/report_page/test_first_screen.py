"""The first screen of a page: the verdict in its colour, the diagram beside it, and tiles."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant.results._pages.first_screen import first_screen
from calibrant.results._verdict import slope_words
from cli.command import csv, run
from needs import need
from printed import printed
from report_page.conftest import follow

PAGES = ["fashion", "soft", "nasty"]


def box(page, selector):
    """The top and the bottom of an element on the screen."""
    found = page.locator(selector).first.bounding_box()
    return found["y"], found["y"] + found["height"]


@pytest.mark.parametrize("name", PAGES)
def test_the_diagram_is_beside_the_verdict(look, request, name):
    page = look(request.getfixturevalue(name).path, width=1400).page
    page.evaluate("scrollTo(0, 0)")
    for selector in (".answer", "#diagram"):
        top, bottom = box(page, selector)
        assert 0 < top < bottom <= 900
    answer = page.locator(".answer").bounding_box()
    assert answer["x"] + answer["width"] <= page.locator("#diagram").bounding_box()["x"]


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_the_diagram_is_right_below_the_tiles(look, request, name):
    page = look(request.getfixturevalue(name).path, width=390).page
    follow(page, 390)
    below = box(page, ".taken" if page.locator(".taken").count() else ".facts")[1]
    assert below <= box(page, "#diagram")[0] <= below + 60
    assert box(page, ".facts")[1] <= below < box(page, "#controls")[0]


@pytest.mark.parametrize("name", [*PAGES, "compared"])
def test_a_page_prints_on_at_most_six_sheets(look, request, name):
    page = look(request.getfixturevalue(name).path).page
    page.emulate_media(media="print")
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert 1 <= len(sheets) <= 6


@cache
def small():
    """A binary report of few measures: predictions that are too extreme."""
    need("jinja2")
    return cal.report(*extreme(), measures=["ece", "brier"], recalibrate="platt")


def extreme():
    rng = np.random.default_rng(3)
    h = 2 * rng.normal(size=800) - 1
    y = (rng.random(800) < 1 / (1 + np.exp(-0.6 * h))).astype(int)
    return y, 1 / (1 + np.exp(-h))


def tiles(found, *, clinical=False):
    return {t.name: (t.value, t.small) for t in first_screen(found, clinical=clinical)["tiles"]}


@pytest.mark.parametrize(
    ("word", "within", "tone", "said"),
    [
        ("miscalibrated", False, "bad", "is above the tolerance of 0.05."),
        ("miscalibrated", None, "unsure", "lies inside the 95% interval of the ECE."),
        ("miscalibrated", True, "good", "is within the tolerance of 0.05."),
        ("not enough data", None, "unsure", "About 3,000 rows would decide."),
        ("calibrated within noise", True, "good", "is within the tolerance of 0.05."),
    ],
)
def test_red_is_beyond_the_tolerance_and_green_within(word, within, tone, said):
    found = small()
    verdict = replace(
        found.evaluation.verdict,
        verdict=word,
        within_tolerance=within,
        gap_low=0.04,
        gap_high=0.06,
        rows_needed=3000 if word == "not enough data" else None,
    )
    found = replace(found, evaluation=replace(found.evaluation, verdict=verdict))
    page = found.to_html()
    assert f'class="verdict {tone}"' in page and said in page
    assert str(verdict) not in page  # its numbers are in the tiles


@pytest.mark.parametrize("limits", [(-0.6, -0.2), (-0.3, 0.1), (0.2, 0.6), (1.1, 1.9)])
def test_the_page_calls_a_slope_what_the_verdict_calls_it(limits):
    found, slope = small(), sum(limits) / 2
    slopes = {"slope": slope, "slope_low": limits[0], "slope_high": limits[1]}
    verdict = replace(found.evaluation.verdict, decided_by="slope", **slopes)
    found = replace(found, evaluation=replace(found.evaluation, verdict=verdict))
    reason = first_screen(found, clinical=False)["reasons"][0]
    words = slope_words(slope, limits, 0.98, confidence=False).partition(" (")[0]
    assert reason.lower().startswith(f"{words}: ")


def test_a_verdict_has_its_colour(look, fashion):
    page = look(fashion.path).page
    tone = first_screen(fashion.report, clinical=False)["tone"]
    assert tone == "unsure"  # or the next lines would test another colour
    wanted = page.evaluate(
        """() => {
          const probe = document.createElement("i");
          probe.style.color = "var(--unsure)";
          document.body.append(probe);
          const colour = getComputedStyle(probe).color;
          probe.remove();
          return colour;
        }"""
    )
    shown = page.eval_on_selector(".answer", "each => getComputedStyle(each).color")
    assert shown == wanted


def test_tiles_are_python_s(look, fashion):
    page = look(fashion.path).page
    seen = dict(
        page.eval_on_selector_all(
            ".facts div",
            "all => all.map(d => [d.querySelector('dt').textContent,"
            " d.querySelector('dd').firstChild.textContent])",
        )
    )
    estimate, table = fashion.report.evaluation.estimate("ece"), fashion.report.evaluation
    accuracy = np.mean(fashion.p.argmax(axis=1) == fashion.y)
    assert seen["rows"] == f"{len(fashion.y):,}" and seen["accuracy"] == f"{accuracy:.3f}"
    assert seen["mean confidence"] == f"{fashion.p.max(axis=1).mean():.3f}"
    assert seen["ECE"] == f"{estimate.estimate:.3f}"
    assert table.verdict.decided_by != "slope" or seen["slope"] == f"{table.verdict.slope:.2f}"


def test_a_binary_page_has_prevalence_and_slope():
    found, summary = small(), cal.clinical_summary(*extreme())
    found = replace(found, evaluation=replace(found.evaluation, clinical=summary))
    own, slope = tiles(found), summary["slope"]
    assert list(own) == ["rows", "prevalence", "mean prediction", "ECE", "slope"]
    assert own["slope"] == (f"{slope:.2f}", f"95% CI {slope.low:.2f} to {slope.high:.2f}")
    # The clinical summary has the slope, where it comes right below.
    assert "slope" not in tiles(found, clinical=True)


def test_a_fact_is_there_once():
    found = small()
    page = found.to_html()
    ece = tiles(found)["ECE"]
    assert page.count(ece[1]) == 1
    for sentence in found.sentences[:2]:
        assert sentence not in page
    # A measure has one row: headlines are not repeated among the others.
    assert len(re.findall(r'<th scope="row"><a href="#g-ece"', page)) == 1


def test_no_curve_is_drawn_unasked_but_the_band_is(look, fashion):
    page = look(fashion.path).page
    areas = "all => all.map(p => p.getAttribute('d')).filter(Boolean).length"
    assert page.is_visible("#band-key") and page.input_value("#curve") == ""
    assert page.eval_on_selector_all("#diagram .mark-area path", areas) == 1
    page.uncheck("#show-band")
    page.wait_for_timeout(100)
    assert page.eval_on_selector_all("#diagram .mark-area path", areas) == 0
    assert page.is_hidden("#band-key")
    page.check("#show-band")


def test_tools_that_do_not_differ_are_folded(look, fashion):
    page = look(fashion.path).page
    own, *others = fashion.report.conventions.rows
    seen = page.locator("#tools > .table-box tbody tr").all_inner_texts()
    assert seen[0].split()[0] == "Calibrant"
    folded = page.locator("#tools details")
    assert folded.locator("tbody tr").count() + len(seen) == len(others) + 1
    assert folded.locator("tbody tr").count() > 0 and not folded.locator("table").is_visible()
    # Each of those that are folded has Calibrant's value in as many bins, or none.
    cells = page.eval_on_selector_all(
        "#tools details tbody tr",
        "rows => rows.map(r => [r.cells[2], r.cells[3]].map(c => c.textContent))",
    )
    assert all({printed(own.at_common), "–"} & set(pair) for pair in cells)


def test_the_clinical_summary_comes_first_where_it_was_asked_for(tmp_path):
    need("jinja2")
    rng = np.random.default_rng(0)
    p = rng.random(200).round(4)
    path = csv(tmp_path / "rows.csv", {"label": (rng.random(200) < p).astype(int), "proba": p})
    orders = []
    for options in (["--clinical"], ["--measures", "ece"]):
        out = tmp_path / "page.html"
        assert run("report", path, "-o", out, *options).returncode == 0
        orders.append(re.findall(r'<section id="(\w+)', out.read_text(encoding="utf-8")))
    first, usual = orders
    assert first[:3] == ["verdict", "clinical", "measures"]
    assert "clinical" not in usual or usual.index("clinical") > usual.index("tools")
