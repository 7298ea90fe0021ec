"""What a report holds, without a browser."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, report
from calibrant._api.report.assembly import answer, sentences
from calibrant._api.report.bins import COUNTS, bin_views
from calibrant._api.report.recalibration import side_by_side
from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples
from calibrant.results._pages import charts, page
from calibrant.results._pages.comparison_page import _percent
from calibrant.results._pages.page import script_json, write_page
from needs import need
from printed import printed

RULES = {"equal-width": cal.EqualWidth, "quantile": cal.Quantile}
# (What has parts refuses hard labels.)
OF_BINS = [m.name for m in cal.catalogue("binary") if "bins" in m.statistic and m.parts is None]


def problem(kind, n=600, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    if kind == "ties":
        p = np.round(p, 1)
    if kind == "crowded":
        p = p**12
    if kind == "float32":
        p = np.round(p, 2).astype(np.float32)
    y = (rng.random(n) < p).astype(float)
    if kind == "soft":
        y = np.clip(p + rng.normal(0, 0.1, n), 0, 1)
    weights = rng.integers(0, 4, n).astype(float) if kind == "weights" else None
    return y, p, weights


@pytest.mark.parametrize("kind", ["plain", "ties", "crowded", "float32", "soft", "weights"])
def test_every_number_of_bins_is_that_of_the_one_line_functions(kind):
    y, p, w = problem(kind)
    view = bin_views(to_samples(y, p, sample_weight=w), "binary", None)[0]
    assert view.counts == COUNTS
    for rule, bins in RULES.items():
        for m in (1, 2, 3, 10, 15, 20, 41, 100):
            table = view.table(rule, m).table
            wanted = cal.reliability(y, p, bins=bins(m), sample_weight=w).table
            np.testing.assert_array_equal(table.n, wanted.n)
            np.testing.assert_allclose(table.sums, wanted.sums, rtol=1e-12, atol=1e-12)
            at = view.counts.index(m)
            for name, norm in (("ece", "l1"), ("rmsce", "l2"), ("mce", "max")):
                value = cal.ece(y, p, bins=bins(m), norm=norm, sample_weight=w)
                assert view.values[rule][name][at] == pytest.approx(value, rel=1e-12, abs=1e-15)
        assert ("lin_ce" in view.values[rule]) == (rule == "quantile")
    for m in (1, 2, 15, 41, 100):
        at = view.counts.index(m)
        value = cal.lin_ce(y, p, bins=m, sample_weight=w)
        assert view.values["quantile"]["lin_ce"][at] == pytest.approx(value, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("bins", [15, 20, cal.EqualWidth(12), cal.Quantile(9), [0, 0.3, 1]])
def test_a_name_has_one_value_on_a_page(bins):
    """In the table, in what the diagram reads out for the same number of bins, and in the strip."""
    y, p, _ = problem("plain", n=120)
    found = report(y, p, measures=OF_BINS, bins=bins, recalibrate="platt")
    table = found.evaluation
    for part in found.sensitivity:
        if part.measure not in table:
            continue
        rule = cal.EqualWidth if part.rule == "equal-width" else cal.Quantile
        same = {str(rule(m)): value for m, value in zip(part.counts, part.values, strict=True)}
        told = table.estimate(part.measure).rule
        if told in same:
            assert same[told] == pytest.approx(table[part.measure], rel=1e-9)
        elif not isinstance(bins, list):
            assert part.measure in ("ece", "rmsce", "mce"), (part.measure, part.rule)


def test_multiclass_logits():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(200, 4)) * 3
    y = rng.integers(0, 4, 200)
    found = report(y, logits, from_logits=True, measures=["ece"])
    view = found.views[0]
    for rule, bins in RULES.items():
        value = cal.ece(y, logits, bins=bins(12), from_logits=True)
        assert view.values[rule]["ece"][view.counts.index(12)] == pytest.approx(value, rel=1e-12)
    assert found.before_after.method == "TemperatureScaling"
    assert {part.measure for part in found.sensitivity} >= {"classwise_ece", "ace", "ece"}


def best_map(*args, **options):
    found = side_by_side(*args, **options)
    return found.chosen or found.absent


def test_before_and_after_are_measured_on_rows_not_fitted():
    rng = np.random.default_rng(4)
    h = rng.normal(size=2000) * 2
    y = rng.random(2000) < 1 / (1 + np.exp(-h / 2))
    found = best_map(
        to_samples(y, h, from_logits=True), *both_rules(15), groups=None, level=0.95, seed=0
    )
    assert found.method == "TemperatureScaling"
    assert found.n_fitted + found.n_measured == 2000
    ece = next(change for change in found.changes if change.measure == "ece")
    loss = next(change for change in found.changes if change.measure == "log_loss")
    assert ece.before > 2 * ece.after
    for low, high in (ece.before_limits, ece.after_limits):
        assert low < high
    assert loss.low <= loss.after - loss.before <= loss.high < 0
    assert int(found.before.table.n.sum()) == found.n_measured


def test_groups_stay_on_one_side():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    y = rng.random(400) < p**3
    groups = np.repeat(np.arange(40), 10)
    options = {"level": 0.95, "seed": 0}
    found = best_map(to_samples(y, p), *both_rules(15), groups=groups, **options)
    assert "whole groups" in found.split and found.n_measured == 200
    huge = (np.arange(400) < 390).astype(int)
    assert "unequal" in best_map(to_samples(y, p), *both_rules(15), groups=huge, **options)


def test_what_cannot_be_told_is_said():
    y, p, w = problem("weights", n=200)
    found = report(y, p, sample_weight=w, measures=["ece"], recalibrate="platt")
    assert found.conventions is None and "weights" in found.absent["conventions"]
    few = report([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5, measures=["ece"])
    assert few.before_after is None and "20 rows" in few.absent["before_after"]
    assert few.answer.startswith("There is not enough data to say whether the error exceeds the")


@pytest.mark.parametrize(
    ("scale", "n", "told"),
    [
        (1.0, 20_000, "Yes"),
        (3.0, 2000, "No: they are miscalibrated."),
        (1.35, 1000, "No: they are miscalibrated, though perhaps by less"),
        (1.15, 20_000, "Nearly"),
        (1.0, 150, "There is not enough data"),
    ],
)
def test_the_answer_in_words(scale, n, told):
    rng = np.random.default_rng(6)
    h = rng.normal(size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-h))
    found = cal.evaluate(y, scale * h, from_logits=True, measures=["ece"], uncertainty=True)
    assert answer(found.verdict).startswith(told)
    assert sentences(found)[0] == str(found.verdict)


def test_the_direction_in_words():
    y = [0, 1] * 100
    assert "too high by 0.1000" in sentences(cal.evaluate(y, [0.6] * 200))[0]
    assert "too low by 0.2000" in sentences(cal.evaluate(y, [0.3] * 200))[0]
    assert "agree: 0.5000" in sentences(cal.evaluate(y, [0.5] * 200))[0]
    sure = np.tile([0.9, 0.1], (200, 1))
    assert "overconfident by 0.4000" in sentences(cal.evaluate(y, sure))[0]


def test_missing_rows_are_left_out_everywhere():
    y, p, _ = problem("plain", n=200)
    p = p.copy()
    p[::7] = np.nan
    found = report(y, p, missing="drop", measures=["ece"], recalibrate="platt")
    held = ~np.isnan(p)
    view = found.views[0]
    at = view.counts.index(15)
    assert view.values["equal-width"]["ece"][at] == pytest.approx(cal.ece(y[held], p[held]))
    assert found.evaluation.recipe["n_missing"] == int((~held).sum())
    with pytest.raises(InputError):
        report(y, p)


def test_a_report_is_data_first():
    y, p, _ = problem("plain", n=120)
    found = report(y, p, source="a test", seed=3)
    held = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(name))
    assert held["evaluation"]["recipe"]["seed"] == 3
    assert held["recipe"]["source"] == {"source": "a test"}
    assert len(held["views"][0]["tables"]["quantile"]) == len(COUNTS)
    assert held["answer"] in repr(found)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("name", 3, "name must be a text"),
        ("source", 3, "source must be a text"),
        ("tolerance", 0, "tolerance"),
        ("level", 2, "level"),
    ],
)
def test_wrong_options_are_named(option, value, told):
    with pytest.raises(InputError, match=told):
        report([0, 1] * 20, [0.2, 0.7] * 20, **{option: value})


def test_scripts_cannot_be_ended_by_data():
    text = script_json({"a": "</script><!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028"}


class TestWriting:
    def test_a_failure_leaves_what_was_there(self, tmp_path):
        place = tmp_path / "page.html"
        place.write_text("old")

        def fails():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_page(place, fails)
        assert place.read_text() == "old"
        assert write_page(place, lambda: "new\n") == place
        assert place.read_bytes() == b"new\n"
        assert os.listdir(tmp_path) == ["page.html"]

    @pytest.mark.parametrize("path", [".", "", None, 3, "no/such/folder/page.html"])
    def test_what_is_no_file_is_named(self, path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError, match="path"):
            write_page(path, lambda: "page")


@pytest.mark.parametrize(
    ("name", "package"), [("vl_convert", "vl-convert-python"), ("jinja2", "jinja2")]
)
def test_a_missing_package_is_named_with_its_extra(name, package, monkeypatch):
    need("vl_convert")
    found = report([0, 1] * 10, [0.2, 0.7] * 10, measures=["ece"], recalibrate="platt")
    # Templates that were compiled before the package went away are kept.
    monkeypatch.setattr(page, "environment", page.environment.__wrapped__)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(cal.MissingExtra) as caught:
        found.to_html()
    assert repr(package) in str(caught.value)
    assert "(the extra 'report')" in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        charts.reliability_diagram("x", "y"),
        charts.row_share_bars(),
        charts.measure_by_bins(100),
        charts.overlaid_curves("x", "y"),
        charts.interval_rows("x"),
        charts.interval_rows("x", ranks=3),
        charts.measure_over_time("ece"),
        charts.e_value_over_time(20.0),
    ],
)
def test_charts_are_vega_lite(spec):
    """By Altair's schema, which knows every mark, channel and option."""
    chart, plain = as_altair(spec)
    chart.from_dict(plain)


def test_what_is_not_vega_lite_is_found():
    # One layer, and several.
    for spec in (charts.row_share_bars(), charts.reliability_diagram("x", "y")):
        chart, plain = as_altair(spec)
        with pytest.raises(Exception, match="colour"):
            chart.from_dict({**plain, "config": {**plain["config"], "colour": "red"}})


def as_altair(spec):
    alt = need("altair")
    # The page itself is the background, which Vega-Lite knows and Altair's schema does not.
    plain = {key: value for key, value in spec.items() if key != "background"}
    return alt.LayerChart if "layer" in spec else alt.Chart, plain


def test_a_page_compiles_the_sections_that_it_has_and_each_once(monkeypatch):
    need("jinja2")
    # With a cache of its own: other pages need not be compiled again.
    monkeypatch.setattr(page, "environment", cache(page.environment.__wrapped__))
    y, p, _ = problem("plain", n=80)
    compiled = []
    templates = page.environment()
    compile_one = templates.compile

    def counted(source, name=None, *more, **options):
        compiled.append(name)
        return compile_one(source, name, *more, **options)

    templates.compile = counted
    for labels in (y, np.stack([3 - 3 * y, 3 * y], axis=1).astype(int)):
        found = report(labels, p, measures=["ece"], recalibrate="platt")
        found.to_html()
        if labels is y:
            found.to_html()
            assert "votes.html" not in compiled
    assert {"report.html", "outcome.html", "votes.html"} <= set(compiled)
    assert len(compiled) == len(set(compiled))
    assert "slices.html" not in compiled


def test_a_rare_event_is_told_in_its_own_proportion():
    rng = np.random.default_rng(2)
    p = rng.beta(0.3, 60, 6000)
    y = (rng.random(6000) < 1.3 * p).astype(int)
    share = y.mean()
    assert 0 < share < 0.02
    found = cal.report(y, p, measures=["ece", "brier"])
    assert found.decisions.thresholds[-1] == pytest.approx(9.9 * share)
    assert np.ptp(found.decisions.display_columns()["model"]) > 0
    (said,) = [each for each in found.sentences if "mean prediction" in each]
    assert f"the observed frequency {printed(float(share))}" in said
    why = found.absent.get("before_after") or found.before_after.why
    # The gain and its standard error have the digits that decide.
    numbers = re.findall(r"(?:lower by|by|error) (0\.\d+|\d\.\d+e-\d+)", why)
    assert len(set(numbers)) == 2 and all(float(number) > 0 for number in numbers)
    few = slice(500)
    usual = cal.report(1 - y[few], 1 - p[few], measures=["ece"], recalibrate="platt")
    assert usual.decisions.thresholds[-1] == 0.99


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "more than 99%"),
        (0.995, "more than 99%"),
        (0.99, "99%"),
        (0.5, "50%"),
        (0.005, "less than 1%"),
        (0.0, "less than 1%"),
        (math.nan, "–"),
    ],
)
def test_no_share_of_a_comparison_page_is_certain(share, said):
    assert _percent(share) == said
