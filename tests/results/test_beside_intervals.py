"""A number never stands beside an interval that excludes it: in no result, table, page or text."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import ClinicalValue
from cli.command import csv, run
from needs import need

MEASURES = ["ece", "ace", "lin_ce", "smooth_ece", "brier"]
NUMBER = r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"


def number(text):
    return float(text.replace(",", "").replace("−", "-"))


@cache
def sample(n=100):
    """Calibrated rows of which some raw errors lie above their own intervals."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        p = np.round(rng.random(n), 6)
        y = (rng.random(n) < p).astype(int)
        if cal.interval(y, p).bias and cal.interval(y, p, measure="ace").bias:
            return y, p, rng.choice(["a", "b"], n)
    raise AssertionError("no sample has raw values outside their intervals")


@cache
def rivals():
    y, p, _ = sample()
    noise = np.random.default_rng(9).normal(0, 0.02, len(p))
    return y, {"plain": p, "moved": np.clip(p + noise, 0, 1), "sure": p**2 / (p**2 + (1 - p) ** 2)}


@cache
def compared():
    y, models = rivals()
    return cal.compare(y, models, measures=MEASURES, by=sample()[2])


@cache
def evaluated():
    y, p, by = sample()
    return cal.evaluate(y, p, uncertainty=True, by=by)


@cache
def reported():
    y, p, by = sample()
    return cal.report(y, p, by=by, recalibrate=["platt"])


@cache
def labels():
    rng = np.random.default_rng(2)
    p = rng.random((200, 3))
    y = (rng.random((200, 3)) < p).astype(int)
    return cal.multilabel(y, p, uncertainty=True)


@cache
def checked():
    y, p, by = sample()
    others = np.clip(p + 0.02, 0, 1)
    return cal.check(
        y,
        p,
        at_most={"ece": 0.05, "lin_ce": 0.01, "brier": 0.2},
        by=by,
        baseline=others,
        max_increase={"ece": 0.01, "brier": 0.01},
    )


@cache
def voted():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 150)
    counts = np.array([rng.multinomial(5, row) for row in p])
    return counts, {"right": p, "flat": np.full((150, 3), 1 / 3)}


@cache
def ceiling():
    counts, models = voted()
    return cal.compare(counts, models, measures=["brier", "dist_ce"], ceiling=True)


# --- the same with raw values that are far outside, whatever intervals are like -------------------


def raised_slices(slices):
    name = slices.measure
    rows = [replace(row, values={**row.values, name: row.values[name] + 1}) for row in slices]
    more = {"mean": {**slices.mean, name: 1.5}} if hasattr(slices, "mean") else {}
    return replace(slices, rows=tuple(rows), **more)


def raised_interval(interval):
    return replace(interval, value=interval.value + 1)


@cache
def raised_evaluation(evaluation=None):
    found = evaluation or evaluated()
    estimates = [
        replace(each, value=each.value + 1, interval=raised_interval(each.interval))
        for each in found.estimates
    ]
    values = {
        name: ClinicalValue(value + 1, *value.__getnewargs__()[1:])
        for name, value in found.clinical.items()
    }
    clinical = replace(found.clinical, values_=values)
    slices = raised_slices(found.slices)
    return replace(found, estimates=tuple(estimates), slices=slices, clinical=clinical)


@cache
def raised_comparison():
    found = compared()
    slices = {name: raised_slices(part) for name, part in found.slices.items()}
    # Each by another amount, so that differences are outside too.
    values = found.values + np.array([[1.0], [3.0], [7.0]])
    return replace(found, values=values, slices=slices)


@cache
def raised_check():
    rows = [
        replace(row, value=row.value + 1, interval=raised_interval(row.interval))
        for row in checked()
    ]
    return replace(checked(), rows=tuple(rows))


@cache
def raised_report():
    found = reported()
    maps = [
        replace(
            part,
            changes=tuple(
                replace(row, before=row.before + 1, after=row.after + 3) for row in part.changes
            ),
        )
        for part in found.recalibrations
    ]
    return replace(
        found, evaluation=raised_evaluation(found.evaluation), recalibrations=tuple(maps)
    )


RESULTS = {
    "interval": lambda: cal.interval(*sample()[:2]),
    "interval of a square": lambda: cal.interval(*sample()[:2], measure="lin_ce"),
    "verdict": lambda: cal.verdict(*sample()[:2]),
    "verdict of a square": lambda: cal.verdict(*sample()[:2], measure="lin_ce"),
    "evaluation": evaluated,
    "slices": lambda: evaluated().slices,
    "clinical": lambda: evaluated().clinical,
    "clinical, by": lambda: cal.clinical_summary(*sample()[:2], by=sample()[2]),
    "comparison": compared,
    "ceiling": ceiling,
    "annotators' ceiling": lambda: cal.annotator_ceiling(voted()[0], voted()[1]),
    "multilabel": labels,
    "check": checked,
    "report": reported,
    "decomposition": lambda: cal.decompose(*sample()[:2]),
    "Bayes error": lambda: cal.bayes_error(voted()[0]),
    "Cox": lambda: cal.cox_calibration(*sample()[:2]),
    "votes": lambda: cal.interval(*(voted()[0], voted()[1]["right"]), measure="dist_ce"),
    "decisions": lambda: cal.decision_curve(*sample()[:2]),
    "risk": lambda: cal.risk_coverage(*sample()[:2]),
    "evaluation, raised": raised_evaluation,
    "slices, raised": lambda: raised_evaluation().slices,
    "clinical, raised": lambda: raised_evaluation().clinical,
    "multilabel, raised": lambda: raised_slices(labels()),
    "comparison, raised": raised_comparison,
    "check, raised": raised_check,
    "report, raised": raised_report,
}


# --- numbers of JSON and of columns ---------------------------------------------------------------


def ends_of(mapping):
    """What is called low and high, with the number that stands beside it: its estimate, or itself
    where there is none.
    """
    for low in mapping:
        if not isinstance(low, str) or not re.search(r"(^|_)low$", low):
            continue
        stem = low.removesuffix("low").removesuffix("_")
        high = low.removesuffix("low") + "high"
        if high not in mapping or stem == "gap":  # the limits beside it, on another scale
            continue
        before = list(mapping)[: list(mapping).index(low)]
        estimate = f"{stem}_estimate" if stem else "estimate"
        own = next((name for name in (estimate, stem, "value") if name in mapping), None)
        yield mapping[own] if own else mapping[before[-1]], mapping[low], mapping[high]


def triples(found):
    """Every (number, low, high) of a result's JSON."""
    if isinstance(found, dict):
        if not {"p_low", "noise_mean"} & set(found) or "low" in found:
            for value, low, high in ends_of(found):
                columns = isinstance(low, list)
                yield from zip(value, low, high, strict=True) if columns else [(value, low, high)]
        for part in found.values():
            yield from triples(part)
    elif isinstance(found, list):
        for part in found:
            yield from triples(part)


def assert_between(found, *, slack=1e-12):
    n = 0
    for value, low, high in found:
        if None in (value, low, high) or any(map(math.isnan, (value, low, high))):
            continue
        assert low - slack <= value <= high + slack, (value, low, high)
        n += 1
    return n


# Curves have points and no measures; rows of a page's bins are means.
CURVES = ("reliability", "views", "before", "after")


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "decomposition"])
def test_json_has_an_estimate_in_every_interval(name):
    found = json.loads(json.dumps(RESULTS[name]().to_dict()))
    assert assert_between(triples(without(found, CURVES))), name


def without(found, keys):
    if isinstance(found, dict):
        return {key: without(part, keys) for key, part in found.items() if key not in keys}
    return [without(part, keys) for part in found] if isinstance(found, list) else found


TABLES = ("evaluation", "slices", "clinical", "clinical, by", "multilabel", "check",
          "decomposition", "evaluation, raised", "slices, raised", "clinical, raised",
          "multilabel, raised", "check, raised")  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_column_before_an_interval_lies_in_it(name):
    columns = RESULTS[name]().display_columns()
    at = list(columns).index("low")
    beside = [math.nan if isinstance(v, str) else v for v in list(columns.values())[at - 1]]
    assert list(columns)[at - 1] in ("estimate", "value")
    assert assert_between(zip(beside, columns["low"], columns["high"], strict=True))


def test_raw_values_of_these_results_lie_outside():
    """Or nothing here could fail."""
    table = evaluated().columns()
    outside = [v > high for v, high in zip(table["value"], table["high"], strict=True)]
    assert sum(outside) >= 2 and any(row.interval and row.interval.bias for row in checked())
    ece = compared().intervals("ece")
    assert any(v > high for v, high in zip(ece["ece"], ece["high"], strict=True))


# --- sentences ------------------------------------------------------------------------------------

BESIDE = re.compile(
    rf"(?P<value>{NUMBER})(?: on [\d,]+ rows)?,? \(?\d[\d.]*% CI "
    rf"(?P<low>{NUMBER}) to (?P<high>{NUMBER})"
)
AFTER = re.compile(
    rf"% CI (?P<low>{NUMBER}) to (?P<high>{NUMBER})(?:, includes 0)?; estimate (?P<value>{NUMBER})"
)
BRACKETS = re.compile(
    rf"(?P<value>{NUMBER})[*}}†]*(?:\$\^\\dagger\$)? (?:\{{\\footnotesize )?"
    rf"\[(?P<low>{NUMBER}), (?P<high>{NUMBER})\]"
)
IN_TABLE = re.compile(rf" (?P<value>{NUMBER})  +(?P<low>{NUMBER}) to (?P<high>{NUMBER})")


def said(text):
    """Every number that a text puts beside an interval, whose lines may be wrapped."""
    text = re.sub(r"\n +", " ", text)
    for pattern in (BESIDE, AFTER, BRACKETS, IN_TABLE):
        for found in pattern.finditer(text):
            yield tuple(number(found[name]) for name in ("value", "low", "high"))


SENTENCES = {
    "interval": lambda: repr(RESULTS["interval"]()),
    "interval of a square": lambda: repr(RESULTS["interval of a square"]()),
    "votes": lambda: repr(RESULTS["votes"]()),
    "verdict": lambda: str(RESULTS["verdict"]()),
    "verdict of a square": lambda: str(RESULTS["verdict of a square"]()),
    "evaluation": lambda: repr(evaluated()),
    "evaluation, all": lambda: evaluated().to_text(),
    "evaluation, HTML": lambda: evaluated()._repr_html_(),
    "check": lambda: " ".join(row.sentence for row in checked()),
    "check, JUnit": lambda: checked().to_junit(),
    "check, GitHub": lambda: "".join(checked().to_github()),
    "multilabel": lambda: labels().sentence,
    "report": lambda: repr(reported()),
    "LaTeX": lambda: compared().to_latex(),
    "Markdown": lambda: compared().to_markdown(),
    "Markdown of votes": lambda: ceiling().to_markdown(),
    "clinical": lambda: " ".join(map(repr, evaluated().clinical.values())),
    "clinical, raised": lambda: " ".join(map(repr, raised_evaluation().clinical.values())),
    "check, raised": lambda: " ".join(row.sentence for row in raised_check()),
    "multilabel, raised": lambda: raised_slices(labels()).sentence,
    "LaTeX, raised": lambda: raised_comparison().to_latex(),
    "Markdown, raised": lambda: raised_comparison().to_markdown(),
    "Cox": lambda: repr(RESULTS["Cox"]()),
    "Bayes error": lambda: repr(RESULTS["Bayes error"]()),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_put_a_number_into_its_interval(name):
    assert assert_between(said(SENTENCES[name]())), name


def test_the_reader_of_sentences_finds_what_is_wrong():
    wrong = (
        "ECE 0.075 (95% CI 0 to 0.03)",
        "it is 0.075 on 2,000 rows, 95% CI 0 to 0.03",
        "95% CI 0 to 0.03, includes 0; estimate 0.075",
        r"\textbf{0.075} {\footnotesize [0, 0.03]}",
        r"0.075$^\dagger$ {\footnotesize [0, 0.03]}",
        "**0.075** [0, 0.03]",
        "0.075† [0, 0.03]",
        "ECE 0.075 (95% CI\n    0 to 0.03)",
        "  ECE  0.0750  0.0000 to 0.0300  0.1033",
    )
    for text in wrong:
        with pytest.raises(AssertionError):
            assert_between(said(text))


# --- tables of HTML -------------------------------------------------------------------------------


class Tables(HTMLParser):
    """Every table as rows of cells, small letters apart."""

    def __init__(self):
        super().__init__()
        self.tables, self.small, self.aside = [], 0, 0

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append(["", ""])
        elif tag == "small":
            self.small += 1
            self.aside += "aside" in dict(attributes).get("class", "")

    def handle_endtag(self, tag):
        if tag == "small":
            self.small, self.aside = self.small - 1, 0

    def handle_data(self, data):
        if self.tables and self.tables[-1] and self.tables[-1][-1] and not self.aside:
            self.tables[-1][-1][-1][self.small > 0] += data


def spans(html):
    """The number before each interval of a table, in the cell before it or above it in small
    letters.
    """
    limits = re.compile(rf"^({NUMBER}) (?:–|to) ({NUMBER})$")
    parser = Tables()
    parser.feed(html)
    for table in parser.tables:
        heads = [cell[0].strip() for cell in (table or [[]])[0]]
        for row in table[1:]:
            for i, (text, small) in enumerate(row):
                found = limits.match(text.strip())
                if found and i and "rank" not in heads[i] and "if perfect" not in heads[i]:
                    yield number(row[i - 1][0].strip()), number(found[1]), number(found[2])
                found = limits.match(small.strip())
                if found and "+" not in small and re.fullmatch(NUMBER, text.strip()):
                    yield number(text.strip()), number(found[1]), number(found[2])


@pytest.mark.parametrize("name", ["report", "comparison", "report, raised", "comparison, raised"])
def test_pages_put_a_number_into_its_interval(name):
    need("jinja2")
    html = re.sub(r"<script.*?</script>", "", RESULTS[name]().to_html(), flags=re.DOTALL)
    found = list(spans(html))
    assert len(found) > 10 and assert_between(found)


def test_the_page_s_script_has_the_same_numbers():
    need("jinja2")
    data = re.search(r'id="data">(.*?)</script>', raised_comparison().to_html(), re.DOTALL)[1]
    measures = json.loads(data)["measures"]
    assert [found["name"] for found in measures] == list(compared().measures)
    for found in measures:
        assert_between((row["value"], row["lo"], row["hi"]) for row in found["differences"])
        assert_between((row["value"], row["lo"], row["hi"]) for row in found["ranks"])
        for _, beside, interval, *_ in found["difference_table"]:
            low, high = interval.split(" to ")
            assert_between([(number(beside), number(low), number(high))])


def test_a_notebook_s_table_has_the_estimate_before_the_interval():
    assert assert_between(spans(evaluated()._repr_html_()))
    assert assert_between(spans(raised_evaluation()._repr_html_()))


# --- other places ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["values", "differences", "ranks"])
def test_dots_lie_on_their_bars(kind):
    need("matplotlib")
    for measure in MEASURES:
        display = raised_comparison().plot(kind=kind, measures=[measure])
        dots = display.dots_[measure].get_offsets()[:, 0]
        bars = [segment[:, 0] for segment in display.bars_[measure].get_segments()]
        assert assert_between((dot, *bar) for dot, bar in zip(dots, bars, strict=True))


def test_dots_of_slices_lie_on_their_bars():
    need("matplotlib")
    display = raised_evaluation().slices.plot()
    dots, bars = display.dots_.get_offsets()[:, 0], display.bars_.get_segments()
    assert assert_between((dot, *bar[:, 0]) for dot, bar in zip(dots, bars, strict=True))


def test_ranks_have_the_estimated_difference():
    for measure in MEASURES:
        table = raised_comparison().ranked(measure)
        own = raised_comparison().intervals(measure)
        ends = zip(table["behind_best"], table["low"], table["high"], strict=True)
        assert assert_between(ends) == 2
        assert table["estimate"] == own["estimate"]


def test_a_chart_draws_the_estimate():
    need("altair")
    chart = compared().chart().to_dict()
    rows = chart["data"]["values"]
    assert [layer["encoding"]["x"]["field"] for layer in chart["layer"]] == ["low", "estimate"]
    assert assert_between((row["estimate"], row["low"], row["high"]) for row in rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "one.csv", "--by", "site"),
        ("report", "one.csv", "--clinical"),
        ("check", "one.csv", "--max", "ece=0.05", "--by", "site"),
        ("compare", "all.csv", "--models", "a=a", "b=b", "--measures", "ece,lin_ce,brier"),
        ("scale", "--fit", "one.csv", "--apply", "one.csv", "-o", "out.csv"),
    ],
)
def test_the_terminal_has_the_estimate_before_the_interval(tmp_path, arguments):
    y, p, site = sample()
    csv(tmp_path / "one.csv", {"label": y, "p": p, "site": site})
    csv(tmp_path / "all.csv", {"label": y, "a": p, "b": np.round(p**1.1, 6)})
    text = run(*arguments, cwd=tmp_path).stdout
    n = assert_between(said(text))
    for head, rows in terminal_tables(text):
        found = [re.search(rf" {name}\b", head) for name in ("low", "high")]
        ends, before = [each.end() for each in found], head[: found[0].start()].rstrip()
        assert before.split()[-1] in ("estimate", "behind_best", "mean_target", "bias")
        for row in rows:
            cells = [
                row[: len(before)].split()[-1:],
                row[len(before) : ends[0]].split(),
                row[ends[0] : ends[1]].split(),
            ]
            if all(len(cell) == 1 and re.fullmatch(NUMBER, cell[0]) for cell in cells):
                n += assert_between([tuple(number(cell[0]) for cell in cells)])
    assert n


def terminal_tables(text):
    """Tables of a terminal that have intervals: the heading, and the lines below."""
    for block in text.split("\n\n"):
        lines = block.splitlines()
        for i, line in enumerate(lines):
            if " low " in line and " high" in line:
                yield line, lines[i + 1 :]
                break
