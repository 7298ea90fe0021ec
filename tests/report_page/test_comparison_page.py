"""The comparison page in a real browser."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from needs import need
from printed import printed
from report_page.conftest import follow


def rows(page, table):
    return page.eval_on_selector_all(
        f"#{table} tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )


def test_nothing_goes_wrong_and_nothing_is_asked_for(look, compared):
    opened = look(compared.path)
    assert opened.said == [] and opened.dialogs == []
    assert opened.asked == [compared.path.as_uri()]
    assert opened.page.locator("script").count() == 3


@pytest.mark.parametrize(("measure", "called"), [("ece", "ECE"), ("log_loss", "log loss")])
def test_ranks_and_differences_are_python_s(look, compared, measure, called):
    page = look(compared.path).page
    page.select_option("#measure", label=measure)
    ranking, own = compared.report.ranking(measure), compared.report.intervals(measure)
    assert [row[:3] for row in rows(page, "rank-table")] == [
        [name, printed(value), str(rank) + (" =" if name in ("as is", "alike") else "")]
        for name, value, rank in zip(
            ranking["predictor"], own[measure], ranking["rank"], strict=True
        )
    ]
    limits = [f"{printed(a)} to {printed(b)}" for a, b in zip(own["low"], own["high"], strict=True)]
    at = 2 + compared.report.measures.index(measure)
    values = {row[0]: row[at].split(maxsplit=1) for row in rows(page, "value-table")}
    for name, estimate, interval in zip(own["predictor"], own["estimate"], limits, strict=True):
        assert values[name] == [printed(estimate), interval]
    differences = compared.report.differences(measure)
    assert [row[:3] + row[4:] for row in rows(page, "difference-table")] == [
        [d.first, printed(d.estimate), f"{printed(d.low)} to {printed(d.high)}", printed(d.value)]
        for d in differences
    ]
    assert page.inner_text("#ranks-title") == f"Ranks by {called}"
    assert page.locator("#ranks .mark-symbol path").count() == 4
    assert page.locator("#differences .mark-symbol path").count() == 3


def test_everything_is_in_the_order_of_the_measure_chosen(look, compared):
    page = look(compared.path).page
    orders = set()
    for measure in compared.report.measures:
        page.select_option("#measure", label=measure)
        page.wait_for_timeout(100)
        order = compared.report.order(measure)
        places = "all => all.map(t => [t.getBoundingClientRect().y, t.textContent])"
        labels = page.eval_on_selector_all("#ranks .role-axis-label text", places)
        drawn = [text for _, text in sorted(labels) if not text.isdigit()]
        assert [text[:5] for text in drawn] == [name[:5] for name in order]
        assert [row[0] for row in rows(page, "value-table")] == order
        head = page.locator("#value-table th[aria-sort]:not([aria-sort=none])")
        assert head.count() == 1 and measure in head.inner_text()
        orders.add(tuple(order))
    assert len(orders) > 1  # or this test could not fail


@pytest.mark.parametrize("measure", ["ece", "log_loss"])
def test_ties_are_marked(look, compared, measure):
    made = compared.report
    best = made.order(measure)[0]
    alike = {d.first for d in made.differences(measure) if d.better is None}
    page = look(compared.path).page
    page.select_option("#measure", label=measure)
    told = {row[0] for row in rows(page, "rank-table") if row[5] == "tied for the best"}
    assert told == (alike | {best} if alike else set())
    ranks = {row[0]: row[2] for row in rows(page, "rank-table")}
    assert ranks["as is"] == ranks["alike"] and ranks["alike"].endswith(" =")
    assert not any("=" in ranks[name] for name in set(compared.p) - {"as is", "alike"})


def test_values_sort_and_are_python_s(look, compared):
    page = look(compared.path).page
    page.locator("#value-table th", has_text="brier").locator("button").click()
    seen = rows(page, "value-table")
    at = 2 + compared.report.measures.index("brier")
    values = [float(row[at].split()[0]) for row in seen]
    assert values == sorted(values, reverse=True)
    by_name = {row[0]: row for row in seen}
    assert by_name["as is"][at].split()[0] == printed(
        cal.brier_score(compared.y, compared.p["as is"])
    )


def test_curves_come_and_go(look, compared):
    page = look(compared.path).page
    points = page.locator("#curves .mark-symbol path")
    before = points.count()
    page.uncheck("input[name=series] >> nth=0")
    page.wait_for_timeout(100)
    table = cal.reliability(compared.y, compared.p["as is"])
    assert before - points.count() == sum(n > 0 for n in table.columns()["n"])
    page.check("input[name=series] >> nth=0")


def test_robustness_slices_and_recipe_are_told(look, compared):
    page = look(compared.path).page
    page.click("#glossary summary")
    text = page.inner_text("main")
    assert compared.report.robustness is None and "Rank robustness" not in text  # of three
    assert "three temperatures" in text
    assert page.locator("#slices details table").count() == 4
    for entry in compared.report.glossary:
        assert entry.formula in text


def test_a_phone_and_the_dark(look, compared):
    page = look(compared.path, width=390, scheme="dark").page
    follow(page, 390)
    assert page.inner_text("#theme") == "Light"
    assert page.pdf().startswith(b"%PDF")


def test_each_rank_has_one_tick(look, pair):
    """Of two predictors there was a third tick between the ranks, written as the second."""
    ticks = look(pair.path).page.eval_on_selector_all(
        "#ranks .role-axis-label text", "all => all.map(each => each.textContent)"
    )
    assert [each for each in ticks if each.isdigit()] == ["1", "2"]


@pytest.mark.parametrize(("labels", "name"), [([0, 1], "ECE"), ([0.25, 0.75], "SMECE")])
def test_sentences_have_the_names_of_the_field(labels, name):
    need("jinja2")
    models = {"good": labels * 30, "bad": [0.5, 0.6] * 30}
    page = cal.compare(labels * 30, models, measures=["ece", "brier"]).to_html()
    assert f"Which predictor is best by {name} on these 60 rows?" in page
    assert f"By {name}, good is best: bad is significantly worse." in page
    assert "By Brier score, good is best" in page


def test_rank_robustness_of_many_is_on_the_page():
    rng = np.random.default_rng(0)
    u = rng.random(300)
    models = {f"m{j}": u ** (1 + j / 5) for j in range(8)}
    found = cal.compare((rng.random(300) < u).astype(int), models, measures=["ece"], n_resamples=50)
    page = found.to_html()
    assert found.robustness.title in page and 'id="robustness"' in page


def test_a_verdict_stands_beside_the_values(look, compared):
    page = look(compared.path, width=1400).page
    page.evaluate("scrollTo(0, 0)")
    assert page.locator("#value-table tbody tr").first.bounding_box()["y"] < 900
    found = compared.report.intervals("ece")
    verdicts = {row[0]: row[1] for row in rows(page, "value-table")}
    for name, low, high in zip(found["predictor"], found["low"], found["high"], strict=True):
        kept, broken = high <= 0.05, low > 0.05
        assert verdicts[name] == (
            "within the tolerance" if kept else "above the tolerance" if broken else "undecided"
        )
    assert len(set(verdicts.values())) > 1  # or this test could not fail
    colours = page.eval_on_selector_all(
        "#value-table td span", "all => all.map(s => [s.textContent, getComputedStyle(s).color])"
    )
    assert len(set(map(tuple, colours))) == len(set(verdicts.values()))


def test_without_the_ece_the_verdict_is_about_the_best(look, pair):
    seen = {row[0]: row[1] for row in rows(look(pair.path).page, "value-table")}
    best, (other,) = pair.report.order("brier")[0], pair.report.differences("brier")
    assert seen[best] == "best"
    assert seen[other.first] == (
        "not significantly different" if other.better is None else "significantly worse"
    )


def test_a_tolerance_of_ones_own_is_that_of_the_verdicts():
    need("jinja2")
    rng = np.random.default_rng(0)
    u = rng.random(2000)
    y = (rng.random(2000) < u).astype(int)
    models = {"right": u, "off": u**1.3}
    options = {"measures": ["ece"], "n_resamples": 50}
    words = []
    for tolerance in (0.05, 0.2):
        page = cal.compare(y, models, tolerance=tolerance, **options).to_html()
        assert f"is within the tolerance of {tolerance} or above it" in page
        words.append(page.count('<span class="within">within the tolerance'))
    assert words == [1, 2]


def test_slices_of_models_stand_side_by_side(look, compared):
    page = look(compared.path).page
    made, order = compared.report, compared.report.order("ece")
    heads = page.locator("#slice-table thead th").all_inner_texts()
    assert [head[:5] for head in heads[2:]] == [name[:5] for name in order]
    seen = rows(page, "slice-table")
    largest = [max(made.slices[name][row[0]].estimate for name in order) for row in seen]
    assert len(seen) == 2 and largest == sorted(largest, reverse=True)
    for row in seen:
        for name, cell in zip(order, row[2:], strict=True):
            own = made.slices[name][row[0]]
            assert cell.split() == [
                printed(own.estimate),
                printed(own.low),
                "to",
                printed(own.high),
                own.against_tolerance,
            ]


def test_risk_curves_of_all_models_are_in_one_figure(look, tmp_path):
    need("jinja2")
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3) * 0.5, 300)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(300)[:, None]).sum(axis=1)
    models = {
        "right": p,
        "flat": p**0.5 / (p**0.5).sum(axis=1, keepdims=True),
        "even": p * 0 + 1 / 3,
    }
    found = cal.compare(y, models, measures=["ece", "aurc"], n_resamples=50)
    page = look(found.save(tmp_path / "risks.html")).page
    assert page.locator("#risks .mark-line path").count() == 3
    assert "error rate" in page.locator("#risks").text_content()
