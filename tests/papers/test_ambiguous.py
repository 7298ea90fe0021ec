"""Tao et al. (2026): maps fitted to majorities and to votes, on made-up votes and on real ones."""

import os
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, reproduce
from calibrant._core.progress import TaskProgress
from calibrant._research.papers import ambiguous
from calibrant._research.papers.ambiguous_experiments import (
    DIRICHLET,
    METHODS,
    ONE_VOTE,
    PAPER_NAMES,
    SMOOTHED,
    SOFT_TS,
    TS,
    Method,
    draw_votes,
    drawn_brier,
    half_of_each_class,
    outcomes,
)
from calibrant._research.papers.ambiguous_printed import PRINTED
from calibrant._research.papers.ambiguous_votes import read_votes
from needs import need

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")
FEW = {"n_splits": 1, "n_draws": 2, "n_resamples": 50}


def made_up(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Logits twice as steep as what 20 votes a row are drawn from, with a few errors."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 3)) * 1.2
    powers = np.exp(truth)
    votes = rng.multinomial(20, powers / powers.sum(axis=1, keepdims=True))
    return 2.0 * truth + 0.3 * rng.normal(size=(n, 3)), votes


def save(folder: Path, name: str, **arrays: object) -> None:
    np.savez(folder / f"{name}.npz", **{key: np.asarray(each) for key, each in arrays.items()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two predictors with the votes of a third file, and one with votes of its own."""
    out = tmp_path_factory.mktemp("votes")
    logits, votes = made_up(1)
    labels = votes.argmax(axis=1)
    save(out, "net_a", logits=logits, labels=labels)
    save(out, "net_b", probs=np.exp(logits) / np.exp(logits).sum(1, keepdims=True), labels=labels)
    save(out, "people", counts=votes, labels=labels)
    logits, votes = made_up(2)
    votes[:7] = 0  # nobody voted on these
    save(
        out,
        "text",
        dev_logits=logits[:200],
        dev_chaos_counts=votes[:200],
        dev_labels=labels[:200],
        test_logits=logits[200:],
        test_chaos_counts=votes[200:],
    )
    save(out, "other", logits=np.zeros((5, 4)), labels=np.zeros(5))
    (out / "broken.npz").write_bytes(b"PK no zip")
    return out


@pytest.fixture(scope="module")
def done(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ambiguous, "outcomes", lambda *args, **_: outcomes(*args, **FEW))
        return reproduce("ambiguous", data=folder, quick=True, seed=3)


def test_what_a_folder_may_hold(folder) -> None:
    found, unreadable = read_votes(folder)
    assert [(each.name, each.rows, len(each.votes)) for each in found] == [
        ("net_a", "people", 400),
        ("net_b", "people", 400),
        ("text", "text", 393),
    ]
    assert unreadable == ("broken",)
    a, b, _ = found
    np.testing.assert_allclose(np.diff(a.logits), np.diff(b.logits), atol=1e-9)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"logits": np.zeros((9, 3)), "counts": np.zeros((9, 2))}, r"shape of the predictions"),
        ({"logits": np.zeros((9, 3)), "counts": np.full((9, 3), 0.5)}, "whole numbers"),
        ({"logits": np.zeros((9, 3)), "counts": np.full((9, 3), -1)}, "at least 0"),
        ({"logits": np.full((9, 3), np.nan), "counts": np.ones((9, 3))}, "row 0 .* not finite"),
        ({"logits": np.zeros((9, 3)), "counts": np.eye(9, 3)}, "only 3 rows have votes"),
        ({"probs": np.full((9, 3), -0.1), "counts": np.ones((9, 3))}, "must be probabilities"),
        ({"logits": np.zeros((9, 3)), "labels": np.zeros(9)}, "no predictor with votes"),
    ],
)
def test_votes_that_cannot_be_used(tmp_path, arrays, message) -> None:
    save(tmp_path, "net", **arrays)
    with pytest.raises(InputError, match=message):
        reproduce("ambiguous", data=tmp_path)


def test_a_damaged_file_alone_is_named(tmp_path) -> None:
    (tmp_path / "net.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"no predictor with votes \(net cannot be read\)"):
        reproduce("ambiguous", data=tmp_path)


@pytest.mark.parametrize("data", ["", 7, "nowhere"])
def test_no_such_folder(data) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        reproduce("ambiguous", data=data)


def test_half_of_each_class_is_fitted_to() -> None:
    labels = np.repeat([0, 1, 2], [10, 7, 1])
    chosen = half_of_each_class(labels, np.random.default_rng(0))
    assert np.bincount(labels[chosen], minlength=3).tolist() == [5, 3, 0]


def test_one_vote_a_row_is_drawn_from_the_rows_votes() -> None:
    shares = np.tile([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], (2000, 1))
    drawn = draw_votes(shares, np.random.default_rng(0))
    assert (drawn[1::2] == 0).all()
    assert (drawn[::2] == 2).mean() == pytest.approx(0.75, abs=0.03) and 0 not in drawn[::2]


def test_the_brier_score_of_drawn_votes_is_its_mean() -> None:
    rng = np.random.default_rng(0)
    shares, proba = rng.dirichlet([1, 1, 1], 300), rng.dirichlet([1, 1, 1], 300)
    mean = np.mean([cal.brier_score(draw_votes(shares, rng), proba) for _ in range(300)])
    assert drawn_brier(shares, proba) == pytest.approx(mean, abs=0.005)


def test_votes_beat_the_majority(done) -> None:
    table = done.tables["everything"].columns
    values = {
        (name, Method(m, t)): error
        for name, m, t, error in zip(
            table["predictor"], table["map"], table["fitted_to"], table["ece"], strict=True
        )
    }
    assert len(values) == 3 * len(METHODS)
    for name in ("net_a", "net_b", "text"):
        plain = values[name, TS]
        assert values[name, SOFT_TS] < plain / 2 and values[name, DIRICHLET] < plain / 2
        assert values[name, Method("temperature", ONE_VOTE)] < plain
    # The same predictor, as logits and as probabilities.
    assert values["net_a", SOFT_TS] == pytest.approx(values["net_b", SOFT_TS], abs=1e-6)


def test_every_difference_has_its_interval(done) -> None:
    table = done.tables["differences"].columns
    assert len(table["ECE"]) == 3 * 4
    for value, limits in zip(table["log loss"], table["95 % interval of log loss"], strict=True):
        low, high = map(float, limits.split(" to "))
        assert low <= float(value) <= high


def test_printed_values_stand_beside(done) -> None:
    table = done.tables["methods_people"].columns
    row = table["the paper's"].index("Dirichlet-Soft")
    assert (table["map"][row], table["paper: RoBERTa-Large"][row]) == ("matrix", "2.57")
    assert "Could not be read: broken." in done.sections[1].paragraphs
    for benchmark in PRINTED.values():
        assert set(benchmark) == set(PAPER_NAMES.values())


def test_the_claims_are_what_the_tables_print(done) -> None:
    """The ranges of the paper's column, from the printed tables."""
    ratios, cut, smoothed, one = [], [], [], []
    for table in PRINTED.values():
        for i in (0, 1):
            ratios.append(table["TS"][i].temperature / table["SLTS"][i].temperature)
            cut.append(100 - 100 * table["Dirichlet-Soft"][i].ece / table["TS"][i].ece)
            smoothed.append(100 - 100 * table["LS-TS"][i].ece / table["TS"][i].ece)
            one.append(table["MCTS S=1"][i].ece - table["SLTS"][i].ece)
    claims = done.tables["claims"].columns["the paper"]
    assert claims[0] == f"{min(ratios):.2f} to {max(ratios):.2f}"
    assert claims[2] == f"{min(cut):.0f} to {max(cut):.0f} % on these two"
    assert claims[3] == f"{min(one):.2f} to {max(one):.2f}"
    assert claims[4].endswith(f"{min(smoothed):.0f} to {max(smoothed):.0f} % on these two")


def test_without_data_the_page_says_what_is_left_out() -> None:
    alone = reproduce("ambiguous", quick=True)
    assert alone.sections[-1].paragraphs[0].startswith("Not run: this section needs a folder with")
    toy = alone.tables["toy"].columns
    errors = dict(
        zip(zip(toy["map"], toy["fitted to"], strict=True), toy["ECE, votes"], strict=True)
    )
    assert errors["temperature", "majority"] > errors["unchanged", ""] > 0.08
    assert errors["Dirichlet", "shares"] < 0.02
    assert max(toy["ECE, voted label"][:4]) < 0.02


def test_the_page_is_whole(done) -> None:
    need("matplotlib")
    page = done.to_html()
    assert '<figure id="errors">' in page and '<figure id="label_smoothing">' in page
    assert "https://" not in page and 'id="erratum-5"' in page


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    names = [
        "cifar10_resnet56",
        "cifar10h_human_counts",
        "cifar10_lenet-5_probs",
        "snli_roberta-base_seed0_dev_test_logits_chaosnli",
    ]
    if not all((FOLDER / f"{name}.npz").is_file() for name in names):
        pytest.skip("the votes are not at hand: CALIBRANT_DATA names the folder to look in")
    folder = tmp_path_factory.mktemp("votes")
    for name in names:
        with np.load(FOLDER / f"{name}.npz") as file:  # half of the images are enough
            save(folder, name, **{key: file[key][:5000] for key in file.files})
    found = outcomes(read_votes(folder)[0], ambiguous.SEED, TaskProgress(False), **FEW)
    return {each.name.split("_")[1]: each for each in found}


def test_what_the_paper_says_holds_on_real_votes(real) -> None:
    for name in ("resnet56", "roberta-base"):
        each = real[name]
        temperatures = [each.judged[m].temperature for m in (TS, SOFT_TS, SMOOTHED)]
        assert temperatures == sorted(temperatures)
        assert each.reduction(DIRICHLET) > 0.55 and each.reduction(SMOOTHED) > 0.25
        one, all_votes = each.judged[Method("temperature", ONE_VOTE)], each.judged[SOFT_TS]
        assert abs(one.ece - all_votes.ece) < 0.01
        assert each.comparison[DIRICHLET][1].high < 0  # the log loss is smaller for certain


def test_label_smoothing_is_too_flat_for_a_predictor_that_errs_often(real) -> None:
    lenet = real["lenet-5"]
    assert lenet.errors > 10 * lenet.departing and lenet.smoothing > 0.5
    assert lenet.judged[SMOOTHED].ece > 10 * lenet.judged[TS].ece
