"""The report page in a real browser: its numbers, its switches, its names, its looks."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import calibrant as cal
from calibrant import report
from printed import printed
from report_page.conftest import NASTY, follow, saved

# A4 less the margins, in CSS pixels.
SHEET = 688
# One, an odd and an even number, the page's own, and the last.
COUNTS = {"equal-width": (1, 7, 50, 100), "quantile": (2, 15, 33, 100)}


def choose(page, *, m=None, rule=None):
    if rule is not None:
        page.check(f"input[name=rule][value={rule}]")
    if m is not None:
        at = page.evaluate(
            "m => JSON.parse(document.getElementById('data').textContent).counts.indexOf(m)", m
        )
        slider = page.locator("#count")
        slider.evaluate("(s, at) => { s.value = at; s.dispatchEvent(new Event('input')); }", at)


def values_on(page):
    return dict(
        page.eval_on_selector_all(
            "#values dd", "all => all.map(d => [d.dataset.measure, d.textContent])"
        )
    )


def see_bins(page, n):
    """Wait until the diagram shows so many bins: a circle each."""
    circles = "document.querySelectorAll('#diagram .mark-symbol path')"
    page.wait_for_function(f"n => {circles}.length === n", arg=n)


def test_the_file_names_no_other_file(fashion):
    text = fashion.path.read_text(encoding="utf-8")
    own = text[: text.index('<script type="application/json"')]
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", own)
    assert "default-src 'none'" in html.unescape(own)


@pytest.mark.parametrize("rule", ["equal-width", "quantile"])
def test_the_slider_shows_what_python_says(look, fashion, rule):
    page = look(fashion.path).page
    bins = {"equal-width": cal.EqualWidth, "quantile": cal.Quantile}[rule]
    choose(page, rule=rule)
    for m in COUNTS[rule]:
        choose(page, m=m)
        y, p = fashion.y, fashion.p
        assert values_on(page) == {
            "ece": printed(cal.ece(y, p, bins=bins(m))),
            "rmsce": printed(cal.ece(y, p, bins=bins(m), norm="l2")),
            "mce": printed(cal.ece(y, p, bins=bins(m), norm="max")),
        } | (  # which the table of measures has in quantile bins
            {
                "debiased_l2": printed(cal.debiased_l2(y, p, bins=m)),
                "confidence_ce": printed(cal.confidence_ce(y, p, bins=m)),
            }
            if rule == "quantile"
            else {}
        )
        assert page.inner_text("#count-shown") == str(m)
        table = cal.reliability(y, p, bins=bins(m))
        rows = page.locator("#bin-table tbody tr")
        assert rows.count() == m
        see_bins(page, sum(n > 0 for n in table.columns()["n"]))


def test_the_table_of_bins_is_python_s(look, fashion):
    page = look(fashion.path).page
    choose(page, m=20, rule="quantile")
    seen = page.eval_on_selector_all(
        "#bin-table tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    columns = cal.reliability(fashion.y, fashion.p, bins=cal.Quantile(20)).intervals(0.95)
    wanted = [
        [f"{n:,}", f"{u:.4f}", f"{z:.4f}", f"{lo:.4f} to {hi:.4f}", f"{g:.4f}"]
        for n, u, z, g, lo, hi in zip(
            *(columns[k] for k in ("n", "mean_predicted", "mean_target", "gap", "low", "high")),
            strict=True,
        )
    ]
    # -0.0000 and 0.0000 are one number.
    assert [[c.replace("-0.0000", "0.0000") for c in row[2:]] for row in seen] == [
        [c.replace("-0.0000", "0.0000") for c in row] for row in wanted
    ]


def test_soft_labels_have_a_hard_view(look, soft):
    page = look(soft.path).page
    choose(page, m=10, rule="equal-width")
    assert values_on(page)["ece"] == printed(cal.ece(soft.y, soft.p, bins=10))
    page.check("input[name=view][value='1']")
    hard = (soft.y > 0.5).astype(int)
    assert values_on(page)["ece"] == printed(cal.ece(hard, soft.p, bins=10))
    choose(page, rule="quantile")
    assert values_on(page)["lin_ce"] == printed(cal.lin_ce(hard, soft.p, bins=10))


def test_curve_and_intervals_can_be_left_out(look, fashion):
    page = look(fashion.path).page
    places = "all => all.map(p => p.getAttribute('d')).filter(Boolean).length"
    without = page.eval_on_selector_all("#diagram .mark-line path", places)
    drawn = page.input_value("#curve")
    # No curve is drawn unasked; the smoothed one says where bins contradict it.
    assert drawn == "" == page.inner_text("#sigma") and page.is_hidden("#curve-key")
    curve = fashion.report.views[0].curve
    for chosen, words in (
        ("isotonic", "Isotonic (CORP)"),
        ("smooth", curve.contradiction),
        ("local", "Local regression, span"),
        ("", ""),
    ):
        page.select_option("#curve", chosen)
        page.wait_for_timeout(100)
        lines = page.eval_on_selector_all("#diagram .mark-line path", places)
        assert lines == without + bool(chosen) and words in page.inner_text("#sigma")
        assert page.is_visible("#curve-key") == bool(chosen)
    assert curve.outside
    page.select_option("#curve", drawn)


def test_the_interval_of_the_largest_gap_is_shaded(look, fashion):
    page = look(fashion.path).page
    found = fashion.report.views[0].cutoffs
    assert page.inner_text("#cutoffs-words") == "" and page.is_hidden("#cutoffs-key")
    page.check("#show-cutoffs")
    page.wait_for_timeout(100)
    words = page.inner_text("#cutoffs-words")
    assert f"from {printed(found.lower)} to {printed(found.upper)}" in words
    assert printed(abs(found.gap)) in words and page.is_visible("#cutoffs-key")
    box = "all => all.map(p => p.getAttribute('d')).filter(Boolean)"
    (path,) = page.eval_on_selector_all("#diagram .mark-rect path", box)
    left, _, width = [float(part) for part in re.findall(r"-?[\d.]+", path)[:3]]
    # The diagonal goes from 0 to 1.
    diagonal = page.eval_on_selector_all("#diagram .mark-line path", box)[0]
    zero, _, one, _ = [float(part) for part in re.findall(r"-?[\d.]+", diagonal)]
    ends = [(x - zero) / (one - zero) for x in (left, left + width)]
    assert ends == pytest.approx([found.lower, found.upper], abs=2e-3)
    page.uncheck("#show-cutoffs")
    page.wait_for_timeout(100)
    assert page.eval_on_selector_all("#diagram .mark-rect path", box) == []
    assert not page.is_visible("#cutoffs-key") and page.inner_text("#cutoffs-words") == ""


def test_measures_have_values_intervals_and_floors(look, fashion):
    page = look(fashion.path).page
    seen = page.eval_on_selector_all(
        ".measures tbody tr:not(.group)",
        "rows => rows.map(r => [r.cells[0].querySelector('a').textContent,"
        " ...[1, 2, 3, 4].map(i => r.cells[i].textContent.trim())])",
    )
    for name, corrected, interval, value, floor in seen:
        estimate = fashion.report.evaluation.estimate(name)
        assert corrected == (printed(estimate.estimate) or "–")
        assert interval == f"{printed(estimate.interval.low)} to {printed(estimate.interval.high)}"
        assert value == printed(estimate.value) + estimate.interval.bias
        known = estimate.noise_floor is not None  # rankings have none
        assert floor == (printed(estimate.noise_floor.upper) if known else "–")
    assert sorted(row[0] for row in seen) == sorted(fashion.report.evaluation.values)


def column(page, table, index):
    return page.eval_on_selector_all(
        f"#{table} tbody tr", "(rows, i) => rows.map(r => r.cells[i].textContent)", index
    )


def test_slices_recalibration_and_recipe_are_told(look, fashion):
    page = look(fashion.path).page
    page.click("#glossary summary")
    page.click("#tools summary")
    text = page.inner_text("main")
    assert {"odd", "even"} == {cell.split()[0] for cell in column(page, "slice-table", 0)}
    change = fashion.report.before_after
    assert change.learned in text and f"{change.n_measured:,} others" in text
    call = "cal.report(y_true, y_proba, recalibrate=['temperature'], by=...)"
    assert "fashion.npz" in text and call in text
    tools = fashion.report.conventions
    for row in tools.rows:
        assert row.why in text
    for entry in fashion.report.glossary:
        assert entry.formula in text and entry.reference in text


def test_slices_say_what_was_predicted_what_happened_and_how_sure(look, fashion):
    page = look(fashion.path).page
    heads = [
        h.split("\n")[0].strip()
        for h in page.locator("#slice-table th[scope=col]").all_inner_texts()
    ]
    assert heads[2:4] == ["mean confidence", "accuracy, 95% CI"] and "tolerance" in heads
    for i, part in enumerate(fashion.report.evaluation.slices):
        cells = page.locator("#slice-table tbody tr").nth(i).locator("th, td").all_inner_texts()
        told = dict(zip(heads, cells, strict=True))
        assert told["mean confidence"] == printed(part.mean_predicted)
        of_accuracy = " to ".join(map(printed, part.accuracy[1:]))
        assert told["accuracy, 95% CI"].split(maxsplit=1) == [
            printed(part.mean_target),
            of_accuracy,
        ]
        interval = f"{printed(part.low)} to {printed(part.high)}"
        assert told["ece, 95% CI"].split(maxsplit=1) == [printed(part.estimate), interval]
        assert told["sample value"] == printed(part.values["ece"])
        assert told["tolerance"] == part.against_tolerance


@pytest.mark.parametrize("name", ["fashion", "soft", "nasty"])
def test_a_phone_scrolls_one_way_only(look, request, name):
    page = look(request.getfixturevalue(name).path, width=390).page
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    follow(page, 390)
    assert page.locator("#diagram svg").bounding_box()["width"] <= 390


def test_the_page_prints(look, soft):
    page = look(soft.path, scheme="dark").page
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF") and len(pdf) > 30_000
    page.emulate_media(media="print")
    assert page.locator("#controls fieldset").first.is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("name", ["fashion", "soft", "nasty", "compared"])
def test_a_sheet_of_paper_loses_no_column(look, request, name):
    page = look(request.getfixturevalue(name).path, width=SHEET).page
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    follow(page, SHEET)
    assert page.locator("th", has_text="picture").count() == 0 or (
        page.locator("th", has_text="picture").first.is_visible()
    )


def test_names_are_text(look, nasty):
    opened = look(nasty.path)
    page = opened.page
    assert opened.said == [] and opened.dialogs == []
    assert page.title() == f"</title>{NASTY[0]}"
    assert page.inner_text("h1") == f"</title>{NASTY[0]}"
    assert set(column(page, "class-table", 0)) == set(NASTY)
    assert {text.removesuffix(" miscalibrated") for text in column(page, "slice-table", 0)} == set(
        NASTY[:3]
    )
    assert page.locator("dl.recipe dt", has_text=NASTY[1]).count() == 1
    # Data and two scripts of the page's own, and no image.
    assert page.locator("script").count() == 3
    assert page.locator("img").count() == 0


def test_bins_of_one_s_own_are_there_too(look, nasty):
    page = look(nasty.path).page
    y = [NASTY.index(name) for name in nasty.y]
    assert page.is_checked("input[name=rule][value=given]")
    assert values_on(page) == {"ece": printed(cal.ece(y, nasty.p, bins=[0, 0.1, 0.5, 1.0]))}
    assert page.locator("#bin-table tbody tr").count() == 3
    choose(page, m=8, rule="quantile")
    assert values_on(page)["ece"] == printed(cal.ece(y, nasty.p, bins=cal.Quantile(8)))


def test_a_thousand_classes_stay_small(visit, folder):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(1000) * 0.05, 400)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(400)[:, None]).sum(axis=1)
    names = [f"class number {i} of a thousand" for i in range(1000)]
    options = {"classes": names, "recalibrate": "temperature"}
    made = saved(folder, "thousand", np.array(names)[y], p, **options)
    assert made.path.stat().st_size < 3_000_000
    opened = visit(made.path)
    assert opened.said == []
    assert opened.page.locator("#class-table tbody tr").count() == 1000
    opened.page.fill("input[data-filter=class-table]", "number 77 of")
    assert opened.page.locator("#class-table tbody tr:visible").count() == 1


def test_controls_and_charts_have_names(look, soft):
    page = look(soft.path).page
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length"
    )
    assert nameless == 0
    charts = page.locator(".chart")
    assert charts.count() > 6
    for chart in charts.all():
        assert chart.get_attribute("role") == "img" and chart.get_attribute("aria-label")


def test_a_point_tells_its_bin(look, fashion):
    page = look(fashion.path).page
    page.locator("#diagram").scroll_into_view_if_needed()
    page.locator("#diagram .mark-symbol path").last.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    said = page.inner_text("#vg-tooltip-element")
    for word in ("predictions", "rows", "mean prediction", "mean target", "interval", "gap"):
        assert word in said


def test_the_glossary_is_folded_and_links_unfold_it(look, fashion):
    page = look(fashion.path).page
    entry = page.locator("#g-ece")
    assert entry.is_hidden()
    # It is not printed.
    page.emulate_media(media="print")
    assert page.locator("#glossary").is_hidden()
    page.emulate_media(media="screen")
    assert entry.is_hidden()
    page.click("#measures a[href='#g-ece'] >> nth=0")
    page.wait_for_function("document.querySelector('#glossary details').open")
    assert entry.is_visible()


def test_tables_sort_both_ways(look, fashion):
    """It leaves the classes by name: no other test looks at their order."""
    page = look(fashion.path).page
    worst_first = column(page, "class-table", 0)
    assert worst_first == fashion.report.evaluation.classes["class"]
    head = page.locator("#class-table th", has_text="mean prediction")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    falling = [float(text) for text in column(page, "class-table", 1)]
    assert falling == sorted(falling, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    rising = [float(text) for text in column(page, "class-table", 1)]
    assert rising == sorted(rising)
    page.locator("#class-table th", has_text="class").locator("button").click()
    assert column(page, "class-table", 0) == sorted(worst_first)
    assert page.locator("#class-table th[aria-sort=ascending]").count() == 1


def switched(page, scheme):
    """Press the switch of a page in a colour scheme, and see everything follow."""
    assert page.inner_text("#theme") == {"light": "Dark", "dark": "Light"}[scheme]
    script = (
        "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)"
        ".reduce((a, b) => a + Number(b), 0)"
    )
    point = "() => getComputedStyle(document.querySelector('#diagram .mark-symbol path')).fill"
    assert (page.evaluate(script) > 600) == (scheme == "light")
    first = page.evaluate(point)
    page.click("#theme")
    assert (page.evaluate(script) > 600) == (scheme == "dark")
    assert page.evaluate(point) != first  # charts follow


def test_light_becomes_dark(look, fashion):
    switched(look(fashion.path).page, "light")


def test_nothing_goes_wrong_and_nothing_is_asked_for(look, fashion):
    """When it was opened, and by all that the tests above did to it since."""
    opened = look(fashion.path)
    assert opened.said == []
    # Pictures are made of what the page has drawn.
    own = ("data:", "blob:")
    assert [url for url in opened.asked if not url.startswith(own)] == [fashion.path.as_uri()]
    assert opened.dialogs == []


def test_a_keyboard_is_enough_and_dark_becomes_light(look, nasty):
    """From the top of a page in the dark."""
    page = look(nasty.path, scheme="dark").page
    choose(page, rule="quantile")
    # Where the keyboard begins when a page has just been opened.
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.focus("#count")
    before = page.inner_text("#count-shown")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#count-shown") == str(int(before) + 1)
    assert page.get_attribute("#count", "aria-valuetext") == f"{int(before) + 1} bins"
    button = page.locator("#class-table th button").first
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#class-table th").first.get_attribute("aria-sort") == "ascending"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    # Whatever can be clicked can be reached.
    unreached = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input, select, summary')]"
        ".filter(e => e.tabIndex < 0).length"
    )
    assert unreached == 0
    switched(page, "dark")


def test_the_same_rows_give_the_same_page(nasty):
    """Of a third of the rows, because the page of all of them takes eight seconds."""
    some = slice(0, 100)
    options = {**nasty.options, "by": nasty.options["by"][some]}
    first, second = (report(nasty.y[some], nasty.p[some], **options).to_html() for _ in range(2))
    assert first == second
