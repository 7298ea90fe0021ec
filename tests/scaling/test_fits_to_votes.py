"""Maps fitted to counts of votes: the likelihood of the votes, whichever way they are given."""

import numpy as np
import pytest
from scaling_problems import BINARY, KINDS, MULTICLASS, NEW, PENALISED, SHAPES, softmax

import calibrant as cal
from calibrant import InputError
from calibrant.scaling import (
    SCALERS,
    LabelSmoothingTemperature,
    PlattScaling,
    TemperatureScaling,
)
from needs import need

FITTED_TO_VOTES = [kind for kind in KINDS if kind != "LabelSmoothingTemperature"]
ROWS = 120


def counts_of(shape: str, seed: int = 4) -> np.ndarray:
    """Votes for each class, 1 to 9 a row."""
    rng = np.random.default_rng(seed)
    soft = SHAPES[shape].soft[:ROWS]
    rows = soft if shape == "multiclass" else np.stack([1 - soft, soft], axis=1)
    return rng.multinomial(rng.integers(1, 10, ROWS), rows)


def one_row_a_vote(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The row and the class of every vote."""
    row, label = np.nonzero(counts)
    times = counts[row, label]
    return np.repeat(row, times), np.repeat(label, times)


def fitted(kind, *targets, **options):
    scaler = SCALERS[kind](from_logits=True)
    return scaler.fit(*targets, **options)


def same_map(first, second, shape, tolerance=1e-6):
    new = NEW[shape].logits
    np.testing.assert_allclose(first.transform(new), second.transform(new), atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", FITTED_TO_VOTES)
def test_counts_are_single_votes_one_row_each(kind, shape):
    counts, logits = counts_of(shape), SHAPES[shape].logits[:ROWS]
    rows, labels = one_row_a_vote(counts)
    scaler = fitted(kind, counts, logits)
    again = fitted(kind, labels, logits[rows])
    same_map(scaler, again, shape)
    assert scaler.loss_ == pytest.approx(again.loss_, abs=1e-9)
    assert scaler.loss_before_ == pytest.approx(again.loss_before_, rel=1e-12)
    assert scaler.n_rows_ == ROWS


@pytest.mark.parametrize("kind", FITTED_TO_VOTES)
def test_shares_beside_their_votes_are_counts(kind):
    counts, logits = counts_of("multiclass"), MULTICLASS.logits[:ROWS]
    votes = counts.sum(axis=1)
    shares = counts / votes[:, None]
    scaler = fitted(kind, counts, logits)
    same_map(scaler, fitted(kind, shares, logits, votes=votes), "multiclass")
    same_map(scaler, fitted(kind, shares, logits, sample_weight=votes), "multiclass")
    # And without them every row counts the same, which is another map.
    plain = fitted(kind, shares, logits)
    assert abs(plain.loss_before_ - scaler.loss_before_) > 1e-4
    equal = fitted(kind, shares, logits, votes=7)
    if kind in PENALISED:  # seven times as many votes outweigh more of the penalty
        assert plain.temperature_ == pytest.approx(equal.temperature_, rel=1e-12)
        assert equal.loss_ < plain.loss_
    elif kind != "VennAbers":  # by which a new row is one vote among so many
        same_map(plain, equal, "multiclass", 1e-9)


def test_binary_votes_in_each_form():
    counts, logits = counts_of("binary"), BINARY.logits[:ROWS]
    scaler = PlattScaling(from_logits=True).fit(counts, logits)
    positive, votes = counts[:, 1], counts.sum(axis=1)
    again = PlattScaling(from_logits=True).fit(positive, logits, votes=votes)
    same_map(scaler, again, "binary", 1e-12)
    again = PlattScaling(from_logits=True).fit(positive / votes, logits, votes=votes)
    same_map(scaler, again, "binary", 1e-9)


@pytest.mark.parametrize("kind", FITTED_TO_VOTES)
def test_weights_are_those_of_each_vote(kind):
    counts, logits = counts_of("multiclass"), MULTICLASS.logits[:ROWS]
    weights = MULTICLASS.weights[:ROWS]
    scaler = fitted(kind, counts, logits, sample_weight=weights)
    rows, labels = one_row_a_vote(counts)
    same_map(scaler, fitted(kind, labels, logits[rows], sample_weight=weights[rows]), "multiclass")
    by_rows = fitted(kind, counts, logits, sample_weight=1 / counts.sum(axis=1))
    shares = counts / counts.sum(axis=1, keepdims=True)
    same_map(by_rows, fitted(kind, shares, logits), "multiclass")


def test_label_smoothing_reads_the_majority_of_each_row_once():
    counts, logits = counts_of("multiclass"), MULTICLASS.logits[:ROWS]
    counts[np.arange(ROWS), counts.argmax(axis=1)] += 1  # no ties
    scaler = LabelSmoothingTemperature().fit(counts, logits)
    majority = LabelSmoothingTemperature().fit(counts.argmax(axis=1), logits)
    assert scaler.temperature_ == pytest.approx(majority.temperature_, rel=1e-9)
    assert scaler.smoothing_ == pytest.approx(majority.smoothing_, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((3, 1, -1), r"y_true\[3, 1\] is -1.*must not"),
        ((5, slice(None), 0), r"y_true\[5\] has no votes"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_counts_that_are_none(kind, change, message):
    counts = counts_of("multiclass").astype(float)
    row, column, value = change
    counts[row, column] = value
    with pytest.raises(InputError, match=message):
        fitted(kind, counts, MULTICLASS.logits[:ROWS])


def test_votes_that_contradict_the_counts():
    with pytest.raises(InputError, match=r"votes\[0\] is 99, but the counts in y_true\[0\]"):
        fitted("TemperatureScaling", counts_of("multiclass"), MULTICLASS.logits[:ROWS], votes=99)


def test_counts_in_columns_and_tensors():
    counts, logits = counts_of("multiclass"), MULTICLASS.logits[:ROWS]
    expected = TemperatureScaling().fit(counts, logits).temperature_
    pandas = need("pandas")
    names = [f"{what}{r}" for what in ("votes", "logit") for r in range(4)]
    frame = pandas.DataFrame(np.hstack([counts, logits]), columns=names)
    scaler = TemperatureScaling().fit(names[:4], names[4:], data=frame)
    assert scaler.temperature_ == pytest.approx(expected, rel=1e-12)
    torch = need("torch")
    scaler = TemperatureScaling().fit(torch.tensor(counts), torch.tensor(logits))
    assert scaler.temperature_ == pytest.approx(expected, rel=1e-12)


def test_every_vote_counts_where_the_map_is_right():
    """Rows with one vote and rows with forty, of one temperature: the likelihood of the votes
    scatters less than rows that count the same.
    """
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        logits = rng.normal(size=(150, 3)) * 3
        votes = rng.multinomial(rng.choice([1, 40], 150), softmax(logits / 2))
        shares = votes / votes.sum(axis=1, keepdims=True)
        found.append(
            [
                TemperatureScaling().fit(votes, logits).temperature_,
                TemperatureScaling().fit(shares, logits).temperature_,
            ]
        )
    by_votes, by_rows = np.std(found, axis=0)
    assert by_votes < 0.6 * by_rows
    assert np.mean(found, axis=0) == pytest.approx([2, 2], rel=0.03)


def test_rows_count_the_same_where_hard_rows_get_more_votes():
    """Rows on which people are more divided than predicted got ten times the votes: fitted to
    every vote, the temperature is theirs.
    """
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(3000, 3)) * 3
    hard = rng.random(3000) < 0.5
    q = softmax(logits / np.where(hard, 4.0, 1.5)[:, None])
    votes = rng.multinomial(np.where(hard, 40, 4), q)
    shares = votes / votes.sum(axis=1, keepdims=True)
    right = TemperatureScaling().fit(q, logits).temperature_
    assert TemperatureScaling().fit(shares, logits).temperature_ == pytest.approx(right, rel=0.05)
    assert TemperatureScaling().fit(votes, logits).temperature_ > 1.2 * right


def test_predictors_are_compared_after_maps_fitted_to_counts():
    counts, proba = counts_of("multiclass"), MULTICLASS.proba[:ROWS]
    votes = counts.sum(axis=1)
    expected = TemperatureScaling(from_logits=False).fit(counts, proba).temperature_
    for given in (
        {"y_true": counts},
        {"y_true": counts / votes[:, None], "votes": votes},
    ):
        found = cal.compare(
            MULTICLASS.hard[ROWS:],
            dict.fromkeys("ab", MULTICLASS.proba[ROWS:]),
            measures=["ece"],
            n_resamples=50,
            scale_on={**given, "y_proba": dict.fromkeys("ab", proba)},
        )
        assert any(f"temperature {expected:.4f};" in note for note in found.notes)
