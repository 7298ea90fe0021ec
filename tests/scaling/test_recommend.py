"""recommend(): the simplest map as good as the best, measured on rows that it was not fitted to."""

import json
import math
import warnings

import numpy as np
import pytest
from map_words import MAPS
from scaling_problems import BINARY, MULTICLASS, binary

import calibrant as cal
from calibrant import InputError
from calibrant.scaling import SCALERS, from_json
from needs import need

FEW = ["temperature", "platt", "beta"]


def log_losses(y, p):
    return -np.log(np.maximum(np.where(y == 1, p, 1 - p), 1e-12))


def by_hand(y, p, name, folds, seed, groups=None):
    """Each row's log loss through a map that was fitted to the other folds, row by row."""
    units = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    fold = np.random.default_rng((seed, 19)).permutation(units.max() + 1)[units] % folds
    out = np.zeros(len(y))
    for j in range(folds):
        rest = fold != j
        scaler = SCALERS[MAPS[name]](from_logits=False).fit(y[rest], p[rest])
        out[~rest] = scaler.transform(p[~rest])
    return log_losses(y, out)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_table_is_what_a_loop_by_hand_gives(clustered):
    y, p = BINARY.hard, BINARY.proba
    groups = np.arange(400) // 8 if clustered else None
    found = cal.recommend(y, p, maps=FEW, folds=4, seed=5, groups=groups)
    rows = {"unchanged": log_losses(y, p)}
    rows |= {name: by_hand(y, p, name, 4, 5, groups) for name in FEW}
    lowest = min(FEW, key=lambda name: rows[name].mean())
    assert found.lowest.map == lowest
    for name, losses in rows.items():
        row, behind = found[name], losses - rows[lowest]
        assert row.loss == pytest.approx(losses.mean(), rel=1e-9)
        assert row.above == pytest.approx(behind.mean(), abs=1e-12)
        each = behind if groups is None else behind.reshape(50, 8).mean(axis=1)
        error = each.std(ddof=1) / math.sqrt(len(each))
        assert row.standard_error == pytest.approx(error, rel=1e-6, abs=1e-15)
        assert row.gain == pytest.approx(rows["unchanged"].mean() - row.loss, abs=1e-12)
    within = [n for n in FEW if found[n].above <= found[n].standard_error]
    assert found.best == within[0]


def test_the_simpler_map_is_taken_unless_another_earns_it():
    rng = np.random.default_rng(2)
    h = rng.normal(size=3000) * 2
    y = (rng.random(3000) < 1 / (1 + np.exp(-h / 2))).astype(int)
    p = 1 / (1 + np.exp(-h))
    maps = [*FEW, "quadratic", "isotonic"]
    # Maps that contain it gain nothing.
    assert cal.recommend(y, p, maps=maps).best == "temperature"
    shifted = 1 / (1 + np.exp(-(h + 1.5)))
    assert cal.recommend(y, shifted, maps=maps).best == "platt"
    curved = (rng.random(3000) < 1 / (1 + np.exp(-(0.3 + 0.5 * h - 0.2 * h**2)))).astype(int)
    found = cal.recommend(curved, p, maps=["temperature", "platt", "quadratic"])
    assert found.best == found.lowest.map == "quadratic" and found.helps
    assert "no simpler map is within one standard error" in found.why


def test_calibrated_predictions_may_stay():
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    found = cal.recommend((rng.random(1000) < p).astype(int), p, maps=FEW)
    assert not found.helps and "No map is recommended" in found.why
    assert found.best == found.lowest.map == "unchanged" and found.scaler.n_rows_ == 1000
    assert "worse than no map" in found.why
    assert min(row.above for row in found) == 0.0
    assert found.columns()["recommended"] == [True, False, False, False]


@pytest.mark.parametrize("given", ["proba", "logits"])
@pytest.mark.parametrize("problem", [BINARY, MULTICLASS], ids=["binary", "multiclass"])
def test_where_no_map_helps_the_scaler_changes_nothing(problem, given):
    p, from_logits = problem.proba.copy(), given == "logits"
    if not from_logits:
        p[0] = np.eye(p.shape[1])[0] if p.ndim == 2 else 0.0
    labels = (p if p.ndim == 2 else np.stack([1 - p, p], axis=1)).cumsum(axis=1)
    draws = np.random.default_rng(1).random((len(p), 1))
    y = np.minimum((draws > labels).sum(axis=1), labels.shape[1] - 1)
    values = problem.logits if from_logits else p
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing was learnt, so that there is nothing to warn of
        found = cal.recommend(y, values, maps="temperature", from_logits=from_logits)
        assert not found.helps
        out = found.scaler.transform(values)
        again = from_json(found.scaler.to_json()).transform(values)
    np.testing.assert_allclose(out, p, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(out, again)
    assert found.scaler.loss_ == pytest.approx(found.scaler.loss_before_, rel=1e-12)


def sigmoid(h):
    return 1 / (1 + np.exp(-h))


@pytest.mark.parametrize(("slope", "lowest", "highest"), [(1, 0.0, 1e-3), (2, -0.08, -0.04)])
def test_few_calibrated_rows_are_left_alone_and_overconfident_ones_are_mended(
    slope, lowest, highest
):
    changes, n = [], 60 if slope == 1 else 99
    truth = sigmoid(1.5 * np.random.default_rng(0).normal(size=5000) - 1)
    before = sigmoid(slope * np.log(truth / (1 - truth)))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        h = 1.5 * rng.normal(size=n) - 1
        y = (rng.random(n) < sigmoid(h)).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.CalibrantWarning)
            after = cal.recommend(y, sigmoid(slope * h)).scaler.transform(before)
        losses = [cal.log_loss(truth, q) for q in (before, after)]
        changes.append(losses[1] - losses[0])
    assert lowest <= np.mean(changes) <= highest


def test_splines_need_rows_for_their_knots():
    for n, tried in ((99, False), (100, True)):
        made = binary(3, n)
        found = cal.recommend(made.hard, made.proba)
        assert ("spline" in {row.map for row in found}) == tried
        assert tried or any("spline (needs 10 rows per parameter)" in note for note in found.notes)


def test_a_gain_within_its_own_error_is_none():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    gains = []
    for seed in range(12):
        y = (np.random.default_rng(seed + 1).random(400) < p).astype(int)
        found = cal.recommend(y, p, maps=["temperature"])
        gain = found["temperature"].gain
        gains.append(gain)
        assert found.helps == (gain > found.gain_error)
        assert found.helps or "No map is recommended" in found.why
        assert ("worse than no map" in found.why) == (gain < 0)
    assert any(0 < gain < 0.001 for gain in gains)  # lower, and no help


def test_the_fitted_map_takes_what_was_given():
    y = BINARY.hard
    plain = cal.recommend(y, BINARY.proba, maps=["beta"])
    logits = cal.recommend(y, BINARY.logits, maps=["beta"], from_logits=True)
    logs = cal.recommend(y, np.log(BINARY.proba), maps=["beta"], from_logprobs=True)
    new = binary(9, 20)
    out = plain.scaler.transform(new.proba)
    np.testing.assert_allclose(logits.scaler.transform(new.logits), out, atol=1e-6)
    np.testing.assert_allclose(logs.scaler.transform(np.log(new.proba)), out, atol=1e-6)
    assert plain["beta"].loss == pytest.approx(logits["beta"].loss, rel=1e-6)
    assert "the only map tried" in plain.why


def test_soft_labels_votes_weights_and_losses():
    soft = cal.recommend(BINARY.soft, BINARY.proba, maps=FEW, loss="brier")
    hard = cal.recommend(BINARY.hard, BINARY.proba, maps=FEW, loss="brier")
    assert soft.lowest.loss < hard.lowest.loss / 2 and soft.measure == "brier"
    counts = np.stack([10 * (1 - BINARY.hard), 10 * BINARY.hard], axis=1)
    votes = cal.recommend(counts, BINARY.proba, maps=FEW, loss="brier")
    assert votes["platt"].loss == pytest.approx(hard["platt"].loss, rel=1e-6)
    weighted = cal.recommend(
        BINARY.hard, BINARY.proba, maps=FEW, loss="brier", sample_weight=np.full(400, 2.5)
    )
    assert weighted["platt"].loss == pytest.approx(hard["platt"].loss, rel=1e-9)
    assert weighted["unchanged"].standard_error == pytest.approx(
        hard["unchanged"].standard_error, rel=1e-9
    )


def test_the_same_seed_gives_the_same_and_another_does_not():
    first, again, other = (
        cal.recommend(BINARY.hard, BINARY.proba, maps=FEW, seed=seed).to_json()
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_names_in_a_frame_and_classes():
    pandas = need("pandas")
    frame = pandas.DataFrame(
        {
            "said": np.where(BINARY.hard == 1, "yes", "no"),
            "p": BINARY.proba,
            "g": np.arange(400) % 50,
        }
    )
    found = cal.recommend("said", "p", data=frame, classes=["no", "yes"], groups="g", maps=FEW)
    again = cal.recommend(BINARY.hard, BINARY.proba, groups=np.arange(400) % 50, maps=FEW)
    assert found.to_json() == again.to_json()
    assert found.to_frame("pandas").shape == (4, 7)


# --- which maps are tried -------------------------------------------------------------------------


def test_every_map_is_tried_where_it_suits():
    found = cal.recommend(BINARY.hard, BINARY.proba)
    wanted = {name for name, kind in MAPS.items() if "binary" in SCALERS[kind]._tried_on}
    noted = " ".join(found.notes)
    assert {row.map for row in found} | {n for n in wanted if n in noted} == wanted | {"unchanged"}
    sizes = [row.parameters for row in found]
    assert sizes == sorted(sizes)


def test_few_rows_leave_large_maps_out_and_say_so():
    few = slice(0, 70)
    found = cal.recommend(MULTICLASS.hard[few], MULTICLASS.logits[few], from_logits=True, folds=2)
    tried = {row.map for row in found}
    assert {"temperature", "structured-vector", "structured-matrix"} <= tried
    assert not {"vector", "matrix", "isotonic"} & tried
    assert any("vector" in note and "needs 20 rows per class" in note for note in found.notes)
    more = slice(0, 120)
    found = cal.recommend(MULTICLASS.hard[more], MULTICLASS.logits[more], from_logits=True, folds=2)
    assert "vector" in {row.map for row in found}
    assert any("matrix" in note and "needs 10 rows per parameter" in note for note in found.notes)
    named = cal.recommend(
        MULTICLASS.hard[few], MULTICLASS.logits[few], from_logits=True, maps="vector"
    )
    assert [row.map for row in named] == ["unchanged", "vector"]


@pytest.mark.parametrize("clustered", [False, True])
def test_of_many_predictions_some_are_drawn(set_limits, clustered):
    set_limits(tried_rows=lambda n_classes: 1000)
    made = binary(8, 4000)
    groups = np.arange(4000) // 10 if clustered else None
    found = cal.recommend(made.hard, made.proba, maps=["platt"], groups=groups)
    assert found.n == 1000 and found.scaler.n_rows_ == 4000
    assert found.notes == ("maps were compared on a random sample of 1,000 of 4,000 rows",)


def test_a_map_that_cannot_be_fitted_is_named(monkeypatch):
    def fails(self, problem):
        raise InputError("these rows are not for me")

    monkeypatch.setattr(SCALERS["BetaCalibration"], "_solve", fails)
    found = cal.recommend(BINARY.hard, BINARY.proba, maps=FEW)
    assert found.notes == ("not tried: beta (these rows are not for me)",)
    with pytest.raises(InputError, match="no map could be fitted: not tried: beta"):
        cal.recommend(BINARY.hard, BINARY.proba, maps="beta")


def test_trying_is_quiet_and_the_fit_is_not():
    y, p = np.array([0, 1, 1, 0] * 10), np.array([0.2, 0.7, 0.9, 0.4] * 10)
    with pytest.warns(cal.CalibrantWarning, match="lower end") as caught:
        cal.recommend(y, p, maps="temperature")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cal.recommend(BINARY.hard, BINARY.proba)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maps": "betta"}, "did you mean 'beta'"),
        ({"maps": []}, "at least one map"),
        ({"maps": 3}, "at least one map.*got 3"),
        ({"loss": "ece"}, "loss"),
        ({"folds": 1}, "folds"),
        ({"folds": 500}, "folds=500 needs at least as many rows; got 400"),
        ({"groups": np.arange(400) % 3}, "folds=5 needs at least as many clusters; got 3"),
        ({"seed": -1}, "seed"),
    ],
)
def test_recommend_refuses_options_that_are_wrong(options, message):
    with pytest.raises(InputError, match=message):
        cal.recommend(BINARY.hard, BINARY.proba, **options)


def test_one_class_and_empty():
    with pytest.raises(InputError):
        cal.recommend([], [])
    for labels, weights in (
        (np.zeros(50, int), None),
        (np.ones(50), None),
        (np.arange(50) % 2, np.arange(50) % 2),
        (np.tile([[0, 3]], (50, 1)), None),
    ):
        with pytest.raises(InputError, match="y_true holds only one class"):
            cal.recommend(labels, np.full(50, 0.2), sample_weight=weights)
    rows = np.full((50, 3), 1 / 3)
    for labels in (np.full(50, 2), np.eye(3)[np.full(50, 2)]):
        with pytest.raises(InputError, match="y_true holds only one class"):
            cal.recommend(labels, rows)
    assert cal.recommend(np.full(50, 0.3), np.full(50, 0.2)).best  # one share is no one class


def test_a_recommendation_reads_well():
    found = cal.recommend(BINARY.hard, BINARY.proba, maps=[*FEW, "isotonic"])
    text = str(found)
    assert "by rows" in text and text.count("recommended") == 1 and found.why in text
    content = json.loads(found.to_json())
    assert content["best"] == found.best and content["rows"][-1]["parameters"] is None
    assert [row["recommended"] for row in content["rows"]].count(True) == 1
    with pytest.raises(InputError, match="'histogram' was not tried"):
        found["histogram"]


def test_maps_far_behind_are_given_up_after_a_fold(set_limits):
    """The choice stays, and a note says which were given up and by how much."""
    made = binary(8, 3000)
    whole = cal.recommend(made.hard, made.proba)
    set_limits(raced_rows=1000, far_behind=2.0)
    raced = cal.recommend(made.hard, made.proba)
    assert raced.best == whole.best and raced[raced.best].loss == whole[whole.best].loss
    gone = {row.map for row in whole} - {row.map for row in raced}
    (note,) = [note for note in raced.notes if note.startswith("dropped after the first of 5")]
    assert gone and all(name in note for name in gone)
    assert all(whole[name].above > whole[name].standard_error for name in gone)


@pytest.mark.parametrize(
    ("k", "rows"), [(2, 20_000), (3, 16_666), (10, 5_000), (100, 2_500), (1000, 1_000)]
)
def test_maps_are_tried_on_rows_that_a_page_can_wait_for(k, rows):
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, rows + 1)
    p = rng.random(rows + 1) if k == 2 else rng.dirichlet(np.ones(k), rows + 1)
    assert cal.recommend(y, p, maps=["temperature"], folds=2).n == rows
