"""How well annotators predict each other: exact where it can be, and right where it is drawn."""

from __future__ import annotations

import io
import json
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._inference.vote_splits import (
    _single_moments,
    agreement_with_rest,
    halves,
    one_against_rest,
    without_replacement,
)
from shell_lines import run_main

COUNTS = np.array([[3, 1, 0], [0, 2, 2], [5, 0, 0], [1, 1, 1]])


def votes_of(counts: np.ndarray) -> list[int]:
    return [r for r, c in enumerate(counts.tolist()) for _ in range(c)]


def shares(votes: list[int], k: int = 3) -> np.ndarray:
    return np.bincount(votes, minlength=k) / len(votes)


OF_ONE = ("dist_ce", "jsd", "ent_ce", "brier", "wasserstein", "kl")


@cache
def of_one_annotator() -> Any:
    return cal.annotator_ceiling(COUNTS, measures=OF_ONE)["one annotator"]


@pytest.mark.parametrize("measure", OF_ONE)
def test_one_annotator_is_every_vote_against_the_others(measure: str) -> None:
    found = of_one_annotator()
    per_item = []
    for counts in COUNTS:
        votes = votes_of(counts)
        predicted = np.eye(3)[votes]
        rest = np.array([shares(votes[:i] + votes[i + 1 :]) for i in range(len(votes))])
        # Both ways round, for a table of certain predictions alone looks like swapped arguments.
        both = [np.vstack([rest, [[0.5, 0.5, 0]]]), np.vstack([predicted, [[0.5, 0.5, 0]]])]
        rows = cal.evaluate(*both, measures=[measure])[measure] * (len(votes) + 1)
        per_item.append(rows / len(votes))
    assert found.values[measure] == pytest.approx(np.mean(per_item), rel=1e-12)
    assert found.intervals[measure][0] <= found.values[measure] <= found.intervals[measure][1]


def test_half_of_the_votes_is_the_mean_over_all_splits() -> None:
    counts = COUNTS[:2]
    exact = []
    for row in counts:
        votes = votes_of(row)
        exact += [
            0.5 * np.abs(shares([votes[i] for i in half]) - shares([votes[i] for i in rest])).sum()
            for half in combinations(range(4), 2)
            for rest in [[i for i in range(4) if i not in half]]
        ]
    found = cal.annotator_ceiling(counts, measures=["dist_ce"], n_splits=250)["half of the votes"]
    assert found.values["dist_ce"] == pytest.approx(np.mean(exact), abs=0.035)


def test_votes_are_drawn_without_replacement() -> None:
    rng = np.random.default_rng(0)
    counts = np.repeat(COUNTS[:2], 4000, axis=0)
    drawn = without_replacement(counts, np.full(8000, 3), rng)
    assert (drawn.sum(axis=1) == 3).all() and (drawn <= counts).all() and (drawn >= 0).all()
    np.testing.assert_allclose(drawn[:4000].mean(axis=0), 3 * COUNTS[0] / 4, atol=0.03)
    split = halves(np.array([[2, 1, 0], [1, 0, 0], [0, 4, 3]]), rng)
    assert split.row.tolist() == [0, 2]  # one vote has no halves
    np.testing.assert_allclose(split.predicted.sum(axis=1), 1)
    weights = np.bincount(one_against_rest(COUNTS).row, one_against_rest(COUNTS).weight)
    np.testing.assert_allclose(weights, 1)


@pytest.mark.parametrize(
    ("m", "kind"), [(2, "dirichlet"), (2, "logits"), (3, "dirichlet"), (10, "logits")]
)
def test_the_correction_gives_what_as_many_others_reach(m: int, kind: str) -> None:
    rng = np.random.default_rng(m)
    n = 2000
    raw = np.exp(rng.normal(0, 1.5, (n, 3)))
    truth = rng.dirichlet([0.5] * 3, n) if kind == "dirichlet" else raw / raw.sum(1, keepdims=True)
    counts = rng.multinomial(m, truth)
    names = ["dist_ce", "jsd", "ent_ce", "brier", "classification_error"]
    table = cal.annotator_ceiling(counts, measures=names)
    many = np.repeat(truth, 5, axis=0)
    first, second = (rng.multinomial(m, many) for _ in range(2))
    others = cal.evaluate(first, second / m, measures=names)
    for name in names:
        again, real = table["as many annotators again"].values[name], others[name]
        assert again == pytest.approx(real, abs=0.03), name
        # Halves alone are far from it.
        if name == "brier":
            assert table["half of the votes"].values[name] > 1.7 * real


def test_models_have_the_values_of_their_functions() -> None:
    rng = np.random.default_rng(1)
    counts = rng.multinomial(5, [0.5, 0.3, 0.2], 60)
    p, other = rng.dirichlet([1] * 3, 60), rng.dirichlet([1] * 3, 60)
    table = cal.annotator_ceiling(counts, {"a": p, "b": other}, measures=["jsd", "ece"])
    assert table["a"].values == pytest.approx(
        {"jsd": cal.jsd(counts, p), "ece": cal.ece(counts, p)}
    )
    interval = cal.interval(counts / 5, p, measure="jsd")
    assert table["a"].kind == "model" and "ece" not in table["a"].intervals
    assert table["a"].intervals["jsd"][0] == pytest.approx(interval.low, abs=0.05)
    assert [line.name for line in table][3:] == ["a", "b"]
    one = cal.annotator_ceiling(counts, p, measures=["jsd"])
    assert one["model"].values["jsd"] == table["a"].values["jsd"]


def test_the_table_can_be_read_and_saved() -> None:
    table = cal.annotator_ceiling(COUNTS, measures=["kl", "rank_cs"])
    text = str(table)
    assert "4 items of 3 to 5 votes" in text
    assert "kl: KL divergence, target || prediction (nats), lower is better" in text
    assert "rank_cs: ranking calibration score, higher is better" in text
    assert table.to_frame("pandas").shape == (3, 8)
    assert table.to_markdown().count("\n") == 4
    again = json.loads(table.to_json())
    assert again["predictors"]["predictor"][0] == "one annotator" and again["votes"] == [3, 5]
    assert "<table" in table._repr_html_()
    single = cal.annotator_ceiling([[1, 0], [2, 2]], measures=["dist_ce"])
    assert single.n == 1 and "1 item has one vote" in str(single)
    binary = cal.annotator_ceiling([2, 0, 1, 3], [0.6, 0.1, 0.4, 0.9], votes=3)
    assert binary["model"].values["dist_ce"] == pytest.approx(
        np.abs(np.array([2, 0, 1, 3]) / 3 - [0.6, 0.1, 0.4, 0.9]).mean()
    )


def test_the_same_seed_gives_the_same_table() -> None:
    columns = [cal.annotator_ceiling(COUNTS, seed=s).to_json() for s in (0, 0, 1)]
    assert columns[0] == columns[1] != columns[2]


def test_a_line_does_not_depend_on_what_else_is_asked() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(7, rng.dirichlet(np.ones(3), 60))
    together = cal.annotator_ceiling(counts, measures=["dist_ce", "ece", "brier"])
    for measure in ("dist_ce", "ece", "brier"):
        alone = cal.annotator_ceiling(counts, measures=[measure])
        for line in alone:
            assert line.values[measure] == together[line.name].values[measure]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([[0.5, 0.5]], {}, "give counts, or votes="),
        ([[1, 0], [0, 1]], {"votes": 1}, "2 or more"),
        (COUNTS, {"measures": "jsd"}, "list of names"),
        (COUNTS, {"measures": ["jdd"]}, "jsd"),
        (COUNTS, {"y_proba": {"one annotator": COUNTS / 5}}, "already"),
        (COUNTS, {"n_splits": 0}, "n_splits"),
    ],
)
def test_what_cannot_be_read(given, options, message) -> None:
    with pytest.raises(InputError, match=message):
        cal.annotator_ceiling(given, **options)


def test_a_line_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no line 'nobody'"):
        cal.annotator_ceiling(COUNTS, measures=["jsd"])["nobody"]


MODELS = {"a": COUNTS[:, ::-1] / 5 + 0.01, "b": COUNTS + 1.0}
MODELS = {name: p / p.sum(axis=1, keepdims=True) for name, p in MODELS.items()}
QUICK = {"measures": ["dist_ce", "smooth_ece", "ece"], "n_resamples": 50, "bin_counts": (5,)}


def test_a_comparison_has_the_annotators_in_the_same_table() -> None:
    found = cal.compare(COUNTS, MODELS, ceiling=True, **QUICK)
    alone = cal.annotator_ceiling(COUNTS, measures=QUICK["measures"])
    shown = found.display_columns()
    assert shown["predictor"] == ["a", "b", *(line.name for line in alone)]
    assert found.columns()["predictor"] == ["a", "b"]
    for measure in QUICK["measures"]:  # one annotator is every vote: nothing is drawn
        assert shown[measure][2] == alone["one annotator"].values[measure]
    assert "one annotator" in repr(found) and "Dirichlet model" in repr(found)
    assert "half of the votes" in found._repr_html_()
    again = json.loads(found.to_json())
    assert again["ceiling"]["predictors"]["kind"] == ["annotators"] * 3
    assert found._page(None, None).count('<tr class="people">') == 3
    value = f"{alone['one annotator'].values['dist_ce']:.4f}"
    for text in (found.to_markdown(digits=4), found.to_latex(digits=4)):
        (line,) = [each for each in text.splitlines() if "one annotator" in each]
        assert value in line and "**" not in line and "textbf" not in line
    assert found.to_latex().count(r"\midrule") == 2
    few = {name: p[:40] for name, p in MODELS.items()}
    without = cal.compare(COUNTS[:40], few, **QUICK | {"measures": ["ece"]})
    assert without.ceiling is None and "ceiling" not in without.to_dict()
    assert '<tr class="people">' not in without._page(None, None)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (COUNTS / COUNTS.sum(axis=1, keepdims=True), {}, "give vote counts"),
        (COUNTS.argmax(axis=1), {}, "give vote counts"),
        (COUNTS, {"sample_weight": [1, 2, 1, 1]}, "does not support weights"),
        (np.eye(3)[[0, 1, 2, 0]], {"votes": 1}, "every row has one"),
        (np.full((4, 3), 1 / 3), {"votes": 2}, "not shares of the given numbers of votes"),
        ({"a": COUNTS, "b": COUNTS[::-1]}, {}, "each has its own"),
    ],
)
def test_a_ceiling_needs_votes_that_models_share(labels, options, message) -> None:
    with pytest.raises(InputError, match=message):
        cal.compare(labels, MODELS, ceiling=True, **QUICK, **options)


def test_a_model_cannot_have_the_name_of_an_annotators_line() -> None:
    with pytest.raises(InputError, match="already"):
        cal.compare(COUNTS, {**MODELS, "one annotator": MODELS["a"]}, ceiling=True, **QUICK)


def test_the_command_has_the_ceiling_too(tmp_path) -> None:
    frame = pd.DataFrame(COUNTS, columns=["x", "y", "z"])
    for name, p in MODELS.items():
        for j in range(3):
            frame[f"{name}_{j}"] = p[:, j]
    frame.to_csv(tmp_path / "votes.csv", index=False)
    line = (
        "compare votes.csv --counts x,y,z --models a=a_0,a_1,a_2 b=b_0,b_1,b_2 --measures dist_ce "
        "--ceiling"
    )
    out, err = io.StringIO(), io.StringIO()
    assert run_main(line.split(), tmp_path, out, err) == 0, err.getvalue()
    assert "as many annotators again" in out.getvalue()


def test_the_law_of_one_vote_is_that_of_all_exchanges() -> None:
    counts = np.array([[2, 1, 0], [1, 2, 1]])
    votes = [[0, 0, 1], [0, 1, 1, 2]]
    values = []
    for picks in product(*(range(len(v)) for v in votes)):
        total = 0.0
        for v, pick in zip(votes, picks, strict=True):
            rest = v[:pick] + v[pick + 1 :]
            total += rest.count(v[pick]) / len(rest)
        values.append(total)
    own = np.array([[1, 0, 0], [0, 1, 0]])
    found = agreement_with_rest(own, counts, np.random.default_rng(0))
    assert found.expected == pytest.approx(np.mean(values) / 2)
    variance, third = _single_moments(counts, np.array([1 / 3, 1 / 6]))
    assert variance == pytest.approx(np.var(values))
    assert third == pytest.approx(((values - np.mean(values)) ** 3).mean())


def test_a_group_is_held_against_those_outside() -> None:
    counts, own = np.array([[3, 2, 0]]), np.array([[2, 0, 0]])
    found = agreement_with_rest(own, counts, np.random.default_rng(0))
    assert found.value == pytest.approx(1 / 3)  # the others: 0, 1, 1
    handed_out = [
        np.mean([votes[i] == votes[j] for i in (0, 1) for j in (2, 3, 4)])
        for votes in permutations([0, 0, 0, 1, 1])
    ]
    assert found.expected == pytest.approx(np.mean(handed_out))
