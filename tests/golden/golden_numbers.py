"""The numbers that are recorded: families of what public functions give for small data sets.

A number's name is a path: its family, what was computed, the data set, and the field of the result.
`golden_record.py` records the numbers, and `test_golden.py` compares them with what was recorded.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from golden_data import Rows, data_sets
from golden_flat import Number, Numbers, fields, flat, split

import calibrant as cal
from calibrant import scaling

# Families that a rewrite of intervals must not move. Of the others it is seen what moves.
MUST_STAY = ("values", "tables", "tests", "scaling", "streams")
MAY_MOVE = ("intervals", "floors", "verdict", "compare", "check", "pages")

# Draws behind an interval or a noise floor: few, because their arithmetic is held, and no coverage.
DRAWS = 200
# Data sets whose values alone are recorded: the intervals would be nearly those of another set.
VALUES_ALONE = (
    "binary, float32",
    "binary, logits",
    "3 classes, float32",
    "3 classes, logits",
    "10 classes, two decimals",
)

INFERRED = [name for name in data_sets() if name not in VALUES_ALONE]

OF_INTERVAL = ("low", "high", "estimate")
OF_FLOOR = ("upper", "p_value")
# Measures of which differences are wanted besides those that `compare` takes unasked.
PAIRED = {
    "binary": ("ace", "rmsce", "mce", "ls_ece", "ks_error", "cutoff_ce", "atb", "ici",
               "confidence_ce", "debiased_l2", "brier_miscalibration"),
    "3 classes": ("ace", "rmsce", "mce", "ls_ece", "ks_error", "cutoff_ce", "atb", "lin_ce",
                  "classwise_ece", "top_label_ece", "debiased_l2", "brier_miscalibration"),
}  # fmt: skip
# Options that a catalogue's measure does not have.
VARIANTS: dict[str, tuple[tuple[Callable[..., float], dict[str, Any]], ...]] = {
    "binary, weights": (
        (cal.ece, {"norm": "l2", "bins": 7}), (cal.ece, {"bins": "auto"}),
        (cal.ece, {"bins": cal.Quantile(9)}), (cal.ece, {"bins": cal.LevelSets()}),
        (cal.ece, {"bins": cal.Edges([0, 0.1, 0.5, 1])}), (cal.ece, {"notion": "confidence"}),
        (cal.soft_ece, {}), (cal.ace, {"norm": "max"}), (cal.atb, {"root": True}),
        (cal.ici, {"part": "emax"}), (cal.lin_ce, {"norm": "l1"}), (cal.smooth_ece, {"sigma": 0.1}),
        (cal.ls_ece, {"sigma": 0.3}), (cal.ls_ece, {"noise": "uniform"}),
        (cal.sweep_ece, {"norm": "l2"}), (cal.accuracy_at_coverage, {"coverage": 0.5}),
    ),
    "3 classes, votes": (
        (cal.ece, {"notion": "classwise"}), (cal.ece, {"bins": cal.Quantile(9)}),
        (cal.soft_ece, {"notion": "confidence"}), (cal.top_label_ece, {"norm": "l2"}),
        (cal.classwise_ce, {"bins": 10}), (cal.confidence_ce, {"corrected": False}),
        (cal.tace, {"threshold": 0.05}), (cal.jsd, {"base": 2}), (cal.kl, {"zero": "infinite"}),
        (cal.wasserstein, {"positions": [0, 1, 3]}), (cal.wasserstein, {"normalize": True}),
        (cal.ent_ce, {"signed": True}), (cal.dist_ce, {"norm": "l1"}),
        (cal.lin_ce, {"norm": "l1"}), (cal.smooth_ece, {"notion": "classwise"}),
    ),
}  # fmt: skip

# Decided by the last digit of a sum, and so by the kernels that sum: the number of bins of a sweep
# over weighted rows, ties of two models in a draw, and a mean where there are next to no rows.
UNSTABLE = re.compile(
    r"intervals/.*weights/sweep_ece/|compare/binary, few rows/auroc/best/|"
    r"likeliest label/curve/points/mean_target/"
)

Found = Iterator[tuple[str, Number]]


def _said(options: dict[str, Any]) -> str:
    return ", ".join(f"{option}={value}" for option, value in options.items())


def _values() -> Found:
    for name, rows in data_sets().items():
        for estimate in cal.evaluate(rows.y, rows.p, **rows.options).estimates:
            yield f"values/{name}/{estimate.name}", estimate.value
    for name, variants in VARIANTS.items():
        rows = data_sets()[name]
        for measure, options in variants:
            found = measure(rows.y, rows.p, **rows.options, **options)
            yield f"values/{name}/{measure.__name__}({_said(options)})", float(found)


def _uncertainty() -> Found:
    for name in INFERRED:
        rows = data_sets()[name]
        found = cal.evaluate(rows.y, rows.p, uncertainty=True, n_resamples=DRAWS, **rows.inferring)
        for estimate in found.estimates:
            path = f"{name}/{estimate.name}"
            yield from fields(f"intervals/{path}", estimate.interval, OF_INTERVAL)
            yield from fields(f"floors/{path}", estimate.noise_floor, OF_FLOOR)
        yield from _verdict(name, found.verdict)
    rows = data_sets()["binary, clusters"]
    for options in ({"bins": 7}, {"measure": "smooth_ece"}, {"measure": "lin_ce"}):
        said = f"binary, clusters, {_said(options)}"
        interval = cal.interval(rows.y, rows.p, level=0.8, **rows.inferring, **options)
        yield from fields(f"intervals/{said}", interval, OF_INTERVAL)
        floor = cal.noise_floor(rows.y, rows.p, **rows.inferring, **options)
        yield from fields(f"floors/{said}", floor, OF_FLOOR)
        verdict = cal.verdict(rows.y, rows.p, tolerance=0.1, **rows.inferring, **options)
        yield from _verdict(said, verdict)
    rows = data_sets()["3 classes, votes"]
    for resample in ("rows", "votes", "both"):
        found = cal.interval(
            rows.y, rows.p, measure="dist_ce", resample=resample, n_resamples=DRAWS
        )
        yield from fields(f"intervals/3 classes, votes, {resample}/dist_ce", found, OF_INTERVAL)


def _verdict(name: str, verdict: Any) -> Found:
    known = {key: value for key, value in verdict.to_dict().items() if key not in ("value", "n")}
    yield from flat(f"verdict/{name}", known)


def _tests() -> Found:
    for name in ("binary", "binary, clusters", "binary, weights", "binary, few rows", "3 classes"):
        rows = data_sets()[name]
        for test in (cal.spiegelhalter, cal.cutoff_test, cal.truthful_test, cal.cox_calibration):
            yield from flat(f"tests/{name}/{test.__name__}", test(rows.y, rows.p, **rows.inferring))
        yield from flat(f"tests/{name}/hosmer_lemeshow", cal.hosmer_lemeshow(rows.y, rows.p))
    rows = data_sets()["binary"]
    found = cal.find_segments(rows.y, rows.p, {"by": rows.by, "p": rows.p}, n_draws=200)
    yield from flat("tests/binary/find_segments", found)
    yield from flat("tests/binary/recommend", cal.recommend(rows.y, rows.p))


def _tables() -> Found:
    """Tables and curves; their limits are intervals."""
    curves = (cal.reliability, cal.reliability_curve, cal.smooth_reliability, cal.risk_coverage)
    for name in ("binary", "binary, weights", "3 classes, votes"):
        rows = data_sets()[name]
        for table in (*curves, cal.brier_decomposition, cal.bin_sensitivity, cal.decompose):
            found = table(rows.y, rows.p, **rows.options)
            yield from split("tables", "intervals", f"{name}/{table.__name__}", found)
    for name in ("binary, clusters", "binary, weights", "binary, few rows"):
        rows = data_sets()[name]
        found = cal.clinical_summary(rows.y, rows.p, n_resamples=DRAWS, **rows.inferring)
        yield from split("tables", "intervals", f"{name}/clinical_summary", found)
        found = cal.decision_curve(rows.y, rows.p, thresholds=[0.1, 0.3], **rows.inferring)
        yield from split("tables", "intervals", f"{name}/decision_curve", found)
    for name in ("binary", "3 classes"):
        rows = data_sets()[name]
        yield from split(
            "tables", "intervals", f"{name}/conventions", cal.conventions(rows.y, rows.p)
        )
        found = cal.evaluate(rows.y, rows.p, by=rows.by, uncertainty=True, n_resamples=DRAWS)
        yield from split("tables", "intervals", f"{name}/slices", found.slices)
    yield from _vote_tables(data_sets()["3 classes, votes"])


def _vote_tables(rows: Rows) -> Found:
    for name, found in {
        "vote_noise": cal.vote_noise(rows.y, rows.p),
        "vote_profile": cal.vote_profile(rows.y, rows.p),
        "annotator_ceiling": cal.annotator_ceiling(rows.y, rows.p),
        "bayes_error": cal.bayes_error(rows.y),
        "classwise_reliability": cal.classwise_reliability(rows.y, rows.p),
    }.items():
        yield from split("tables", "intervals", f"3 classes, votes/{name}", found)


def _scaling() -> Found:
    for name in ("binary", "binary, weights", "3 classes", "3 classes, soft labels"):
        rows = data_sets()[name]
        for kind, scaler in scaling.SCALERS.items():
            fitted = scaler(from_logits=False).fit(rows.y, rows.p, **rows.options)
            learned = {key: value for key, value in vars(fitted).items() if key[-1] == "_"}
            yield from flat(f"scaling/{name}/{kind}", learned)
            yield (
                f"scaling/{name}/{kind}/mapped",
                float(np.square(fitted.transform(rows.other)).mean()),
            )


def _streams() -> Found:
    for name in ("binary, weights", "3 classes, votes", "10 classes"):
        rows = data_sets()[name]
        one, two = cal.Accumulator(), cal.Accumulator()
        for stream, part in ((one, slice(0, 150)), (two, slice(150, None))):
            options = {key: value[part] for key, value in rows.options.items()}
            stream.update(rows.y[part], rows.p[part], **options)
        for estimate in one.merge(two).evaluate().estimates:
            yield f"streams/{name}/{estimate.name}", estimate.value


def _compare() -> Found:
    for name in INFERRED:
        rows = data_sets()[name]
        unasked = cal.compare(
            rows.y, {"a": rows.p, "b": rows.other}, n_resamples=DRAWS, **rows.inferring
        )
        yield from _compared(name, unasked)
    for name, measures in PAIRED.items():
        rows = data_sets()[name]
        both = {"a": rows.p, "b": rows.other}
        yield from _compared(name, cal.compare(rows.y, both, measures=measures, n_resamples=DRAWS))
    rows = data_sets()["binary"]
    calibrated = data_sets()["binary, calibrated"]
    three = {"a": rows.p, "b": rows.other, "c": calibrated.p}
    yield from _compared("three models", cal.compare(rows.y, three, by=rows.by, n_resamples=DRAWS))
    itself = cal.compare(rows.y, {"a": rows.p, "b": rows.p}, n_resamples=DRAWS)
    yield from _compared("itself", itself)
    own = {"a": rows.y, "b": np.roll(rows.y, 1)}
    labelled = cal.compare(own, {"a": rows.p, "b": rows.other}, n_resamples=DRAWS)
    yield from _compared("own labels", labelled)
    held = {"y_true": rows.y[:200], "y_proba": {"a": rows.p[:200], "b": rows.other[:200]}}
    both = {"a": rows.p[200:], "b": rows.other[200:]}
    yield from _compared(
        "scaled", cal.compare(rows.y[200:], both, scale_on=held, n_resamples=DRAWS)
    )


def _compared(name: str, comparison: cal.Comparison) -> Found:
    found = comparison.to_dict()
    yield from flat(f"values/compare, {name}", found["values"])
    two = len(found["values"]["predictor"]) == 2
    of_ranks = ("best",) if two else ("best", "rank_low", "rank_high")
    for measure, differences in found["differences"].items():
        for path, number in flat(f"{name}/{measure}", differences):
            yield f"{'values/compare, ' if path.endswith('/value') else 'compare/'}{path}", number
        ranks = comparison.ranking(measure)
        chosen = {key: ranks[key] for key in ("predictor", *of_ranks)}
        yield from flat(f"compare/{name}/{measure}", chosen)
    if found.get("slices"):
        yield from split("values", "compare", f"{name}/slices", found["slices"])


def _check() -> Found:
    for name in (
        "binary",
        "binary, clusters",
        "binary, weights",
        "binary, few rows",
        "3 classes",
        "3 classes, votes",
        "binary, calibrated",
    ):
        rows = data_sets()[name]
        by = rows.by if name in ("binary", "binary, clusters", "3 classes, votes") else None
        limits = {"ece": 0.08, "lin_ce": 0.001, "brier": 0.3}
        absolute = cal.check(
            rows.y, rows.p, at_most=limits, by=by, n_resamples=DRAWS, **rows.inferring
        )
        yield from _checked(name, absolute)
        change = {"ece": 0.01, "smooth_ece": 0, "log_loss": 0}
        changed = cal.check(
            rows.y,
            rows.p,
            baseline=rows.other,
            max_increase=change,
            n_resamples=DRAWS,
            **rows.inferring,
        )
        yield from _checked(f"{name}, baseline", changed)
    rows, other = data_sets()["binary"], data_sets()["binary, few rows"]
    before = {"y_true": other.y, "y_proba": other.p}
    found = cal.check(rows.y, rows.p, baseline=before, max_increase={"ece": 0}, n_resamples=DRAWS)
    yield from _checked("other rows", found)
    yield from _checked("slope", cal.check(rows.y, rows.p, at_least={"slope": 0.9, "auroc": 0.7}))


def _checked(name: str, check: cal.Check) -> Found:
    yield f"check/{name}/verdict", check.verdict
    for one in check:
        path = f"{name}/{one.limit.measure}{'' if one.where is None else f', {one.where}'}"
        yield f"values/check, {path}", one.compared
        yield from fields(f"check/{path}", one, ("verdict", "rows_needed", "clusters_needed"))
        yield from fields(f"check/{path}", one.interval, OF_INTERVAL)
        yield from fields(f"check/{path}/joint", one.joint, ("low", "high"))


# Parts of a page that are recorded nowhere else.
OF_PAGE = (
    "views",
    "sensitivity",
    "before_after",
    "risk_coverage",
    "decisions",
    "histogram",
    "votes",
)


def _pages() -> Found:
    for name in ("binary", "3 classes, votes"):
        rows = data_sets()[name]
        page = cal.report(rows.y, rows.p, by=rows.by, **rows.inferring).to_dict()
        parts = {part: page[part] for part in OF_PAGE}
        parts |= {part: page["evaluation"][part] for part in ("verdict", "slices", "clinical")}
        yield from split("tables/pages", "pages", name, parts)


@cache
def numbers() -> Numbers:
    """All numbers by name; a name that comes twice with two values is an error."""
    makers = (_values, _uncertainty, _tests, _tables, _scaling, _streams, _compare, _check, _pages)
    found: Numbers = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrantWarning)
        for name, number in chain.from_iterable(maker() for maker in makers):
            if found.setdefault(name, number) != number:
                raise ValueError(f"{name} is {found[name]} and {number}")
    return {name: number for name, number in found.items() if not UNSTABLE.search(name)}
