"""Results in a notebook: sound HTML, every text escaped, never longer than a screen or two."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import calibrant as cal
from calibrant import bin_sensitivity, classwise_reliability, examples
from calibrant.results._notebook import MOST_ROWS, Drawing, html_table
from calibrant.results._sketch import reliability_sketch, sparkline
from calibrant.results._text_tables import as_text
from needs import need

EVIL = "<script>alert('&\"')</script>"
LONG = "y" * 300
VOID = {"wbr"}
KNOWN = {
    "div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "wbr",
    "details", "summary", "p", "svg", "path", "polyline", "circle", "title", "g", "text",
}  # fmt: skip


class Sound(HTMLParser):
    """Reads HTML, and fails where a tag is not closed or is one that results never use."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.rows = []

    def handle_starttag(self, tag, attrs):
        assert tag in KNOWN, tag
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag == "tr":
            self.rows.append([])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in KNOWN, tag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open[-1:]):
            self.rows[-1].append(data)


def read(html):
    reader = Sound()
    reader.feed(html)
    assert reader.open == []
    return reader


def everything():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 300)
    y = rng.integers(0, 3, 300)
    names = [EVIL, LONG, "plain"]
    by = np.array(names, dtype=object)[np.arange(300) % 3]
    whole = cal.evaluate(y, p, classes=names, by=by, measures=None)
    models = {EVIL: p, LONG: rng.dirichlet(np.ones(3), 300)}
    time = np.datetime64("2026-01-01") + (np.arange(300) // 5).astype("timedelta64[D]")
    comparison = cal.compare(y, models, n_resamples=50)
    more = {f"{name} {j}": p for name, p in models.items() for j in range(8)}
    eight = cal.compare(y, more, measures=["ece", "lin_ce"], n_resamples=50)
    monitor = cal.Monitor(every="1d").update(y == 0, p[:, 0], time=time)
    return {
        "evaluation": whole,
        "worth": cal.evaluate(y == 0, p[:, 0], uncertainty=True, n_resamples=60),
        "reliability": cal.reliability(y == 0, p[:, 0]),
        "levels": cal.reliability(y == 0, p[:, 0], bins=cal.LevelSets()),
        "smooth": cal.smooth_reliability(y == 0, p[:, 0]),
        "soft": cal.smooth_reliability(p[:, 1], p[:, 0]),
        "classes": classwise_reliability(y, p, classes=names),
        "sensitivity": bin_sensitivity(y, p),
        "comparison": comparison,
        "robustness": eight.robustness,
        "slices": whole.slices,
        "windows": monitor.evaluate(baseline=2),
        "conventions": cal.conventions(y, p),
    }


@pytest.fixture(scope="module")
def results():
    return everything()


KINDS = (
    "evaluation", "worth", "reliability", "levels", "smooth", "soft", "classes", "sensitivity",
    "comparison", "robustness", "slices", "windows", "conventions",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_html_is_sound_and_what_users_write_is_text(results, kind):
    html = results[kind]._repr_html_()
    reader = read(html)
    assert EVIL not in html and "<script" not in html.lower()
    cells = [cell for row in reader.rows for cell in row]
    if kind in ("evaluation", "classes", "comparison", "slices"):
        assert EVIL in cells
        assert not any(len(cell) > 130 for cell in cells)
        assert LONG[:119] in "".join(cells)
    assert len(html) < 40_000


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_fetched_and_no_colour_is_of_a_light_page_alone(results, kind):
    html = results[kind]._repr_html_()
    assert "http" not in html and "url(" not in html and "@import" not in html
    assert "background" not in html
    colours = set(re.findall(r'(?:fill|stroke|color)[=:]"?([^";}]+)', html))
    assert colours <= {"currentColor", "inherit", "none", "#2b87c4"}


class TestTables:
    def test_values_are_those_of_the_columns(self, results):
        rows = read(results["reliability"]._repr_html_()).rows
        columns = results["reliability"].display_columns(0.95)
        assert rows[0] == list(columns)
        assert [row[0] for row in rows[1:]] == [str(b) for b in columns["bin"]]
        assert [int(row[3]) for row in rows[1:]] == columns["n"]

    def test_long_tables_are_cut_and_say_so(self):
        rows = read(html_table({"i": list(range(1000))})).rows
        assert len(rows) < MOST_ROWS and rows[1] == ["0"] and rows[-1] == ["999"]
        assert ["… 975 more rows: to_frame() has them"] in rows
        whole = read(html_table({"i": list(range(MOST_ROWS))})).rows
        assert len(whole) == MOST_ROWS + 1

    def test_text_is_to_the_left_and_numbers_to_the_right(self):
        html = html_table({"name": ["a"], "n": [1], "yes": [True], "gap": [0.1]})
        assert html.startswith('<div class="scroll l1 l3"><table>')

    def test_drawings_are_the_only_cells_that_are_not_escaped(self):
        html = html_table({"a": ["<svg></svg>"], "b": [Drawing("<svg></svg>")]})
        assert html.count("<td><svg></svg></td>") == 1 and "&lt;svg&gt;" in html

    def test_tips_are_escaped_too(self):
        html = html_table({"a": ["x"]}, tips={"a": ['"><b>']})
        assert '<td title="&quot;&gt;&lt;b&gt;">x</td>' in html

    def test_text_tables_are_cut_when_asked(self):
        text = as_text({"i": list(range(100)), "name": ["x"] * 100}, most=8).split("\n")
        assert text[0].split() == ["i", "name"] and len(text) == 10
        assert text[7] == "... 92 more rows ..." and text[-1].split() == ["99", "x"]
        levels = cal.reliability([0, 1] * 500, np.linspace(0, 1, 1000), bins=cal.LevelSets())
        assert len(repr(levels).split("\n")) < 210


class TestSketches:
    def test_a_dot_for_each_bin_with_rows(self):
        table = cal.reliability([0, 1, 1], [0.05, 0.95, 0.92], bins=10)
        drawn = table.sketch()
        assert drawn.count("<circle") == 2
        assert "1 row: mean prediction 0.050, mean target 0.000" in drawn
        assert 'aria-label="Reliability diagram, 2 bins with rows"' in drawn
        assert "observed frequency" in drawn
        # Left, top: 26, 8; a side of 170.
        assert f'cx="{26 + 170 * 0.05:.1f}" cy="178"' in drawn

    def test_very_many_bins_are_drawn_once_where_they_lie_together(self):
        p = np.linspace(0, 1, 20_000)
        columns = cal.reliability(p > 0.5, p, bins=cal.LevelSets()).intervals()
        assert len(reliability_sketch(columns, ("x", "y"))) < 60_000

    def test_a_line_has_gaps_where_there_is_nothing(self):
        assert sparkline([1.0, 2.0, float("nan"), 3.0]).count("M") == 2
        assert 'aria-label="from 1 to 3"' in sparkline([1.0, 2.0, 3.0])
        assert sparkline([2.0, 2.0]).count("L") == 1
        assert "nan" not in sparkline([float("nan")])


def test_a_real_notebook_shows_results_and_draws(tmp_path):
    nbformat, nbclient = need("nbformat"), need("nbclient")
    need("ipykernel")
    need("matplotlib")
    cells = [
        "import calibrant as cal\nfrom calibrant import examples\n"
        "e = examples.load('fashion-shirt')",
        "cal.evaluate(e.test_labels, e.test_proba, measures=['ece', 'brier'])",
        "%matplotlib inline\ncal.reliability(e.test_labels, e.test_proba).plot();",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(book, timeout=120).execute()
    shown = book.cells[1].outputs[0].data
    example = examples.load("fashion-shirt")
    error = cal.ece(example.test_labels, example.test_proba)
    assert f"{error:.4f}" in shown["text/html"] and f"{error:.4f}" in shown["text/plain"]
    assert read(shown["text/html"]).rows
    assert "image/png" in book.cells[2].outputs[0].data


def test_html_escapes_what_users_write():
    evil = "<script>alert(1)</script>"
    assert evil not in html_table({evil: [evil]}, evil)
    assert "&lt;script&gt;" in html_table({evil: [evil]}, evil)


def test_slices_with_intervals_fit_a_hundred_letters():
    y, p = [0, 1, 1, 0] * 100, [0.2, 0.7, 0.9, 0.4] * 100
    found = cal.evaluate(y, p, by=["a", "b"] * 200, measures=["ece"], uncertainty=True).slices
    table = repr(found).split("\n\n", 1)[1]
    assert max(map(len, table.splitlines())) <= 100 and "tolerance" in table
