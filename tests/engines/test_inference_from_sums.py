"""Intervals, noise floors and verdicts from sums are those of the rows themselves."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._api.check_sums import check_sums
from calibrant._api.evaluate_samples import Options
from calibrant._api.limits import limits_of as limits_by_name
from calibrant._api.metrics.significance import cox_of
from calibrant._api.on_device import evaluate_on_device
from calibrant._api.rows import as_source
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._data.tensor_samples import TensorSamples
from calibrant._data.to_samples import to_samples
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.uncertainty import Uncertainty
from every_engine import LAZY, call, settings
from needs import need
from pairs import pairs
from rivals import sigmoid

# Errors that are not of bins have noise of their own draws.
SMOOTH = (
    "smooth_ece", "ls_ece", "ks_error", "cutoff_ce", "sweep_ece", "ici", "e50", "e90", "emax",
    "brier_miscalibration", "hle_rms",
)  # fmt: skip
BINARY = [m for m in cal.catalogue("binary") if not m.soft_only]


@cache
def rounded_rows():
    """Many rows at a hundred predictions, and the same rows pooled, with their numbers."""
    rng = np.random.default_rng(71)
    h = rng.normal(0, 1.5, 6000)
    y, u = (rng.random(6000) < sigmoid(h)).astype(int), np.round(sigmoid(1.3 * h), 2)
    pooled, counts = np.unique(np.stack([u, y], axis=1), axis=0, return_counts=True)
    return (y, u), (pooled[:, 1].astype(int), pooled[:, 0], counts.astype(float))


@cache
def both(n_resamples=1000):
    """The inference of rows, and of the same rows pooled."""
    (y, u), (z, v, counts) = rounded_rows()
    rules, given = (EqualWidth(15), Quantile(15)), (tuple(BINARY), 0.95, n_resamples)
    pooled = to_samples(z, v, sample_weight=counts)
    return (
        Uncertainty(to_samples(y, u), *rules, *given),
        Uncertainty(pooled, *rules, *given, counts=counts),
    )


def value_of(measure):
    y, u = rounded_rows()[0]
    return cal.evaluate(y, u, measures=[measure.name])[measure.name]


@pytest.mark.parametrize("measure", BINARY, ids=lambda m: m.name)
def test_pooled_rows_have_the_intervals_of_rows(measure):
    value = value_of(measure)
    # The ends of limits of two sets of 2,000 draws differ by 2 % of their width.
    rows, pooled = both(2000 if measure.name in SMOOTH else 1000)
    one, other = (each.interval(measure, value) for each in (rows, pooled))
    assert one.method == other.method and one.widened_by == other.widened_by
    width = one.high - one.low
    exact = 0.12 * width if measure.name in SMOOTH else 1e-9 * max(width, 1e-9)
    assert other.low == pytest.approx(one.low, abs=exact)
    assert other.high == pytest.approx(one.high, abs=exact)
    assert other.estimate == pytest.approx(one.estimate, abs=exact)
    floor, of_pooled = (each.noise_floor(measure, value) for each in (rows, pooled))
    if floor is None:
        assert of_pooled is None
        return
    assert of_pooled.upper == pytest.approx(floor.upper, rel=1e-9)
    assert of_pooled.p_value == pytest.approx(floor.p_value, rel=1e-6)
    # The mean of a truthful error is exact for rows, and that of the draws for pooled ones.
    assert of_pooled.mean == pytest.approx(floor.mean, rel=0.15 if floor.exact_mean else 1e-9)


@pytest.mark.parametrize("sure", [1e-12, 5e-5])
def test_few_events_are_counted_and_not_pooled_rows(sure):
    """Four events at one prediction are four, and ninety-six hits of a certain one are as many. Of
    436 rows, and not of six pooled ones, a prediction of 5e-5 is not certain.
    """
    u = np.repeat([0.02, 0.5, sure], [300, 40, 96])
    y = np.repeat([1, 0, 1, 0], [4, 296 + 17, 23, 96])
    pooled, counts = np.unique(np.stack([u, y], axis=1), axis=0, return_counts=True)
    rules, losses = (EqualWidth(15), Quantile(15)), tuple(m for m in BINARY if m.notion == "loss")
    rows = Uncertainty(to_samples(y, u), *rules, losses)
    samples = to_samples(pooled[:, 1].astype(int), pooled[:, 0], sample_weight=counts.astype(float))
    few = Uncertainty(samples, *rules, losses, counts=counts)
    assert few.n_rows == 436 and few.fewest_outcomes == rows.fewest_outcomes == 27
    for measure in losses:
        value = cal.evaluate(y, u, measures=[measure.name])[measure.name]
        one, other = rows.interval(measure, value), few.interval(measure, value)
        assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=1e-9)
        assert (other.note, other.widened_by) == (one.note, one.widened_by)


@cache
def frame_rows():
    rng = np.random.default_rng(72)
    h = rng.normal(0, 1.5, 4000)
    return {
        "y": (rng.random(4000) < sigmoid(h)).astype(int),
        "p": sigmoid(1.3 * h),
        "q": 1 - sigmoid(1.3 * h),
        "w": rng.random(4000) + 0.5,
        "s": rng.random(4000),
        "g": np.arange(4000) // 4,
    }


@pytest.mark.parametrize("engine_name", LAZY)
def test_lazy_frames_have_the_intervals_of_arrays(engine_name):
    rows = frame_rows()
    y, u = rows["y"], rows["p"]
    names = ["ece", "lin_ce", "brier", "smooth_ece"]
    found = call(engine_name, cal.evaluate, rows, "y", "p", measures=names, uncertainty=True)
    known = cal.evaluate(y, u, measures=names, uncertainty=True)
    for name in names:
        one, other = known.estimate(name), found.estimate(name)
        assert other.value == pytest.approx(one.value, rel=1e-12)
        width = one.interval.high - one.interval.low
        # Fine cells move a row to the next quantile bin now and then.
        near = width * {"ece": 1e-4, "brier": 1e-3, "lin_ce": 0.02, "smooth_ece": 0.15}[name]
        assert other.interval.low == pytest.approx(one.interval.low, abs=near)
        assert other.interval.high == pytest.approx(one.interval.high, abs=near)
        assert other.noise_floor.upper == pytest.approx(one.noise_floor.upper, rel=0.06)
    assert found.verdict.verdict == known.verdict.verdict == "miscalibrated"
    assert found.verdict.decided_by == known.verdict.decided_by
    assert found.verdict.n == 4000
    assert found.recipe["level"] == 0.95 and not found.recipe["grouped"]


def test_single_functions_read_lazy_frames():
    rows = frame_rows()
    y, u = rows["y"], rows["p"]
    alone = call("duckdb", cal.interval, rows, "y", "p", measure="auroc")
    assert alone.high == pytest.approx(cal.interval(y, u, measure="auroc").high, abs=1e-4)
    floor = call("duckdb", cal.noise_floor, rows, "y", "p")
    assert floor.upper == pytest.approx(cal.noise_floor(y, u).upper, rel=0.06)
    verdict, known = call("duckdb", cal.verdict, rows, "y", "p"), cal.verdict(y, u)
    assert (verdict.verdict, verdict.decided_by) == (known.verdict, known.decided_by)
    assert verdict.slope == pytest.approx(known.slope, abs=1e-3)
    assert verdict.slope_low == pytest.approx(known.slope_low, abs=2e-3)


def test_top_labels_of_lazy_frames_have_intervals():
    rows = frame_rows()
    p = np.stack([rows["q"], rows["p"]], axis=1)
    known = cal.interval(rows["y"], p, measure="ece")
    found = call("duckdb", cal.interval, rows, "y", ["q", "p"], measure="ece")
    assert (found.low, found.high) == pytest.approx((known.low, known.high), rel=1e-4)
    both = call("duckdb", cal.evaluate, rows, "y", ["q", "p"], uncertainty=True)
    assert both.estimate("ece").interval.low == pytest.approx(known.low, rel=1e-4)
    assert both.estimate("brier").interval is None
    notes = [note for note in both.notes if note.startswith("no intervals for ")]
    assert len(notes) == 1 and "it needs every class of each row" in notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["g", "w"]}, "groups must name one column"),
        ({"groups": "nobody"}, "nobody"),
        ({"bins": cal.LevelSets()}, "ece: with this many bins the interval resamples rows"),
        ({"bins": cal.Quantile(5, ties="rank")}, "bins by rank need the rows in order"),
        (
            {"measure": "dist_ce"},
            "no interval from sums for dist_ce: it compares whole distributions",
        ),
        ({"p": ["q", "p"], "measure": "classwise_ece"}, "it needs every class of each row"),
    ],
)
def test_what_sums_do_not_tell_is_refused_in_a_line(options, message):
    given = {"y": "y", "p": "p", **options}
    y, p = given.pop("y"), given.pop("p")
    with pytest.raises(InputError, match=message):
        call("duckdb", cal.interval, frame_rows(), y, p, **given)


def test_measures_left_out_for_one_reason_share_a_note():
    rng = np.random.default_rng(73)
    rows = {"y": rng.integers(0, 2, 40_000), "p": rng.random(40_000)}
    found = call("duckdb", cal.evaluate, rows, "y", "p")
    notes = [note for note in found.notes if "distinct predictions" in note]
    assert len(notes) == 1 and notes[0].startswith("sweep_ece, ks_error, cutoff_ce, atb, ")


def limits_of(interval):
    return interval.low, interval.high


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_files_have_the_intervals_of_arrays(tmp_path, form):
    rows, path = frame_rows(), tmp_path / f"rows.{form}"
    table = need("pyarrow").table({"label": rows["y"], "proba": rows["p"]})
    if form == "parquet":
        need("pyarrow.parquet").write_table(table, path, row_group_size=700)
    else:
        need("pyarrow.csv").write_csv(table, path)
    alone = cal.evaluate_file(path, measures=["ece"], uncertainty=True).estimate("ece").interval
    assert limits_of(alone) == pytest.approx(
        limits_of(cal.interval(rows["y"], rows["p"])), rel=1e-4
    )
    names = ["ece", "lin_ce", "auroc"]
    found = cal.evaluate_file(path, measures=names, uncertainty=True, tolerance=0.1, level=0.9)
    known = cal.evaluate(rows["y"], rows["p"], measures=names, uncertainty=True, level=0.9)
    for name, near in zip(names, (1e-4, 0.02, 1e-4), strict=True):
        one, other = known.estimate(name).interval, found.estimate(name).interval
        assert other.level == 0.9
        assert limits_of(other) == pytest.approx(limits_of(one), rel=near)
    assert found.verdict.tolerance == 0.1 and found.verdict.n == 4000


def test_streams_have_the_intervals_of_arrays():
    rows = frame_rows()
    y, u = rows["y"], rows["p"]
    stream = cal.Accumulator()
    for start in range(0, 4000, 500):
        stream.update(y[start : start + 500], u[start : start + 500])
    found = stream.evaluate(uncertainty=True)
    known = cal.evaluate(y, u, measures=["ece", "brier"], uncertainty=True)
    for name in ("ece", "brier"):
        one, other = known.estimate(name).interval, found.estimate(name).interval
        assert limits_of(other) == pytest.approx(limits_of(one), rel=1e-3)
    assert found.verdict.decided_by == known.verdict.decided_by
    # States that add up have the intervals of all rows.
    half, rest = cal.Accumulator(), cal.Accumulator()
    half.update(y[:2000], u[:2000])
    rest.update(y[2000:], u[2000:])
    both = half.merge(rest).evaluate(uncertainty=True).estimate("ece").interval
    assert limits_of(both) == pytest.approx(limits_of(found.estimate("ece").interval), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "update", "message"),
    [
        ({"measures": ["ece"]}, {}, "need sums in fine cells"),
    ],
)
def test_streams_say_what_their_sums_do_not_tell(options, update, message):
    rows = frame_rows()
    given = {name: rows[column] for name, column in update.items()}
    stream = cal.Accumulator(**options)
    stream.update(rows["y"], rows["p"], **given)
    with pytest.raises(InputError, match=message):
        stream.evaluate(uncertainty=True)


def test_top_labels_of_streams_have_intervals():
    rng = np.random.default_rng(74)
    p = rng.dirichlet(np.ones(3), 3000)
    y = (rng.random((3000, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    stream = cal.Accumulator()
    stream.update(y, p)
    found = stream.evaluate(uncertainty=True)
    known = cal.interval(y, p)
    assert limits_of(found.estimate("ece").interval) == pytest.approx(limits_of(known), rel=1e-4)
    assert found.verdict.verdict == cal.verdict(y, p).verdict


def test_checks_of_sums_hold_fails_against_all_limits_together():
    """Two limits: one that fails alone is held against the stricter level of both."""
    rows = frame_rows()
    stream = cal.Accumulator()
    stream.update(rows["y"], rows["p"])
    none: dict[str, float] = {}
    at_most = {"ece": 0.02, "brier": 0.3}
    limits = limits_by_name("binary", at_most, none)
    values = stream.evaluate(measures=["ece", "brier"]).values
    sums = PooledSums(stream.summary(), stream.rules)
    found = check_sums(sums, values, limits, 4000, 0, level=0.95, seed=0)
    known = cal.check(rows["y"], rows["p"], at_most=at_most)
    assert [each.verdict for each in found.rows] == ["fail", "pass"]
    assert found.rows[0].joint.level == known.rows[0].joint.level == 0.975
    for one, other in zip(known.rows, found.rows, strict=True):
        assert other.n == one.n == 4000
        assert limits_of(other.interval) == pytest.approx(limits_of(one.interval), rel=1e-3)
    near = limits_of(known.rows[0].joint)
    assert limits_of(found.rows[0].joint) == pytest.approx(near, rel=1e-3)


def test_lazy_frames_are_checked():
    rows = frame_rows()
    limits = {"at_most": {"ece": 0.1, "brier": 0.01}, "at_least": {"auroc": 0.7}}
    found = call("duckdb", cal.check, rows, "y", "p", **limits)
    known = cal.check(rows["y"], rows["p"], **limits)
    assert found.verdict == known.verdict == "fail" and found.n == 4000
    for one, other in zip(known.rows, found.rows, strict=True):
        assert other.verdict == one.verdict
        assert limits_of(other.interval) == pytest.approx(limits_of(one.interval), rel=1e-3)


def rare_rows():
    """Predictions about 0.0007, most of which lie in one or two cells of 1/2048."""
    rng = np.random.default_rng(75)
    p = np.exp(rng.normal(np.log(7e-4), 0.35, 20_000))
    return {"y": (rng.random(20_000) < 1.3 * p).astype(int), "p": p}


@pytest.mark.parametrize("measure", ["lin_ce", "ace", "confidence_ce", "auroc", "smooth_ece"])
def test_crowded_cells_do_not_tell_the_order(measure):
    """The limits of lin_ce were three times too high, and confidence_ce was surely above 0."""
    with pytest.raises(
        InputError, match=f"no interval from sums for {measure}: it needs the order of"
    ):
        call("duckdb", cal.interval, rare_rows(), "y", "p", measure=measure)


def test_crowded_cells_tell_what_needs_no_order():
    rows = rare_rows()
    names = ["ece", "rmsce", "brier", "log_loss"]
    found = call("duckdb", cal.evaluate, rows, "y", "p", uncertainty=True)
    known = cal.evaluate(rows["y"], rows["p"], measures=names, uncertainty=True)
    for name in names:
        one, other = known.estimate(name).interval, found.estimate(name).interval
        assert limits_of(other) == pytest.approx(limits_of(one), rel=3e-3), name
    assert found.estimate("lin_ce").interval is None
    assert any("lin_ce" in n and "it needs the order of predictions" in n for n in found.notes)


def test_equal_predictions_do_not_crowd_a_cell():
    rng = np.random.default_rng(76)
    u = rng.choice([0.2, 0.21, 0.8], 3000)
    rows = {"y": (rng.random(3000) < u).astype(int), "p": u}
    found = call("duckdb", cal.interval, rows, "y", "p", measure="lin_ce")
    known = cal.interval(rows["y"], u, measure="lin_ce")
    assert limits_of(found) == pytest.approx(limits_of(known), rel=1e-9)


@pytest.mark.parametrize("weight", [2.0, 0.1, 1e6])
def test_weights_that_are_all_the_same_do_not_count(weight):
    rows = {**frame_rows(), "same": np.full(4000, weight)}
    plain = call("duckdb", cal.interval, rows, "y", "p")
    found = call("duckdb", cal.interval, rows, "y", "p", sample_weight="same")
    assert limits_of(found) == pytest.approx(limits_of(plain), rel=1e-9)


def test_verdicts_of_top_labels_speak_of_confidences():
    rng = np.random.default_rng(77)
    p = rng.dirichlet(np.full(3, 0.3), 4000)
    right = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
    y = (rng.random((4000, 1)) > right.cumsum(axis=1)[:, :-1]).sum(axis=1)
    stream = cal.Accumulator()
    stream.update(y, p)
    sentence = stream.evaluate(uncertainty=True).verdict.sentence
    assert sentence.startswith("Miscalibrated: confidences are too extreme")
    assert "Overconfident by" in sentence and "Overconfident by" in cal.verdict(y, p).sentence


# --- weights, soft labels, clusters ---------------------------------------------------------------

# The limits of means and squares need no draws; other measures draw residuals of pooled rows.
CLOSED = ["ece", "lin_ce", "rmsce", "brier", "log_loss", "auroc", "brier_uncertainty"]
DRAWN = ["smooth_ece", "ks_error", "ls_ece"]
KINDS = {
    "weights": {"sample_weight": "w"},
    "soft": {"y": "s"},
    "soft and weights": {"y": "s", "sample_weight": "w"},
    "clusters": {"groups": "g"},
    "clusters and weights": {"groups": "g", "sample_weight": "w"},
    "soft clusters": {"y": "s", "groups": "g"},
}


def crossed(kinds):
    """Engines and kinds of rows: DuckDB with every kind; each other engine with and without soft
    labels, weights and clusters.

    A kind has a query of its own for each of these, and engines differ in how they carry it out.
    """
    others = [engine for engine in LAZY if engine != "duckdb"]
    kind_of = {made_of(kind): kind for kind in kinds}
    met = pairs((engine, *made) for made in kind_of for engine in others)
    rows = [("duckdb", kind) for kind in kinds]
    return rows + [(engine, kind_of[tuple(made)]) for engine, *made in met]


def made_of(kind):
    """What a kind of rows has: soft labels, weights, clusters."""
    return tuple(word in kind for word in ("soft", "weights", "clusters"))


# Kinds of which measures are drawn: these three, with and without each other.
WITH_DRAWS = pairs(map(made_of, ("plain", *KINDS)))


def names_for(engine, kind, closed):
    """The measures that are looked at."""
    if engine != "duckdb":
        return ["ece", "lin_ce", "brier"]
    return [*closed, *(DRAWN if made_of(kind) in WITH_DRAWS else ())]


@cache
def mixed_rows():
    """Rows with weights, shares of five votes and three hundred clusters, whose rows vary together
    and whose names are in the order of their numbers.
    """
    rng = np.random.default_rng(78)
    h, cluster = rng.normal(0, 1.5, 3000), np.arange(3000) // 10
    chance = sigmoid(h + rng.normal(0, 0.5, 300)[cluster])
    return {
        "y": (rng.random(3000) < chance).astype(int),
        "s": rng.binomial(5, chance) / 5,
        "p": sigmoid(1.3 * h),
        "q": sigmoid(1.1 * h + 0.1),
        "w": rng.random(3000) + 0.2,
        "g": 1000 + cluster,
    }


def of_arrays(rows, function, y, *predictions, **columns):
    """The same call with the columns themselves."""
    given = {name: rows[column] for name, column in columns.items() if str(column) in rows}
    rest = {name: value for name, value in columns.items() if name not in given}
    return function(rows[y], *predictions, **given, **rest)


def some_of(make, engine_name):
    """The rows; in Spark, whose plans take milliseconds a row if not compiled, every fifth one."""
    return _every_fifth(make) if engine_name == "spark" else make()


@cache
def _every_fifth(make):
    return {name: values[::5] for name, values in make().items()}


@cache
def evaluated_arrays(kind, in_spark):
    """All measures of a kind of rows in memory, of which some are computed on every engine."""
    rows, columns = some_of(mixed_rows, "spark" if in_spark else ""), dict(KINDS[kind])
    y = columns.pop("y", "y")
    options = {"measures": names_for("duckdb", kind, CLOSED), "uncertainty": True, **columns}
    return of_arrays(rows, cal.evaluate, y, rows["p"], **options)


@pytest.mark.parametrize(("engine_name", "kind"), crossed(KINDS))
def test_weights_soft_labels_and_clusters_have_the_intervals_of_arrays(engine_name, kind):
    rows, columns = some_of(mixed_rows, engine_name), dict(KINDS[kind])
    y = columns.pop("y", "y")
    names = names_for(engine_name, kind, CLOSED)
    options = {"measures": names, "uncertainty": True, **columns}
    found, known = (
        call(engine_name, cal.evaluate, rows, y, "p", **options),
        evaluated_arrays(kind, engine_name == "spark"),
    )
    for name in names:
        one, other = known.estimate(name), found.estimate(name)
        assert other.value == pytest.approx(one.value, rel=1e-12)
        width = one.interval.high - one.interval.low
        near = (0.2 if name in DRAWN else 0.01) * width
        assert other.interval.low == pytest.approx(one.interval.low, abs=near)
        assert other.interval.high == pytest.approx(one.interval.high, abs=near)
        assert (one.noise_floor is None) == (other.noise_floor is None)
        if one.noise_floor is not None:
            assert other.noise_floor.upper == pytest.approx(one.noise_floor.upper, rel=0.15)
    assert found.verdict.verdict == known.verdict.verdict
    assert found.verdict.n == len(rows["p"])
    assert found.recipe["grouped"] == ("groups" in columns)


def test_missing_names_of_clusters_are_an_error():
    rows = {**frame_rows(), "g": ["a", "b", None, "c"] * 1000}
    with pytest.raises(InputError, match=r"groups is missing in 1,?000 rows"):
        call("polars", cal.interval, rows, "y", "p", groups="g")


def test_weighted_streams_have_the_intervals_of_arrays():
    rows, stream = mixed_rows(), cal.Accumulator()
    stream.update(rows["y"], rows["p"], sample_weight=rows["w"])
    found = stream.evaluate(uncertainty=True)
    known = cal.evaluate(rows["y"], rows["p"], sample_weight=rows["w"], uncertainty=True)
    for name in ("ece", "brier", "log_loss"):
        one, other = known.estimate(name).interval, found.estimate(name).interval
        assert limits_of(other) == pytest.approx(limits_of(one), rel=1e-2)
    assert found.verdict.n == 3000


def test_streams_of_soft_labels_have_intervals_of_errors_and_not_of_losses():
    rows, stream = mixed_rows(), cal.Accumulator()
    stream.update(rows["s"], rows["p"])
    found = stream.evaluate(uncertainty=True)
    known = cal.evaluate(rows["s"], rows["p"], uncertainty=True)
    one, other = (each.estimate("ece").interval for each in (known, found))
    assert limits_of(other) == pytest.approx(limits_of(one), rel=1e-3)
    assert found.estimate("brier").interval is None
    assert any("do not hold the variance of losses" in note for note in found.notes)


# --- comparisons ----------------------------------------------------------------------------------


@cache
def compared_arrays(kind, in_spark):
    """Differences in all measures of a kind of rows in memory."""
    rows = some_of(mixed_rows, "spark" if in_spark else "")
    columns = dict(KINDS.get(kind, {}))
    y = columns.pop("y", "y")
    options = {"measures": names_for("duckdb", kind, CLOSED[:-1]), **columns}
    return of_arrays(rows, cal.compare, y, {"a": rows["p"], "b": rows["q"]}, **options)


@pytest.mark.parametrize(("engine_name", "kind"), crossed(["plain", *KINDS]))
def test_columns_of_lazy_frames_compare_as_arrays(engine_name, kind):
    rows, columns = some_of(mixed_rows, engine_name), dict(KINDS.get(kind, {}))
    y = columns.pop("y", "y")
    names = names_for(engine_name, kind, CLOSED[:-1])
    both = {"a": "p", "b": "q"}
    found = call(engine_name, cal.compare, rows, y, both, measures=names, **columns)
    known = compared_arrays(kind, engine_name == "spark")
    assert list(found.measures) == names
    of_names = [known.measures.index(name) for name in names]
    assert found.values == pytest.approx(known.values[:, of_names], rel=1e-12)
    for name in names:
        one, other = (each.difference("a", "b", name) for each in (known, found))
        # Predictors that rank rows alike have equal AUROCs; pooled rows rank nearly so.
        near = max((0.2 if name in DRAWN else 0.05) * (one.high - one.low), 1e-5)
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=near)
    assert found.recipe["n"] == len(rows["p"]) and found.recipe["engine"]


def test_predictors_with_their_own_labels_compare_as_arrays():
    rows = {**mixed_rows(), "other": np.roll(mixed_rows()["y"], 1)}
    own = {"a": "y", "b": "other"}
    found = call("duckdb", cal.compare, rows, own, {"a": "p", "b": "q"}, measures=["ece"])
    known = cal.compare(
        {name: rows[column] for name, column in own.items()},
        {"a": rows["p"], "b": rows["q"]},
        measures=["ece"],
    )
    one, other = (each.difference("a", "b", "ece") for each in (known, found))
    assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=1e-6)
    assert found.inferred[-1] == known.inferred[-1]


@pytest.mark.parametrize("argument", ["by", "ids", "votes", "models", "scale_on", "ceiling"])
def test_comparisons_of_lazy_frames_refuse_what_needs_rows(argument):
    with pytest.raises(InputError, match=f"{argument}= needs rows in memory"):
        call("duckdb", cal.compare, frame_rows(), "y", {"a": "p", "b": "q"}, **{argument: "g"})


# --- files and tensors ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("kind", ["soft", "soft and weights", "clusters", "clusters and weights"])
def test_files_pool_rows_of_clusters_and_soft_labels(tmp_path, kind, form):
    rows, columns, path = mixed_rows(), dict(KINDS[kind]), tmp_path / f"rows.{form}"
    y = columns.pop("y", "y")
    # Rows of one cluster stand anywhere in the file.
    order = np.random.default_rng(79).permutation(3000)
    table = need("pyarrow").table({name: values[order] for name, values in rows.items()})
    if form == "parquet":
        need("pyarrow.parquet").write_table(table, path, row_group_size=700)
    else:
        need("pyarrow.csv").write_csv(table, path)
    names = ["ece", "lin_ce", "brier"]
    options = {"measures": names, "uncertainty": True, **columns}
    found = cal.evaluate_file(path, y_true=y, y_proba="p", **options)
    known = of_arrays(rows, cal.evaluate, y, rows["p"], **options)
    for name in names:
        one, other = (each.estimate(name).interval for each in (known, found))
        assert limits_of(other) == pytest.approx(limits_of(one), abs=0.01 * (one.high - one.low))
    assert found.recipe["grouped"] == ("groups" in columns)
    assert found.verdict.n == 3000


def test_groups_of_files_say_what_is_wrong(tmp_path):
    path = tmp_path / "rows.csv"
    lines = ["label,proba,user", "1,0.8,a", "0,0.3,", "1,0.6,b"]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match="line 3: groups='user' is missing in 1 row"):
        cal.evaluate_file(path, groups="user", uncertainty=True)
    path.write_text("\n".join(line.rsplit(",", 1)[0] + ",a" for line in lines[1:3]))
    with pytest.raises(InputError, match="groups has no effect"):
        cal.evaluate_file(path, groups="user")
    with pytest.raises(InputError, match="cannot be combined"):
        cal.evaluate_file(path, groups="user", by="user", uncertainty=True)


def test_votes_are_not_drawn_anew_from_sums(tmp_path):
    rows, path = mixed_rows(), tmp_path / "rows.parquet"
    columns = {"label": rows["s"], "proba": rows["p"], "votes": np.full(3000, 5)}
    need("pyarrow.parquet").write_table(need("pyarrow").table(columns), path)
    with pytest.raises(InputError, match="resample the votes of each row"):
        cal.evaluate_file(path, votes="votes", uncertainty=True)


def test_tensors_have_the_intervals_of_arrays():
    torch = need("torch")
    rows, names = frame_rows(), ["ece", "lin_ce", "brier", "auroc"]
    options = Options(measures=names, intervals="all")
    with settings("torch"):
        tensors = as_source(torch.tensor(rows["y"]), torch.tensor(rows["p"]))
        assert isinstance(tensors, TensorSamples)
        found = evaluate_on_device(tensors, options)
        soft = as_source(torch.tensor(rows["s"]), torch.tensor(rows["p"]))
        of_soft = evaluate_on_device(soft, options)
        everything = evaluate_on_device(tensors, replace(options, measures=None, clinical=True))
    for label, result in (("y", found), ("s", of_soft)):
        known = cal.evaluate(rows[label], rows["p"], measures=names, uncertainty=True)
        for name in names:
            one, other = (each.estimate(name).interval for each in (known, result))
            near = 0.02 * (one.high - one.low)
            assert limits_of(other) == pytest.approx(limits_of(one), abs=near)
    assert found.verdict.sentence.startswith("Miscalibrated")
    with settings("torch"):
        both = np.stack([1.0 - rows["p"], rows["p"]], axis=1)
        two = as_source(torch.tensor(rows["y"]), torch.tensor(both))
        of_classes = evaluate_on_device(two, replace(options, measures=["classwise_ece"]))
    known = cal.interval(rows["y"], both, measure="classwise_ece")
    assert limits_of(of_classes.estimate("classwise_ece").interval) == limits_of(known)
    clinical = cal.evaluate(rows["y"], rows["p"], uncertainty=True).clinical
    for name in ("slope", "brier", "c_statistic"):
        one, other = (each[name] for each in (clinical, everything.clinical))
        assert other.value == pytest.approx(one.value, rel=1e-3), name
        assert other.low == pytest.approx(one.low, rel=0.02), name


@cache
def halved_rows():
    return {**mixed_rows(), "half": ["first"] * 1400 + ["second"] * 1600}


SLICED = {"measures": ["ece", "brier"], "uncertainty": True}


@cache
def evaluated_halves(kind):
    """The halves of the rows in memory."""
    rows = halved_rows()
    given = {name: rows[column] for name, column in KINDS.get(kind, {}).items()}
    return cal.evaluate(rows["y"], rows["p"], by=rows["half"], **SLICED, **given)


@pytest.mark.parametrize(("engine_name", "kind"), crossed(["plain", "clusters", "weights"]))
def test_slices_of_lazy_frames_have_the_intervals_of_rows(engine_name, kind):
    options = KINDS.get(kind, {})
    found = call(engine_name, cal.evaluate, halved_rows(), "y", "p", by="half", **SLICED, **options)
    known = evaluated_halves(kind)
    assert [each.name for each in found.slices] == [each.name for each in known.slices]
    for one, other in zip(known.slices, found.slices, strict=True):
        assert (other.n, other.verdict, other.n_clusters) == (one.n, one.verdict, one.n_clusters)
        assert other.values == pytest.approx(one.values, rel=1e-9)
        width = one.high - one.low
        for name in ("low", "high", "estimate", "noise_95"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), abs=0.02 * width), name


def test_the_slope_without_clipped_rows_is_that_of_rows():
    """Pooled rows that are left out take their numbers with them."""
    rng = np.random.default_rng(94)
    u = np.round(np.clip(rng.normal(0.5, 0.4, 4000), 0.0, 1.0), 2)
    y = (rng.random(4000) < 0.1 + 0.8 * u).astype(int)
    pooled, counts = np.unique(np.stack([u, y], axis=1), axis=0, return_counts=True)
    rules, given = (EqualWidth(15), Quantile(15)), (tuple(BINARY[:1]), 0.95, 100)
    weighted = to_samples(
        pooled[:, 1].astype(int), pooled[:, 0], sample_weight=counts.astype(float)
    )
    found, known = (
        cox_of(each.plain_problem, None, 0.95, 1e-6).without_clipped
        for each in (
            Uncertainty(weighted, *rules, *given, counts=counts.astype(float)),
            Uncertainty(to_samples(y, u), *rules, *given),
        )
    )
    for name in ("slope", "slope_low", "slope_high", "p_value"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-6), name
