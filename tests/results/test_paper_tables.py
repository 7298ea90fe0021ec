"""Tables for papers: LaTeX and Markdown that any name survives, and what is marked in them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant.results._paper_tables import latex_text
from calibrant.results._rendering import (
    as_markdown,
    marked_numbers,
    scale_of,
    scaled_columns,
    shown,
)
from calibrant.results._text_tables import as_text
from needs import need

RNG = np.random.default_rng(4)
H = RNG.normal(size=800)
Y = (RNG.random(800) < 1 / (1 + np.exp(-H))).astype(int)
ODD = r"50% & a_b {x} \cmd #1 ~^ <|>"
MODELS = {
    ODD: 1 / (1 + np.exp(-H)),
    "close": 1 / (1 + np.exp(-1.02 * H)),
    "far": 1 / (1 + np.exp(-4 * H)),
}


@pytest.fixture(scope="module")
def found():
    return cal.compare(
        Y, MODELS, measures=["brier", "lin_ce", "brier_discrimination"], n_resamples=200
    )


def rows_of(latex):
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [
        re.split(r"(?<!\\)&", line.strip().removesuffix(r"\\"))
        for line in body.split("\n")
        if line.strip()
    ]


class TestLatex:
    def test_the_shape_of_a_paper_table(self, found):
        text = found.to_latex(caption="50% of <it>", label="tab:one")
        for name in ("table", "tabular"):
            assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
        plain = re.sub(r"\\[{}]", "", text)
        assert plain.count("{") == plain.count("}")
        assert r"\caption{50\% of \textless{}it\textgreater{}}" in text
        assert r"\label{tab:one}" in text and r"\begin{tabular}{lrrrrr}" in text
        rows = rows_of(text)
        assert len(rows) == 3 and {len(row) for row in rows} == {6}
        narrow = found.to_latex(raw=False)
        assert r"\begin{tabular}{lrrr}" in narrow and "sample" not in narrow
        assert {len(row) for row in rows_of(narrow)} == {4}

    def test_names_are_escaped(self, found):
        name = rows_of(found.to_latex())[0][0].strip()
        assert name == (
            r"50\% \& a\_b \{x\} \textbackslash{}cmd \#1 \textasciitilde{}\textasciicircum{} "
            r"\textless{}\textbar{}\textgreater{}"
        )
        assert latex_text("two\nlines") == "two lines"

    def test_rows_do_not_begin_with_options_of_the_line_before(self):
        """`\\\\[..]`, `\\midrule[..]` and `\\\\*` take what follows for their own."""
        models = {"[2pt] a": MODELS["close"], "*b": MODELS["far"], "c [x]*": MODELS[ODD]}
        latex = cal.compare(Y, models, measures=["brier"], n_resamples=50).to_latex()
        names = [row[0].strip() for row in rows_of(latex)]
        assert names[:3] == ["{}[2pt] a", "{}*b", "c [x]*"]
        for before in (r"\\\\", r"\\midrule", r"\\toprule"):
            assert not re.search(before + r"\s*[\[*]", latex)

    def test_best_and_ties(self, found):
        for j, measure in enumerate(found.measures):
            best = found.order(measure)[0]
            for i, name in enumerate(found.names):
                cell = rows_of(found.to_latex(raw=False))[i][j + 1]
                difference = found.difference(name, best, measure)
                # Of a rising function of the same predictions the discrimination is the same.
                leads = name in found.leaders(measure)
                assert (r"\textbf" in cell) == leads
                assert ("dagger" in cell) == (not leads and difference.better is None)
        assert r"\multicolumn{6}{l}" in found.to_latex()
        # A difference that is clear has no mark.
        only = cal.compare(
            Y, {k: MODELS[k] for k in ("close", "far")}, measures=["brier"], n_resamples=200
        )
        assert "dagger" not in only.to_latex()

    def test_small_values_have_a_scale(self, found):
        head = found.to_latex(measures=["lin_ce"])
        exponent = int(re.search(r"10\^\{(-\d+)\}", head).group(1))
        cell = rows_of(head)[2][1]
        estimate = float(re.search(r"[\d.]+", cell).group())
        at = found.intervals("lin_ce")
        expected = at["estimate"][at["predictor"].index("far")]
        assert estimate * 10.0**exponent == pytest.approx(expected, rel=0.05)
        raw = float(rows_of(head)[2][2])
        assert raw * 10.0**exponent == pytest.approx(found.value("far", "lin_ce"), rel=0.05)
        assert raw > estimate

    def test_the_footer_says_what_marks_and_numbers_are(self, found):
        footer = " ".join(re.findall(r"footnotesize (.*)\} ", found.to_latex()))
        assert "bold: the best estimate; in brackets: the 95\\% confidence interval" in footer
        assert f"{len(Y):,} rows" in footer and "0 to 2" not in footer and "ECE" not in footer
        assert "in brackets" not in found.to_latex(intervals=False)
        rng = np.random.default_rng(3)
        models = {name: rng.dirichlet(np.ones(3), 90) for name in "ab"}
        labels = rng.integers(0, 3, 90)
        classes = cal.compare(labels, models, measures=["ece", "brier"], bins=7, n_resamples=50)
        footer = classes.to_latex().rpartition("footnotesize ")[2]
        assert footer.startswith(
            "90 rows; ECE in 7 equal-width bins, left-closed; Brier score summed over classes, "
            "0 to 2"
        )

    def test_intervals_digits_and_direction(self, found):
        cell = rows_of(found.to_latex(measures=["brier"], digits=4))[0][1]
        low, high = (
            found.intervals("brier")[end][found.order("brier").index(ODD)]
            for end in ("low", "high")
        )
        assert f"[{low:.4f}, {high:.4f}]" in cell
        assert "[" not in "".join(rows_of(found.to_latex(intervals=False))[0][1:])
        assert r"$\uparrow$" in found.to_latex(measures=["brier_discrimination"])

    def test_options_of_latex_that_are_wrong_are_named(self, found):
        with pytest.raises(cal.InputError, match="no measure 'ece'"):
            found.to_latex(measures=["ece"])
        with pytest.raises(cal.InputError, match="digits must be"):
            found.to_latex(digits=-1)
        with pytest.raises(cal.InputError, match="label must be a plain name"):
            found.to_latex(label="a{b")


class TestDigits:
    """Digits tell a bold number from one that is not."""

    def made(self, estimates):
        """A comparison with these estimates, of which every two are clearly different."""
        found = cal.compare(
            Y,
            {str(i): MODELS["far"] for i in range(len(estimates))},
            measures=["brier"],
            n_resamples=50,
        )
        estimates = np.array(estimates)
        limits = np.stack([estimates - 0.05, estimates + 0.05, estimates], axis=-1)[:, None]
        apart = estimates[:, None] - estimates
        pairs = np.stack([apart * 0.9, apart * 1.1, apart], axis=-1)
        pairs[..., :2].sort(axis=-1)
        return replace(found, values=estimates[:, None], limits=limits, pairs=pairs[None])

    def test_of_tables_for_papers(self):
        usual = self.made([0.2, 0.3, 0.30001])
        assert r"\textbf{0.20}" in usual.to_latex() and "& 0.30 " in usual.to_latex()
        close = self.made([0.2, 0.2003, 0.3])
        assert r"\textbf{0.2000}" in close.to_latex() and "& 0.2003 " in close.to_latex()
        assert "**0.2000**" in close.to_markdown() and "| 0.2003 " in close.to_markdown()
        # What is asked for is given; what is equal has no digits that tell.
        assert r"\textbf{0.20}" in close.to_latex(digits=2)
        assert self.made([0.2, 0.2]).to_latex().count(r"\textbf{0.20}") == 2

    def test_of_the_page(self):
        need("jinja2")
        page = self.made([0.2, 0.200003, 0.3]).to_html()
        assert ">0.200000 <" in page and ">0.200003 <" in page

    def test_marked_numbers_have_the_digits_that_tell_them_apart(self):
        assert marked_numbers([0.1, 0.2], [True, False]) == ["0.1000", "0.2000"]
        assert marked_numbers([0.1, 0.10001], [True, False]) == ["0.10000", "0.10001"]
        assert marked_numbers([0.1, 0.10001], [True, True]) == ["0.1000", "0.1000"]
        assert marked_numbers([0.1, 0.1], [True, False]) == ["0.1000", "0.1000"]
        assert marked_numbers([np.nan, np.nan, 0.1], [True, False, False]) == ["", "", "0.1000"]


class TestMarkdown:
    def test_of_a_comparison(self, found):
        head, line, *rows, blank, ties, empty, note = found.to_markdown().splitlines()
        assert head.startswith("| predictor | Brier score ↓ | LinCE ↓")
        assert line == "|---|---:|---:|---:|---:|---:|" and blank == empty == ""
        assert ties.startswith("† not significantly different from the best")
        assert note.startswith("sample: the value in the sample")
        assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
        assert sum("**" in row for row in rows) >= 1

    @pytest.mark.parametrize(
        "make",
        [
            lambda: cal.evaluate(Y, MODELS["far"], measures=["ece"], by=Y).slices,
            lambda: cal.reliability(Y, MODELS["far"], bins=3),
            lambda: cal.evaluate(Y, MODELS["far"], measures=["ece"]),
            lambda: cal.check(Y, MODELS["far"], at_most={"brier": 0.5}),
            lambda: cal.conventions(Y, MODELS["far"]),
            lambda: cal.bin_sensitivity(Y, MODELS["far"]),
        ],
    )
    def test_of_every_table(self, make):
        table = make().to_markdown().splitlines()
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in table}
        assert len(widths) == 1 and set(table[1]) <= set("|-:")

    def test_cells_cannot_break_out(self):
        table = as_markdown({"a|b": ["x\n|*y*_z_ `c` [l](u) <b>", None], "n": [1.5, float("nan")]})
        head, _, first, second = table.splitlines()
        assert head == r"| a\|b | n |" and second == "|  |  |"
        assert first == r"| x \|\*y\*\_z\_ \`c\` \[l\](u) \<b\> | 1.5000 |"
        assert "lin_ce" in as_markdown({"lin_ce": [1]})


class TestFrames:
    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_intervals_and_ranks(self, found, backend):
        need(backend)
        frame = found.to_frame(backend, intervals=True)
        names = list(frame.column_names if backend == "pyarrow" else frame.columns)
        ends = ("", "_low", "_high", "_estimate", "_rank", "_rank_low", "_rank_high", "_tied")
        assert names[:9] == ["predictor", *(f"brier{end}" for end in ends)]
        assert len(names) == 1 + 3 * 8
        ranks = list(frame["brier_rank"])
        by_rank = dict(
            zip(found.ranking("brier")["predictor"], found.ranking("brier")["rank"], strict=True)
        )
        assert [int(str(r)) for r in ranks] == [by_rank[name] for name in found.names]


def test_scales_of_numbers_in_tables():
    assert scale_of([2e-3, 5e-5], below=0.01) == -3 and scale_of([2e-2, 5e-5], below=0.01) == 0
    assert [scale_of([v]) for v in (0.0, 5e-7, 3e-6, 4e-4, 2e-3, 1.0, float("nan"))] == [
        0, -9, -6, -6, 0, 0, 0,
    ]  # fmt: skip
    columns = scaled_columns({"name": ["a", "b"], "x": [4.123456e-5, 0.0], "y": [0.5, 1e-6]})
    assert columns == {"name": ["a", "b"], "x (1e-6)": [41.23, 0.0], "y": [0.5, 1e-6]}


class TestScaleOn:
    VAL = slice(0, 300)
    TEST = slice(300, 800)

    def given(self, rows):
        return {name: MODELS[name][rows] for name in ("close", "far")}

    def test_is_what_a_map_by_hand_gives(self):
        found = cal.compare(
            Y[self.TEST],
            self.given(self.TEST),
            measures=["brier"],
            n_resamples=50,
            scaler="platt",
            scale_on={"y_true": Y[self.VAL], "y_proba": self.given(self.VAL)},
        )
        for name, p in self.given(self.TEST).items():
            by_hand = cal.PlattScaling().fit(Y[self.VAL], MODELS[name][self.VAL]).transform(p)
            assert found.value(name, "brier") == cal.brier_score(Y[self.TEST], by_hand)
        assert found.recipe["scaler"] == "platt" and "Platt scaling" in found.notes[0]

    @pytest.mark.parametrize("kind", ["frame", "own labels", "log-probabilities"])
    def test_is_the_same_however_the_rows_are_given(self, kind):
        val, test = self.given(self.VAL), self.given(self.TEST)
        options = {"measures": ["brier"], "n_resamples": 50, "scaler": "beta"}
        plain = cal.compare(
            Y[self.TEST], test, **options, scale_on={"y_true": Y[self.VAL], "y_proba": val}
        )
        y_true, more = Y[self.TEST], {}
        scale_on = {"y_true": Y[self.VAL], "y_proba": val}
        if kind == "frame":
            pandas, names = need("pandas"), {name: name for name in test}
            y_true, more = "y", {"data": pandas.DataFrame({**test, "y": Y[self.TEST]})}
            frame = pandas.DataFrame({**val, "y": Y[self.VAL]})
            scale_on, test = {"y_true": "y", "y_proba": names, "data": frame}, names
        elif kind == "own labels":
            y_true = dict.fromkeys(test, Y[self.TEST])
            scale_on["y_true"] = dict.fromkeys(test, Y[self.VAL])
            more = {"ids": {name: range(y_true[name].size) for name in test}}
        else:
            test = {name: np.log(p) for name, p in test.items()}
            scale_on["y_proba"] = {name: np.log(p) for name, p in val.items()}
            more = {"from_logprobs": True}
        found = cal.compare(y_true, test, **options, **more, scale_on=scale_on)
        assert found.values == pytest.approx(plain.values, rel=1e-9)

    @pytest.mark.parametrize(
        ("scale_on", "said"),
        [
            ([1], "must map y_true and y_proba"),
            ({"y_true": Y}, "y_proba is not there"),
            ({"y_true": Y, "y_proba": MODELS["far"]}, "with the same names"),
            ({"y_true": Y, "y_proba": {"close": H}}, "no predictions of 'far'"),
            ({"y_tru": Y}, "did you mean 'y_true'"),
            ({"y_true": Y[:9], "y_proba": {"close": Y, "far": Y}}, "scale_on, close: "),
        ],
    )
    def test_rows_to_scale_on_that_are_wrong_are_named(self, scale_on, said):
        with pytest.raises(cal.InputError, match=said):
            cal.compare(Y, self.given(slice(None)), scale_on=scale_on)
        with pytest.raises(cal.InputError, match="did you mean 'temperature'"):
            cal.compare(
                Y,
                self.given(slice(None)),
                scaler="temp",
                scale_on={"y_true": Y, "y_proba": self.given(slice(None))},
            )


def test_small_numbers_keep_their_digits():
    assert [shown(v) for v in (0.5, 0.000412, 1234567.0, float("nan"), None, True, 3)] == [
        "0.5000", "0.000412", "1234567", "", "", "yes", "3",
    ]  # fmt: skip
    assert as_text({"a": ["x", "yy"], "n": [1, 22]}) == "a    n\nx    1\nyy  22"


class TestRowsAndLayout:
    def test_rows_come_in_the_order_and_by_the_names_given(self, found):
        plain = {row[0]: row[1:] for row in rows_of(found.to_latex(measures=["brier"]))}
        named = rows_of(found.to_latex(measures=["brier"], rows={"far": "C_1", "close": "B"}))
        assert [row[0].strip() for row in named] == [r"C\_1", "B", latex_text(ODD)]
        assert named[0][1:] == plain["far "] and named[1][1:] == plain["close "]
        text = found.to_markdown(measures=["brier"], rows=["far"])
        assert text.splitlines()[2].split("|")[1].strip() == "far"
        with pytest.raises(cal.InputError, match="rows: no predictor is called 'nobody'"):
            found.to_latex(rows=["nobody"])

    def test_stacked_intervals_stand_under_their_values(self, found):
        beside = rows_of(found.to_latex(measures=["brier", "lin_ce"]))
        lines = found.to_latex(measures=["brier", "lin_ce"], layout="stacked").split("\n")
        stacked = rows_of("\n".join(line for line in lines if "addlinespace" not in line))
        assert len(stacked) == 2 * len(beside) and len({len(row) for row in stacked}) == 1
        for row, over, under in zip(beside, stacked[::2], stacked[1::2], strict=True):
            assert under[0].strip() == ""
            for cell, value, interval in zip(row[1:], over[1:], under[1:], strict=True):
                assert cell.split() == [*value.split(), *interval.split()]
        assert "<br>[" in found.to_markdown(layout="stacked")
        with pytest.raises(cal.InputError, match="layout='under' is not known"):
            found.to_latex(layout="under")


class TestOneModel:
    def test_a_row_for_each_measure(self):
        result = cal.evaluate(
            Y, MODELS["far"], uncertainty=True, measures=["ece", "lin_ce", "auroc"]
        )
        rows = rows_of(result.to_latex(measures={"auroc": "C-statistic", "ece": "ECE & co"}))
        assert [row[0].strip() for row in rows[:2]] == [
            r"C-statistic $\uparrow$",
            r"ECE \& co $\downarrow$",
        ]
        ece = result.estimate("ece")
        shown_ends = re.findall(r"-?[\d.]+", rows[1][2])
        assert [float(each) for each in shown_ends] == pytest.approx(
            [ece.interval.low, ece.interval.high], abs=6e-4
        )
        assert float(rows[1][1]) == pytest.approx(ece.estimate, abs=6e-4)
        assert float(rows[1][3]) == pytest.approx(ece.value, abs=6e-4)
        assert r"$\times 10^{-3}$" in result.to_latex(measures=["lin_ce"])

    def test_without_uncertainty_there_are_values_alone(self):
        text = cal.evaluate(Y, MODELS["far"], measures=["brier"]).to_latex(digits=2, label="tab:a")
        assert r"\begin{tabular}{lr}" in text and r"\label{tab:a}" in text and "CI" not in text
        with pytest.raises(cal.InputError, match="no measure 'ece'"):
            cal.evaluate(Y, MODELS["far"], measures=["brier"]).to_latex(measures=["ece"])
