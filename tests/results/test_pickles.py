"""Every result and every error can be pickled and copied, and is the same afterwards."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pytest

import calibrant
import calibrant as cal
import calibrant.results
from calibrant import MissingExtra, reproduce

mpl.use("Agg")
RNG = np.random.default_rng(0)
N = 300
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
ROWS = RNG.dirichlet(np.ones(3), N)
LABELS = RNG.integers(0, 3, N)
VOTES = np.array([RNG.multinomial(4, row) for row in ROWS])
SIDES = np.array(["left", "right"])[RNG.integers(0, 2, N)]


def monitored():
    monitor, sides = cal.Monitor(every="1d", by="side"), ["a", "b"] * (len(Y) // 2)
    for day in ("2026-01-05", "2026-01-06"):
        monitor.update(Y, P, time=day, by=sides)
    return monitor.evaluate(baseline=1)


MAKERS = {
    "evaluation": lambda: cal.evaluate(Y, P, by=SIDES),
    "bounds": lambda: cal.evaluate(cal.Between(0.9 * Y, 0.9 * Y + 0.1), P),
    "robustness": lambda: cal.compare(
        Y, {f"m{j}": P ** (1 + j / 8) for j in range(8)}, measures=["ece"], n_resamples=50
    ),
    "comparison": lambda: cal.compare(
        Y, {"a": P, "b": P**2, "c": np.sqrt(P)}, by=SIDES, measures=["ece", "brier"], n_resamples=50
    ),
    "order": lambda: cal.compare(Y, {"a": P, "b": P**2}, measures=["lin_ce"]),
    "check": lambda: cal.check(Y, P, at_most={"ece": 0.2}),
    "report": lambda: cal.report(
        Y[:150], P[:150] ** 3, by=SIDES[:150], measures=["ece", "brier"], recalibrate="platt"
    ),
    "clinical": lambda: cal.clinical_summary(Y[:60], P[:60], n_resamples=50),
    "centres": lambda: cal.centres(Y[:90], P[:90], by=np.arange(90) % 3),
    "optimism": lambda: cal.optimism(
        lambda x, y: lambda new: np.full(len(new), y.mean()),
        P[:40],
        Y[:40],
        measures=["brier"],
        n_resamples=50,
    ),
    "certificate": lambda: cal.certify(Y, P),
    "judge": lambda: cal.judge(Y[:100], P[:100], P[100:]),
    "sampled": lambda: cal.sampled_answers(np.arange(90) // 3, np.arange(90) % 2, Y[:90], P[:90]),
    "reliability": lambda: cal.reliability(Y, P),
    "classwise": lambda: cal.classwise_reliability(LABELS, ROWS),
    "curve": lambda: cal.smooth_reliability(
        np.r_[np.ones(900), Y], np.r_[np.full(900, 0.99), 0.9 + 0.05 * P]
    ),
    "sensitivity": lambda: cal.bin_sensitivity(Y, P),
    "conventions": lambda: cal.conventions(Y, P),
    "interval": lambda: cal.interval(Y, P),
    "noise floor": lambda: cal.noise_floor(Y, P),
    "verdict": lambda: cal.verdict(Y, P),
    "vote noise": lambda: cal.vote_noise((Y + 0.5) / 2, P, measure="brier", votes=4),
    "test": lambda: cal.truthful_test(Y, P),
    "cox": lambda: cal.cox_calibration(Y, P),
    "windows": monitored,
    "multilabel": lambda: cal.multilabel([[0, 1], [1, 1]] * 20, [[0.2, 0.7], [0.6, 0.9]] * 20),
    "segments": lambda: cal.find_segments(Y, P, {"side": SIDES}, n_draws=100),
    "decomposition": lambda: cal.decompose(Y, P, recalibrate="platt"),
    "recommendation": lambda: cal.recommend(Y, P, maps=["temperature", "platt"]),
    "votes": lambda: cal.vote_profile(VOTES, ROWS),
    "ceiling": lambda: cal.annotator_ceiling(VOTES, {"a": ROWS}, measures=["dist_ce"]),
    "annotators": lambda: cal.annotators(
        cal.count_votes(
            {"i": np.repeat(np.arange(N), 3), "z": np.tile(LABELS, 3), "who": np.arange(3 * N) % 3},
            item="i",
            label="z",
            annotator="who",
        ),
        ROWS,
    ),
    "noise of votes": lambda: cal.vote_noise(VOTES, ROWS, measure="brier"),
    "best": lambda: cal.bayes_error(VOTES),
    "catalogue": lambda: cal.catalogue("binary"),
    "reproduction": lambda: reproduce("ten-bins"),
    "sums": lambda: cal.Accumulator().update(Y, P),
    "boxes": lambda: cal.match_boxes([[0, 0, 2, 2], [5, 5, 6, 6]], [0.9, 0.4], [[0, 0, 2, 1]]),
    "scaler": lambda: cal.PlattScaling().fit(Y, P),
}
COPIES = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, make in MAKERS.items()}


def parts(value, seen):
    """A result and every result that it holds."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            parts(getattr(value, field.name), seen)
    elif isinstance(value, Mapping):
        for each in value.values():
            parts(each, seen)
    elif isinstance(value, tuple | list):
        for each in value:
            parts(each, seen)


def classes_of(package, kind):
    """The classes that the modules of a package define, if they are of a kind."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        # Nothing of the kind is there, and the packages that they need take seconds.
        if module.name.endswith("__main__") or {"integrations", "tensors"} & {
            *module.name.split(".")
        }:
            continue
        try:
            loaded = importlib.import_module(module.name)
        except MissingExtra:
            continue
        for each in vars(loaded).values():
            homes = (module.name, "calibrant")  # public errors say that they are of the package
            if inspect.isclass(each) and each.__module__ in homes and kind(each):
                yield each


def said(value):
    if hasattr(value, "to_dict"):
        try:
            return repr(value.to_dict())
        except TypeError:
            return repr(value.to_dict(0.95))
    return repr(value)


FIRST = {}


def said_first(made, name):
    """What a result says, before any copy was made of it: asked once."""
    if name not in FIRST:
        FIRST[name] = said(made[name])
    return FIRST[name]


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", MAKERS)
def test_results_can_be_copied(made, name, way):
    again = COPIES[way](made[name])
    assert type(again) is type(made[name]) and said(again) == said_first(made, name)


def test_figures_can_be_drawn_after_a_pickle(made):
    again = pickle.loads(pickle.dumps(made["reproduction"]))
    name = next(iter(again.figures))
    assert again.figures[name].png[:4] == b"\x89PNG"


def test_every_class_of_results_is_among_them(made):
    seen = {}
    for value in made.values():
        parts(value, seen)
    kinds = {type(value) for value in seen.values()}
    wanted = {
        each
        for each in classes_of(calibrant.results, dataclasses.is_dataclass)
        # Slow to make (tests/audits), or never seen: what a table for a paper is written from.
        if not each.__module__.endswith(("._audit", "._paper_tables"))
    }
    # Made when asked for, a base of Comparison, and what a table is printed from.
    computed = {
        "Closeness",
        "CoefficientDifference",
        "Difference",
        "RankedPairs",
        "_Bars",
        "_Column",
    }
    assert {each.__name__ for each in wanted - kinds} <= computed
    difference = made["comparison"].difference("a", "b", "ece")
    assert pickle.loads(pickle.dumps(difference)) == difference


@pytest.mark.parametrize("way", COPIES)
def test_every_error_can_be_copied(way):
    errors = list(classes_of(calibrant, lambda each: issubclass(each, BaseException)))
    assert {"InputError", "StateError", "MissingExtra", "SameRows"} <= {e.__name__ for e in errors}
    for kind in errors:
        own = vars(kind).get("__init__")
        names = list(inspect.signature(own).parameters)[1:] if own else ["text"]
        error = kind(*(f"the {name}" for name in names))
        again = COPIES[way](error)
        assert type(again) is kind and str(again) == str(error) and again.args == error.args
