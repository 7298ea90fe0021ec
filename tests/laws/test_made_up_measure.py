"""A measure that is added by the book is everywhere, without any other change.

By the book means: a formula over statistics, an entry of the catalogue, a public function, a twin.
Here are all four of two made-up measures, one over bins, with an exact mean for calibrated
predictions, and one that needs the predictions in order.
"""

from __future__ import annotations

import ast
import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pytest
import test_catalogue_laws as laws
import test_twins_by_name as by_name

import calibrant as cal
import twins
from calibrant import catalogue
from calibrant._api.metrics import binned as metrics
from calibrant._api.rows import as_source
from calibrant._core.arguments import Rows
from calibrant._core.bin_tables import BinTable
from calibrant._core.validation import public
from calibrant._inference.budget import quick_measures
from calibrant._inference.methods import INVERTED
from calibrant._measures.catalogue import GROUPS, Claims, Measure, find, registered
from calibrant._measures.truthful import linear_error, linear_errors, linear_null_mean
from calibrant._summaries.samples import Summary
from calibrant.results._pages.rows import measure_row
from calibrant.results._rendering import shown
from cli.command import main
from interval_law import hold_to_coverage
from needs import need

MAKE = Path(__file__).parents[2] / "docs" / "make"

# --- 1. formulas ----------------------------------------------------------------------------------


def two_bin_error(levels: BinTable) -> float:
    """The ECE in two bins, averaged over where they meet: ``mean_t (|R_{<=t}| + |R_{>t}|) / W``."""
    partial = np.cumsum(levels.residual, axis=1)
    rest = partial[:, -1:] - partial
    errors = (np.abs(partial) + np.abs(rest)) / levels.total_weight[:, None]
    return float((errors * levels.sum_w).sum() / levels.sum_w.sum())


# --- 2. entries -----------------------------------------------------------------------------------

WIDTH = Measure(
    "width_ce", "truthful error of equal-width bins", "(1/W^2) sum_B R_B^2", "scalar",
    ("binary", "multiclass"), "bins", 0, 1, Claims(None, None, True, None, True), "made up",
    "width_ce", lambda s: linear_error(s.bins), of_tables=linear_errors, power=2,
    aliases=("WidthCE",), group="truthful", label="WidthCE", null_mean=linear_null_mean,
)  # fmt: skip
TWO_BIN = Measure(
    "two_bin_ce", "two-bin calibration error", "mean_t (|R_{<=t}| + |R_{>t}|) / W", "scalar",
    ("binary", "multiclass"), "levels", 0, 1, Claims(False, None, True, None, True), "made up",
    "two_bin_ce", lambda s: two_bin_error(s.levels), group="unbinned", label="two-bin ECE",
)  # fmt: skip

# --- 3. public functions --------------------------------------------------------------------------


@public
def width_ce(y_true: Any, y_proba: Any, **rows: Unpack[Rows]) -> float:
    """A made-up error: squared residuals of equal-width bins."""
    return WIDTH.compute(Summary(as_source(y_true, y_proba, **rows)))


@public
def two_bin_ce(y_true: Any, y_proba: Any, **rows: Unpack[Rows]) -> float:
    """A made-up error: the ECE in two bins, averaged over where they meet."""
    return TWO_BIN.compute(Summary(as_source(y_true, y_proba, **rows)))


# --- 4. twins -------------------------------------------------------------------------------------


def twin_of_width_ce(case: twins.Case) -> float:
    return twins.lin_ce(case.scalar, twins.WIDTH)


def twin_of_two_bin_ce(case: twins.Case) -> float:
    rows, total = list(zip(*case.scalar, strict=True)), math.fsum(case.w)

    def error(t: float) -> float:
        sides = ([r for r in rows if r[0] <= t], [r for r in rows if r[0] > t])
        return sum(abs(math.fsum(w * (u - z) for u, z, w in side)) for side in sides) / total

    return math.fsum(w * error(u) for u, _, w in rows) / total


# --- nothing else ---------------------------------------------------------------------------------

MADE_UP = (WIDTH, TWO_BIN)
NAMES = [measure.name for measure in MADE_UP]
SHAPES = ("binary", "multiclass")
every_name = pytest.mark.parametrize("name", NAMES)
every_shape = pytest.mark.parametrize("shape", SHAPES)


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The measures in the catalogue, their functions beside the others, their twins by name."""
    for function in (width_ce, two_bin_ce):
        monkeypatch.setattr(cal, function.__name__, function, raising=False)
        monkeypatch.setattr(metrics, function.__name__, function, raising=False)
    for twin in (twin_of_width_ce, twin_of_two_bin_ce):
        monkeypatch.setattr(twins, twin.__name__, twin, raising=False)
    with registered(*MADE_UP):
        yield


def sample(shape: str, n: int = 300) -> tuple[Any, Any]:
    """Overconfident predictions and outcomes."""
    rng = np.random.default_rng(len(shape))
    if shape == "binary":
        h = rng.normal(0, 1.5, n)
        return (rng.random(n) < 1 / (1 + np.exp(-h))).astype(int), 1 / (1 + np.exp(-2 * h))
    scores = rng.normal(0, 1.5, (n, 3))
    right, p = (np.exp(t * scores) for t in (1.0, 2.0))
    right, p = right / right.sum(axis=1, keepdims=True), p / p.sum(axis=1, keepdims=True)
    return (rng.random(n)[:, None] > right.cumsum(axis=1)).sum(axis=1), p


def test_a_made_up_measure_is_gone_afterwards_and_there_meanwhile() -> None:
    assert set(NAMES) <= {measure.name for measure in cal.catalogue()}
    with registered():
        pass
    assert find("WidthCE", "binary").name == "width_ce"  # an alias


def test_the_catalogue_knows_what_it_needs() -> None:
    width, two_bin = MADE_UP
    assert (width.scale, width.interval_method) == ("squared gap", "inversion")
    assert (two_bin.scale, two_bin.interval_method) == ("mean gap", "inversion")
    assert width.resampling_cost() == "low" and two_bin.resampling_cost() == "medium"
    assert width in quick_measures(catalogue("binary"), 0)
    assert width.called(soft=True) == "WidthCE"


@every_shape
@every_name
def test_evaluate_has_it_with_an_interval_by_test_inversion(name: str, shape: str) -> None:
    y, p = sample(shape)
    function = getattr(cal, name)
    plain = cal.evaluate(y, p)
    assert plain[name] == function(y, p)
    found = cal.evaluate(y, p, measures=[name], uncertainty=True, n_resamples=100).estimate(name)
    assert found.interval is not None and found.interval.method == INVERTED
    assert found.interval.low <= found.interval.high < 1
    assert found.noise_floor is not None and found.noise_floor.p_value < 0.05


def test_its_noise_floor_has_the_exact_mean() -> None:
    y, p = sample("binary")
    floor = cal.noise_floor(y, p, measure="width_ce", n_resamples=200)
    assert floor.exact_mean
    assert floor.mean == pytest.approx(float((p * (1 - p)).sum()) / len(p) ** 2, rel=1e-12)
    assert not cal.noise_floor(y, p, measure="two_bin_ce", n_resamples=200).exact_mean


def test_compare_ranks_by_it() -> None:
    y, p = sample("binary")
    models = {"twice": p, "once": 1 / (1 + np.exp(-np.log(p / (1 - p)) / 2))}
    found = cal.compare(y, models, measures=NAMES, n_resamples=100, bin_counts=(5,))
    for name in NAMES:
        assert found.order(name) == ["once", "twice"]
        difference = found.difference("once", "twice", name)
        assert difference.low <= difference.value <= difference.high


def test_check_holds_squares_against_a_tolerance_of_gaps() -> None:
    y, p = sample("binary")
    # As a value 0.01 would pass whatever the predictions; as a gap in every bin it does not.
    assert float(cal.evaluate(y, p)["width_ce"]) < 0.01
    assert cal.verdict(y, p, measure="width_ce", tolerance=0.01).within_tolerance is False
    strict = cal.check(y, p, at_most={"width_ce": 1e-7, "two_bin_ce": 1e-3}, n_resamples=100)
    assert strict.verdict == "fail"
    assert cal.check(y, p, at_most={"width_ce": 0.5}, n_resamples=100).verdict == "pass"


@every_shape
def test_the_page_has_it_in_its_group_with_its_scale_and_format(shape: str) -> None:
    y, p = sample(shape, 120)
    report = cal.report(y, p, measures=[*NAMES, "lin_ce", "smooth_ece"], recalibrate="temperature")
    groups = {title: names for title, _, names in report.groups}
    assert groups[GROUPS["truthful"][0]][-1] == "width_ce"
    assert groups[GROUPS["unbinned"][0]][-1] == "two_bin_ce"
    assert set(NAMES) <= {entry.name for entry in report.glossary}
    for name in NAMES:
        row = measure_row(report.evaluation.estimate(name), 0.05)
        assert row["value"] == shown(report.evaluation[name]) and row["bar"] is not None
    sensitivity = cal.bin_sensitivity(y, p, bins=(5, 10), measures=["width_ce", "ece"])
    assert sensitivity.scales == {"width_ce": "squared gap", "ece": "mean gap"}


@every_shape
def test_a_stream_gives_it_or_says_why_not(shape: str) -> None:
    y, p = sample(shape)
    stream = cal.Accumulator()
    stream.update(y, p)
    found = stream.evaluate()
    assert found["width_ce"] == pytest.approx(cal.evaluate(y, p)["width_ce"], rel=1e-12)
    assert any("two_bin_ce" in note and "in order" in note for note in found.notes)
    with pytest.raises(cal.InputError, match="approximate=True for its value from"):
        stream.evaluate(measures=["two_bin_ce"])
    near = stream.evaluate(measures=["two_bin_ce"], approximate=True)["two_bin_ce"]
    assert near == pytest.approx(cal.evaluate(y, p)["two_bin_ce"], rel=0.05)


def test_frames_and_files_give_it(tmp_path: Path) -> None:
    pl = need("polars")
    y, p = sample("binary")
    frame = pl.DataFrame({"y": y, "p": p})
    frame.write_csv(tmp_path / "rows.csv")
    expected = cal.evaluate(y, p, measures=NAMES)
    lazily = cal.evaluate("y", "p", data=frame.lazy(), measures=NAMES)
    from_file = cal.evaluate_file(tmp_path / "rows.csv", y_true="y", y_proba="p", measures=NAMES)
    for name in NAMES:
        assert lazily[name] == pytest.approx(expected[name], rel=1e-12)
        assert from_file[name] == pytest.approx(expected[name], rel=1e-12)


def test_the_command_line_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = zip(*sample("binary"), strict=True)
    path = tmp_path / "rows.csv"
    path.write_text("label,p\n" + "".join(f"{y},{p}\n" for y, p in rows), encoding="utf-8")
    assert main(["report", str(path), "--measures", ",".join(NAMES), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [measure["name"] for measure in found["measures"]] == NAMES
    assert all(measure["interval"]["method"] == INVERTED for measure in found["measures"])
    # Unasked it has an interval too, for it is one of few bins.
    assert main(["report", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    unasked = {measure["name"]: measure["interval"] for measure in found["measures"]}
    assert unasked["width_ce"] is not None and unasked["two_bin_ce"] is None


def test_scikit_learn_scores_by_it() -> None:
    need("sklearn")
    from calibrant.integrations.sklearn import scorer, scorer_names

    assert set(NAMES) <= set(scorer_names())
    assert scorer("width_ce").function is width_ce


def test_the_docs_have_its_page() -> None:
    need("latex2mathml")
    sys.path.insert(0, str(MAKE))
    try:
        made = importlib.import_module("measures")
        # Pages are made once in a process, which may have built the site without this measure, or
        # may build it after this.
        made.pages.cache_clear()
        pages, groups = made.pages(), made.groups()
        made.pages.cache_clear()
    finally:
        sys.path.remove(str(MAKE))
    for name in NAMES:
        measure = find(name, "binary")
        page = pages[f"measures/{name}.md"]
        assert measure.formula in page and f"`cal.{name}`" in page and "not audited yet" in page
        assert name in groups[GROUPS[measure.group][0]]
        assert f"[`{name}`]({name}.md)" in pages["measures/index.md"]


@every_shape
@every_name
def test_the_laws_hold_for_it(name: str, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(laws.NAMES, shape, [name])
    for kind in laws.KINDS:
        laws.test_only_shares_of_weight_matter(shape, kind)
        laws.test_the_order_of_rows_does_not_matter(shape, kind)
        laws.test_a_whole_weight_is_a_repetition(shape, kind)
        laws.test_a_row_of_no_weight_is_no_row(shape, kind)


@pytest.mark.parametrize(
    ("kind", "population"), [("ordinary", "overconfident"), ("calibrated", "calibrated")]
)
def test_its_interval_is_held_to_its_coverage(kind: str, population: str) -> None:
    hold_to_coverage(kind, population, set(NAMES))


def test_the_audit_tries_it() -> None:
    found = cal.audit(NAMES, shape="binary", properties=["truthful", "complete", "weighted"])
    assert found.verdict("width_ce", "complete").holds is True
    assert found.verdict("two_bin_ce", "truthful").holds is False
    assert found.verdict("width_ce", "weighted").holds is True


def test_a_measure_without_a_twin_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        for shape in SHAPES:
            by_name.agree_with_twin(name, shape, "weighted")
    monkeypatch.delattr(twins, "twin_of_width_ce")
    with pytest.raises(AssertionError, match="add twin_of_width_ce"):
        by_name.agree_with_twin("width_ce", "binary", "hard")


def _names_in(node: ast.AST, known: set[str]) -> set[str]:
    """The measures that a literal list, or a comparison, names."""
    if isinstance(node, ast.Dict):
        items: list[ast.expr | None] = list(node.keys)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        items = list(node.elts)
    else:
        return set()
    return {e.value for e in items if isinstance(e, ast.Constant) and e.value in known}


def test_no_other_module_has_a_list_of_measures() -> None:
    """Public names are listed in `__init__`, papers are about the measures that they are, and SQL
    is written for some.
    """
    source, known = Path(cal.__file__).parent, {measure.name for measure in cal.catalogue()}
    exempt = {source / "__init__.py", source / "_measures" / "catalogue.py"}
    exempt |= {source / "_cli" / "sql.py", source / "integrations" / "tensorboard.py"}
    # What papers call them, and the statistics beside a clinical curve.
    exempt |= {source / "results" / "_clinical.py", source / "results" / "_plots" / "clinical.py"}
    for path in sorted(set(source.rglob("*.py")) - exempt):
        if "papers" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        if not any(f'"{name}"' in text for name in known):  # most modules: nothing to look for
            continue
        for node in ast.walk(ast.parse(text)):
            names = _names_in(node, known)
            assert len(names) < 2, f"{path}:{getattr(node, 'lineno', 0)} lists {sorted(names)}"
            if isinstance(node, ast.Compare):  # "brier" is a field of the sums of losses too
                compared = [node.left, *node.comparators]
                named = [e.value for e in compared if isinstance(e, ast.Constant)]
                assert known.isdisjoint(map(str, named)) or "brier" in named, (
                    f"{path}:{node.lineno}"
                )
