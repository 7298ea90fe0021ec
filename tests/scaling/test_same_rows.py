"""Rows of a fit are recognised in any order, in part, after saving; others that are like them are
not.
"""

import json
import warnings
import zlib

import numpy as np
import pytest

import calibrant as cal
from calibrant import scaling
from calibrant.scaling import (
    SCALERS,
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
    SameRows,
    TemperatureScaling,
)
from calibrant.scaling._same_rows import KEPT, FittedRows

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def draws_of_its_own(request) -> None:
    """What a test draws does not depend on how many tests, or kinds of maps, came before it."""
    seed = zlib.crc32(request.node.nodeid.encode())
    RNG.bit_generator.state = np.random.default_rng(seed).bit_generator.state


def binary(n, *, logits=False):
    h = 2 * RNG.normal(size=n)
    y = (RNG.random(n) < 1 / (1 + np.exp(-0.6 * h))).astype(int)
    return y, h if logits else 1 / (1 + np.exp(-h))


def multiclass(n, k=4, *, logits=False):
    h = 2 * RNG.normal(size=(n, k))
    y = (0.6 * h + RNG.gumbel(size=(n, k))).argmax(axis=1)
    p = np.exp(h)
    return y, h if logits else p / p.sum(axis=1, keepdims=True)


def mixed(old, new, n_old):
    """Some old rows among new ones, in another order."""
    rows = np.concatenate([old[RNG.permutation(len(old))[:n_old]], new])
    return rows[RNG.permutation(len(rows))]


@pytest.mark.parametrize("make", [binary, multiclass])
@pytest.mark.parametrize("kind", SCALERS)
def test_the_share_is_told_in_any_order_and_in_part(kind, make):
    scaler = SCALERS[kind]()
    y, p = make(600, logits=scaler.from_logits)
    scaler.fit(y, p)
    _, new = make(630, logits=scaler.from_logits)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler.transform(new)
    for rows, said in [
        (p[::-1].copy(), "all"),
        (p[RNG.permutation(600)[:200]], "all"),
        (mixed(p, new, 370), "37%"),
        (np.asfortranarray(mixed(p, new, 370)), "37%"),
        (mixed(p, new, 370).astype(np.float32), "37%"),
        (np.tile(p, (3,) + (1,) * (p.ndim - 1)), "all"),
    ]:
        with pytest.warns(SameRows, match=f"{said} of these rows were used to fit ") as caught:
            scaler.transform(rows)
        assert caught[0].filename == __file__
    again = scaling.from_json(scaler.to_json())
    # Of 600 rows two may be equal in single precision, and such rows are not counted.
    assert again.share_fitted(mixed(p, new, 370)) == pytest.approx(0.37, abs=4e-3)
    assert again.share_fitted(new) == 0.0


def test_single_precision_is_recognised_in_double():
    y, p = binary(300)
    single = p.astype(np.float32)
    assert PlattScaling().fit(y, single).share_fitted(single.astype(np.float64)[::-1]) == 1.0
    assert PlattScaling().fit(y, p).share_fitted(single[::-1]) == 1.0


@pytest.mark.parametrize("n", [50_000, 200_000])
def test_shares_of_many_rows_are_estimated_from_few_hashes(n):
    y, p = binary(n)
    scaler = PlattScaling().fit(y, p)
    text = scaler.to_json()
    assert len(text) < 12 * KEPT
    again = scaling.from_json(text)
    _, new = binary(n // 2)
    assert again.share_fitted(mixed(p, new, n // 2)) == pytest.approx(0.5, abs=0.04)
    assert again.share_fitted(p[::-1]) == 1.0 and again.share_fitted(new) == 0.0


@pytest.mark.parametrize("levels", [2, 11, 101, 1001, 100_000])
@pytest.mark.parametrize("n", [20, 300, 5000])
def test_rows_that_are_alike_by_chance_are_no_rows_of_the_fit(levels, n):
    told = []
    for _ in range(40):
        shares = RNG.dirichlet(np.ones(min(levels, 1000)))
        old, new = (RNG.choice(len(shares), m, p=shares) for m in (n, 1000))
        if levels > 1000:
            old, new = (RNG.integers(0, levels, m) for m in (n, 1000))
        told.append(FittedRows.from_hashes(old / levels).overlap(new / levels).share)
    assert sum(bool(share) for share in told) <= 2
    if levels <= 11:
        assert set(told) == {None}  # nothing is claimed that cannot be known


def test_crowds_do_not_hide_the_others():
    def made(n):
        y, p = binary(n)
        return y, np.where(RNG.random(n) < 0.4, 1.0, p)

    y, p = made(1000)
    scaler = IsotonicCalibration().fit(y, p)
    _, new = made(1000)
    assert scaler.share_fitted(new) == 0.0
    assert scaler.share_fitted(mixed(p, new, 500)) == pytest.approx(1 / 3, abs=0.06)


@pytest.mark.parametrize("saturated", [(0.3, 0.8), (0.8, 0.3), (0.001, 0.9)])
@pytest.mark.parametrize("n", [600, 1500])
def test_saturated_predictions_identify_no_row(saturated, n):
    """As of a sure classifier, whose predictions of its own rows are surer than others."""

    def made(n, share):
        y, p = binary(n)
        return y, np.where(RNG.random(n) < share, 1 - 1e-9 * p, p)

    y, p = made(900, saturated[0])
    scaler = PlattScaling().fit(y, p)
    _, new = made(n, saturated[1])
    assert scaler.share_fitted(new) == 0.0
    # The others still do, and the share is of these.
    old_others, new_others = ((1 - each) * 600 for each in saturated)
    share = old_others / (old_others + new_others)
    assert scaler.share_fitted(mixed(p, new[:600], 600)) == pytest.approx(share, abs=0.07)


def test_a_sure_classifier_has_not_seen_new_rows():
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.naive_bayes import GaussianNB

    x, y = datasets.load_digits(return_X_y=True)
    model = scaling.Recalibrated(GaussianNB(), PlattScaling()).fit(x[:900], y[:900] > 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SameRows)
        model.predict_proba(x[900:])


@pytest.mark.parametrize("values", [[0.3], [[0.2, 0.3, 0.5]], [0.3] * 19 + [0.4]])
def test_a_constant_says_nothing_of_its_rows(values):
    p = np.array(values * (200 // len(values)))
    p = p[:20] if len(values) > 1 else p
    y = np.arange(len(p)) % 2
    scaler = PlattScaling().fit(y, p)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SameRows)
        scaler.transform(p)
    assert scaler.share_fitted(p) is None


def test_the_very_rows_are_known_even_if_they_repeat():
    y, p = binary(500)
    scaler = HistogramBinning().fit(y, p.round(1))
    with pytest.warns(SameRows, match="all of these rows"):
        scaler.transform(p.round(1))
    assert scaler.share_fitted(p.round(1)[::-1]) is None


def test_maps_of_older_files_claim_nothing():
    y, p = binary(200)
    content = json.loads(PlattScaling().fit(y, p).to_json())
    del content["fitted_rows"]
    older = scaling.from_json(json.dumps(content))
    assert older.share_fitted(p[::-1]) is None and older.share_fitted(p) == 1.0


def compare(y, predictors):
    """A comparison by one measure: what is known of the rows does not depend on it."""
    return cal.compare(y, predictors, measures=["brier"], n_resamples=50)


class TestComparisons:
    """`compare` knows predictions that a map has made of rows that it was fitted to."""

    @pytest.mark.parametrize("kind", ["TemperatureScaling", "IsotonicCalibration"])
    def test_the_share_is_in_the_notes(self, kind):
        scaler = SCALERS[kind](from_logits=False)
        y, p = binary(900)
        scaler.fit(y[:450], p[:450])
        with pytest.warns(SameRows, match="50% of these rows"):
            mapped = scaler.transform(p)
        some = RNG.permutation(900)
        for rows, share in [
            (some, 0.5),
            (np.arange(450), 1.0),
            (np.r_[0:100, 450:750], 0.25),
        ]:
            found = compare(y[rows], {"raw": p[rows], "scaled": mapped[rows]})
            (note,) = [each for each in found.notes if "used to fit" in each]
            said = "all" if share == 1 else f"{share:.0%}"
            assert note.startswith(f"scaled: {said} of these rows were used to fit {kind}")
            assert "held-out" in note and note in repr(found)

    def test_fit_transform_is_known_too(self):
        y, p = multiclass(300)
        mapped = TemperatureScaling(from_logits=False).fit_transform(y, p)
        order = RNG.permutation(300)
        found = compare(y[order], {"raw": p[order], "scaled": mapped[order]})
        assert any("scaled: all of these rows" in note for note in found.notes)

    def test_other_rows_and_other_predictions_are_not_suspected(self):
        y, p = binary(600)
        isotonic, platt = IsotonicCalibration(), PlattScaling()
        made = {"rounded": np.where(p > 0.5, 1.0, p.round(1))}
        for scaler in (isotonic, platt):
            scaler.fit_transform(y[:300], p[:300])
            with pytest.warns(SameRows, match="50%"):
                made[type(scaler).__name__] = scaler.transform(p)
        # Held-out rows of predictions that were made of all rows, with and without the raw ones.
        held_out = {name: values[300:] for name, values in made.items()}
        for more in ({}, {"raw": p[300:]}):
            found = compare(y[300:], {**more, **held_out})
            assert not any("used to fit" in note for note in found.notes)
