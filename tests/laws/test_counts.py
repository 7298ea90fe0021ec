"""Counts of votes are labels: every measure of counts is that of their shares, wherever the rows
lie, and what cannot be counts is an error that names the row.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from test_same_number import DOORS, same, through

import calibrant as cal
from every_engine import LAZY, call
from needs import need

RNG = np.random.default_rng(16)
N, K = 240, 4
P = RNG.dirichlet(np.full(K, 0.7), N)
VOTES = RNG.integers(1, 9, N)
COUNTS = np.array([RNG.multinomial(m, p) for m, p in zip(VOTES, P, strict=True)])
SHARES = COUNTS / VOTES[:, None]
# Rows of three votes or fewer: limits of distances take a second for rows of eight.
FEW = np.flatnonzero(VOTES <= 3)
Q = P[:, 1]
POSITIVE = RNG.binomial(VOTES, Q)
PAIRS = np.column_stack([VOTES - POSITIVE, POSITIVE])

ROWS = {f"p{r}": P[:, r].copy() for r in range(K)}
ROWS |= {f"c{r}": COUNTS[:, r].copy() for r in range(K)}
ROWS |= {f"f{r}": COUNTS[:, r].astype(np.float64) for r in range(K)}
ROWS |= {"n": VOTES, "q": Q, "negative": PAIRS[:, 0].copy(), "positive": POSITIVE}
PROBA, WHOLE, FLOATS = ([f"{stem}{r}" for r in range(K)] for stem in "pcf")


def close(found: Any, expected: Any) -> None:
    assert set(found.values) == set(expected.values)
    for name, value in expected.values.items():
        assert same(found[name], value), name


# --- the law -------------------------------------------------------------------------------------


def test_counts_are_their_shares_in_every_engine(engine_name):
    # Which take long to plan a query: distances of distributions, the longest, have soft labels in
    # tests/engines, and counts are shares before any measure sees them.
    slow = engine_name in ("spark", "dask", "ibis")
    few, more = ["ece", "brier"], ["ece", "classwise_ece", "brier", "dist_ce"]
    asked = [(WHOLE, few if slow else more)]
    asked += [] if slow else [(FLOATS, few if engine_name in LAZY else more)]
    for labels, measures in asked:
        found = call(engine_name, cal.evaluate, ROWS, labels, PROBA, measures=measures)
        close(found, cal.evaluate(SHARES, P, measures=measures))
        assert "targets are vote counts, read as shares" in found.inferred
    few = {"measures": ["brier"] if slow else ["ece", "lin_ce", "brier", "log_loss"]}
    pairs = call(engine_name, cal.evaluate, ROWS, ["negative", "positive"], "q", **few)
    close(pairs, cal.evaluate(POSITIVE / VOTES, Q, **few))


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "polars streaming", "duckdb"])
def test_counts_of_one_class_go_with_a_column_of_all_votes(name):
    found = call(name, cal.evaluate, ROWS, "positive", "q", votes="n", measures=["ece", "brier"])
    close(found, cal.evaluate(POSITIVE / VOTES, Q, measures=["ece", "brier"]))
    assert "vote counts for class 1 out of votes=, read as shares" in " ".join(found.inferred)


@pytest.mark.parametrize("door", DOORS)
def test_counts_are_their_shares_through_every_door(door, tmp_path):
    lazy = door in ("polars", "duckdb")
    # Distances, which take a query longest, come below.
    few = {"measures": ["ece", "classwise_ece", "log_loss"]} if lazy else {}
    found = through(door, COUNTS, P, None, tmp_path, **few)
    if door in ("stream", "monitor"):  # which have no order of rows, and leave out what needs it
        close(found, through(door, SHARES, P, None, tmp_path))
    else:
        close(found, cal.evaluate(SHARES, P, **few))
    close(
        through(door, COUNTS, P, VOTES / 2.0, tmp_path, measures=["dist_ce", "brier"]),
        cal.evaluate(SHARES, P, sample_weight=VOTES / 2.0, measures=["dist_ce", "brier"]),
    )


@pytest.mark.parametrize("door", DOORS)
def test_pairs_of_counts_are_shares_of_a_binary_problem(door, tmp_path):
    few = {"measures": ["ece", "lin_ce", "smooth_ece"]} if door in ("polars", "duckdb") else {}
    shares = POSITIVE / VOTES
    found, expected = (through(door, y, Q, None, tmp_path, **few) for y in (PAIRS, shares))
    close(found, expected)


def test_every_function_takes_counts():
    functions = {m.function.partition("(")[0]: m for m in cal.catalogue("multiclass")}
    for called in functions:
        found, expected = (getattr(cal, called)(y, P) for y in (COUNTS, SHARES))
        assert repr(found) == repr(expected), called
    for called in {m.function.partition("(")[0] for m in cal.catalogue("binary")}:
        found, expected = (getattr(cal, called)(y, Q) for y in (PAIRS, PAIRS[:, 1] / VOTES))
        assert repr(found) == repr(expected), called


def test_tables_and_curves_take_counts():
    for function in (cal.reliability, cal.reliability_curve):
        assert repr(function(COUNTS, P)) == repr(function(SHARES, P)), function
    found, expected = (repr(cal.bin_sensitivity(y, P, bins=(5, 10))) for y in (COUNTS, SHARES))
    told = "are vote counts, read as shares", "are rows of class probabilities"
    assert found.replace(*told) == expected
    counted, beside = (
        cal.TemperatureScaling(from_logits=False).fit(y, P, **more).temperature_
        for y, more in ((COUNTS, {}), (SHARES, {"votes": VOTES}))
    )
    assert counted == pytest.approx(beside, rel=1e-9)


# --- the votes that counts carry -----------------------------------------------------------------


def test_counts_have_noise_floors_unasked():
    names = ["dist_ce", "ent_ce", "rank_cs", "brier", "ece"]
    options = {"measures": names, "uncertainty": True, "n_resamples": 60}
    unasked = cal.evaluate(COUNTS[FEW], P[FEW], **options)
    asked = cal.evaluate(SHARES[FEW], P[FEW], votes=VOTES[FEW], **options)
    assert unasked.estimates == asked.estimates
    floors = {each.name: each.noise_floor for each in unasked.estimates}
    assert all(floors[name] is not None for name in names)
    assert not any("without votes=" in note for note in unasked.notes)
    # The labels are drawn from the predictions: what is seen lies among what chance gives.
    assert 0.01 < floors["dist_ce"].p_value < 0.99
    assert cal.evaluate(SHARES[FEW], P[FEW], **options).estimate("dist_ce").noise_floor is None


def test_verdict_check_and_compare_take_counts():
    counts, shares, p, votes = COUNTS[FEW], SHARES[FEW], P[FEW], VOTES[FEW]
    options = {"measure": "dist_ce", "n_resamples": 60}
    floor = cal.noise_floor(counts, p, **options)
    assert floor == cal.noise_floor(shares, p, votes=votes, **options)
    assert cal.interval(counts, p, **options) == cal.interval(shares, p, votes=votes, **options)
    limit = {"at_most": {"dist_ce": 0.9}, "n_resamples": 60}
    assert repr(cal.check(counts, p, **limit)) == repr(cal.check(shares, p, votes=votes, **limit))
    models = {"a": p, "b": p[:, ::-1].copy()}
    some = {"measures": ["dist_ce", "brier"], "n_resamples": 60, "by": votes > 1}
    found, expected = (
        cal.compare(counts, models, **some),
        cal.compare(shares, models, votes=votes, **some),
    )
    np.testing.assert_array_equal(found.values, expected.values)
    assert repr(found.slices) == repr(expected.slices)


def test_compare_matches_votes_with_rows_by_their_ids():
    order = RNG.permutation(FEW.size)
    ids = {"a": FEW, "b": FEW[order]}
    labels = {"a": SHARES[FEW], "b": SHARES[FEW][order]}
    models = {"a": P[FEW], "b": P[FEW][order]}
    some = {"measures": ["dist_ce"], "n_resamples": 60, "by": VOTES[FEW] > 1}
    found = cal.compare(labels, models, ids=ids, votes=VOTES[FEW], **some)
    assert repr(list(found.slices["a"])) == repr(list(found.slices["b"]))


# --- what labels are taken for -------------------------------------------------------------------


def test_one_hot_rows_stay_labels():
    hot = np.eye(K, dtype=int)[COUNTS.argmax(axis=1)]
    found = cal.evaluate(hot, P)
    assert "targets are rows of class probabilities" in found.inferred
    assert not any("votes" in note for note in found.inferred)
    close(found, cal.evaluate(hot.astype(float), P))


def test_zeros_and_ones_beside_votes_stay_shares_and_it_is_said():
    outcomes = (POSITIVE > 0).astype(int)
    found = cal.evaluate(outcomes, Q, votes=VOTES + 1, measures=["brier"])
    assert found["brier"] == cal.brier_score(outcomes, Q)
    assert any("are read as shares of the votes, not as counts" in note for note in found.inferred)
    stream = cal.Accumulator()
    with pytest.raises(cal.InputError, match=r"could be shares or vote counts.*\(n, 2\)"):
        stream.update(outcomes, Q, votes=VOTES + 1)
    assert stream.n_rows == 0


UNDECIDED = {
    "ece": lambda y, p, v: cal.ece(y, p, votes=v),
    "evaluate": lambda y, p, v: cal.evaluate(y, p, votes=v, measures=["ece"]),
    "verdict": lambda y, p, v: cal.verdict(y, p, votes=v, n_resamples=50),
    "compare": lambda y, p, v: cal.compare(y, {"a": p, "b": p / 2}, votes=v, measures=["ece"]),
    "decision_curve": lambda y, p, v: cal.decision_curve(y, p, votes=v, thresholds=[0.2]),
    "scaler": lambda y, p, v: cal.PlattScaling().fit(y, p, votes=v),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_zeros_and_ones_beside_votes_are_warned_of_everywhere(name):
    outcomes = (POSITIVE > 0).astype(int)
    for y in (outcomes, outcomes.astype(float)):
        with pytest.warns(cal.CalibrantWarning, match=r"read as shares.*counts of both.*\(n, 2\)"):
            UNDECIDED[name](y, Q, VOTES + 1)
    # One vote a row is its share, and counts of both classes leave nothing to say.
    with warnings.catch_warnings():
        warnings.simplefilter("error", cal.CalibrantWarning)
        cal.ece(outcomes, Q, votes=1)
        cal.ece(np.column_stack([VOTES + 1 - outcomes, outcomes]), Q)


@pytest.mark.parametrize("name", ["pandas", "polars streaming", "duckdb"])
def test_zeros_and_ones_beside_a_column_of_votes_are_warned_of(name):
    rows = ROWS | {"hit": (POSITIVE > 0).astype(int), "more": VOTES + 1, "one": VOTES**0}
    with pytest.warns(cal.CalibrantWarning, match="read as shares, all of the votes or none"):
        call(name, cal.evaluate, rows, "hit", "q", votes="more", measures=["ece"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", cal.CalibrantWarning)
        call(name, cal.evaluate, rows, "hit", "q", votes="one", measures=["ece"])


def with_row(row: Any) -> Any:
    counts = COUNTS.astype(np.float64)
    counts[7] = row
    return counts


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (with_row([2, -1, 0, 0]), r"y_true\[7, 1\] is -1.0: vote counts .* not be negative"),
        (with_row([0, 0, 0, 0]), r"y_true\[7\] has no votes: vote counts need at least one"),
        (with_row([1.5, 1, 0, 0]), r"Vote counts must be whole .*\(y_true\[7, 0\] is 1.5\)"),
        (with_row([np.nan, 1, 0, 0]), r"Vote counts must be whole .*\(y_true\[7, 0\] is nan\)"),
        (with_row([np.inf, 1, 0, 0]), r"Vote counts must be whole .*\(y_true\[7, 0\] is inf\)"),
        (COUNTS[:, :3], "same classes; got 3 and 4 columns"),
    ],
)
def test_what_cannot_be_counts_is_named(labels, message):
    with pytest.raises(cal.InputError, match=message):
        cal.evaluate(labels, P)


def test_votes_that_contradict_are_named():
    with pytest.raises(cal.InputError, match=r"votes\[2\] is \d, .*y_true\[2\] sum to \d"):
        cal.evaluate(COUNTS, P, votes=VOTES + (np.arange(N) == 2))
    with pytest.raises(cal.InputError, match=r"y_true\[0\] is 99: votes\[0\] is \d, and no more"):
        cal.evaluate([99, *POSITIVE[1:]], Q, votes=VOTES)
    with pytest.raises(cal.InputError, match=r"number of votes with votes="):
        cal.evaluate(POSITIVE + 1, Q)
    with pytest.raises(cal.InputError, match=r"y_true\[3\] is 0.5: .* read as counts, .*whole"):
        cal.evaluate([2, 2, 2, 0.5], [0.1, 0.2, 0.3, 0.4], votes=4)
    for votes, message in (
        (0, "votes is 0"),
        (VOTES - VOTES[4], r"votes\[\d+\] is -?\d"),
        (VOTES[:-1], "one for each row"),
        (VOTES + 0.5, r"votes\[0\] is \d.5: votes must be whole"),
    ):
        with pytest.raises(cal.InputError, match=message):
            cal.evaluate(SHARES, P, votes=votes)


@pytest.mark.parametrize("name", ["polars streaming", "duckdb"])
def test_bad_counts_of_lazy_frames_are_told_with_an_example(name):
    bad = {
        "are negative, not whole": {"c1": np.where(np.arange(N) == 3, -9, COUNTS[:, 1])},
        "have no votes": {f"c{r}": np.where(np.arange(N) == 3, 0, COUNTS[:, r]) for r in range(K)},
        "do not add up to votes=": {"n": np.where(np.arange(N) == 3, 99, VOTES)},
    }
    for message, changed in bad.items():
        with pytest.raises(cal.InputError, match=f"1 of {N} rows have .*{message}|{message}"):
            call(name, cal.evaluate, ROWS | changed, WHOLE, PROBA, votes="n", measures=["ece"])


# --- streams of others, and what counts weigh ----------------------------------------------------


def test_a_torchmetric_takes_counts():
    torch, _ = need("torch"), need("torchmetrics")
    from calibrant.integrations.torchmetrics import CalibrationMetric

    metric = CalibrationMetric("brier", num_classes=K)
    for part in (slice(0, 100), slice(100, N)):
        metric.update(torch.tensor(P[part]), torch.tensor(COUNTS[part]))
    assert float(metric.compute()) == pytest.approx(cal.brier_score(SHARES, P), rel=1e-6)
    binary = CalibrationMetric("brier")
    binary.update(torch.tensor(Q), torch.tensor(PAIRS))
    assert float(binary.compute()) == pytest.approx(cal.brier_score(POSITIVE / VOTES, Q), rel=1e-6)


def test_windows_take_counts():
    days = np.datetime64("2026-01-01") + (np.arange(N) // 80).astype("timedelta64[D]")
    for labels, options in ((COUNTS, {}), (SHARES, {"votes": VOTES})):
        monitor = cal.Monitor(every="1d").update(labels, P, time=days, **options)
        assert monitor.total().evaluate(measures=["brier"])["brier"] == pytest.approx(
            cal.brier_score(SHARES, P), rel=1e-12
        )
    one = cal.Monitor(every="1d").update(POSITIVE, Q, votes=VOTES, time=days)
    assert one.total().evaluate(measures=["brier"])["brier"] == pytest.approx(
        cal.brier_score(POSITIVE / VOTES, Q), rel=1e-12
    )


def test_more_votes_than_can_be_drawn_are_an_error():
    with pytest.raises(cal.InputError, match=r"y_true\[1\] has 3,000,000,000 votes"):
        cal.evaluate([[1, 2], [10**9, 2 * 10**9]], [[0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(cal.InputError, match="from 1 to 999,999,999"):
        cal.evaluate([[0.5, 0.5]], [[0.5, 0.5]], votes=10**12)
