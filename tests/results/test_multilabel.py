"""Rows with several labels: each a binary problem of its own, the mean, the worst, and gaps."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from cli.command import run
from needs import need

N, NAMES = 900, ["cat", "dog", "fox"]


def rows() -> tuple[Any, Any]:
    """The third label is predicted too high; the first is annotated in some rows alone."""
    rng = np.random.default_rng(2)
    p = rng.random((N, 3))
    y = (rng.random((N, 3)) < p * [1, 1, 0.7]).astype(float)
    y[::4, 0] = np.nan
    return y, p


Y, P = rows()
SEEN = [~np.isnan(Y[:, j]) for j in range(3)]


@cache
def whole() -> cal.Multilabel:
    """All measures of these labels, found once."""
    return cal.multilabel(Y, P, labels=NAMES)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_label_has_the_numbers_of_its_own_problem(weighted):
    w = np.random.default_rng(1).integers(0, 3, N).astype(float) if weighted else None
    result = cal.multilabel(Y, P, labels=NAMES, sample_weight=w)
    for j, name in enumerate(NAMES):
        part = SEEN[j] if w is None else SEEN[j] & (w > 0)
        weights = None if w is None else w[part]
        own = cal.evaluate(Y[part, j], P[part, j], sample_weight=weights)
        for measure, value in result[name].values.items():
            assert value == pytest.approx(own[measure], rel=1e-12), (name, measure)
        floor = cal.noise_floor(Y[part, j], P[part, j], sample_weight=weights)
        assert result[name].p_value == floor.p_value
        assert result[name].n == part.sum()
    for measure, mean in result.mean.items():
        assert mean == pytest.approx(np.mean([row.values[measure] for row in result]), rel=1e-12)
    assert result.n_missing == {"cat": N // 4, "dog": 0, "fox": 0} and result.n == N


def test_the_worst_comes_first_and_chance_is_shared_out():
    result = whole()
    values = [row.values["ece"] for row in result]
    assert values == sorted(values, reverse=True)
    assert result.worst.name == "fox" and result.miscalibrated == ("fox",)
    assert result.worst.p_corrected == pytest.approx(min(1.0, 3 * result.worst.p_value))
    assert (
        "the worst is fox" in result.sentence
        and "1 of 3 labels is miscalibrated" in result.sentence
    )


def test_of_a_score_the_lowest_is_the_worst():
    result = cal.multilabel(Y, P, labels=NAMES, measures=["auroc"])
    assert result.measure == "ece" and "auroc" in result.mean  # an error is judged
    assert set(result.columns()) >= {"auroc", "ece"}


def test_intervals_verdicts_and_the_interval_of_the_mean():
    result = cal.multilabel(Y, P, labels=NAMES, uncertainty=True, n_resamples=200)
    own = cal.interval(Y[:, 2], P[:, 2], n_resamples=200)
    assert (result["fox"].low, result["fox"].high) == (own.low, own.high)
    assert result["fox"].verdict == "miscalibrated"
    assert result.mean_low == pytest.approx(np.mean([row.low for row in result]))
    assert result.mean_low < result.mean["ece"] < result.mean_high
    assert any("for the number of labels" in note for note in result.notes)
    plain = cal.multilabel(Y, P)
    assert np.isnan(plain.mean_low) and plain.tolerance is None


def test_the_interval_of_the_mean_holds_it_where_labels_are_alike():
    """Labels that are copies of one another have no more rows than one."""
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.choice([0.2, 0.6, 0.9], 300)
        y = (rng.random(300) < p - 0.1).astype(int)
        twice = cal.multilabel(
            np.stack([y, y], axis=1), np.stack([p, p], axis=1), uncertainty=True, n_resamples=150
        )
        held += twice.mean_low <= 0.1 <= twice.mean_high
    assert held >= 17


def test_clusters_are_those_of_the_rows_of_each_label():
    groups = np.arange(N) // 5
    result = cal.multilabel(Y, P, labels=NAMES, groups=groups)
    own = cal.noise_floor(Y[SEEN[0], 0], P[SEEN[0], 0], groups=groups[SEEN[0]])
    assert result["cat"].p_value == own.p_value and result["cat"].n_clusters == N // 5


def test_names_and_gaps_of_frames():
    pandas, polars = need("pandas"), need("polars")
    expected = whole().columns()
    given = pandas.DataFrame(Y, columns=NAMES), pandas.DataFrame(P, columns=NAMES)
    assert cal.multilabel(*given).columns() == expected
    nullable = given[0].astype("Int64")
    assert cal.multilabel(nullable, P).columns() == expected
    of_polars = polars.from_pandas(given[0]), P
    assert cal.multilabel(*of_polars).columns() == expected
    data = pandas.concat([given[0], given[1].add_prefix("p_")], axis=1)
    named = cal.multilabel(NAMES, [f"p_{name}" for name in NAMES], data=data)
    assert named.columns() == expected
    with pytest.raises(InputError, match="same labels in the same order"):
        cal.multilabel(given[0], given[1][["dog", "cat", "fox"]])
    with pytest.raises(InputError, match="collect"):
        cal.multilabel(of_polars[0].lazy(), P)


def test_logits_logprobs_masks_lists_and_tensors():
    torch = need("torch")
    expected = whole().mean["ece"]
    logits = np.log(P) - np.log1p(-P)
    assert cal.multilabel(Y, logits, from_logits=True).mean["ece"] == pytest.approx(expected)
    assert cal.multilabel(Y, np.log(P), from_logprobs=True).mean["ece"] == pytest.approx(expected)
    masked = np.ma.masked_array(np.nan_to_num(Y).astype(int), np.isnan(Y))
    assert cal.multilabel(masked, P.tolist()).mean["ece"] == expected
    assert cal.multilabel(torch.tensor(Y), torch.tensor(P)).mean["ece"] == expected
    assert cal.multilabel(np.asfortranarray(Y), P[:, ::-1][:, ::-1]).mean["ece"] == expected


def test_predictions_count_only_where_a_label_is():
    holed = np.where(np.isnan(Y), np.nan, P)
    assert cal.multilabel(Y, holed).columns() == cal.multilabel(Y, P).columns()


def test_a_label_without_rows_is_left_out_and_named():
    y = Y.copy()
    y[:, 1] = np.nan
    result = cal.multilabel(y, P, labels=NAMES)
    assert [row.name for row in result] == ["fox", "cat"]
    assert any("has an annotation: dog" in note for note in result.notes)
    assert result.n_missing["dog"] == N
    with pytest.raises(InputError, match="there is no label 'dog'"):
        result["dog"]


def test_rows_that_are_one_choice_among_classes_are_noted():
    p = np.full((6, 3), 1 / 3)
    assert "one of several classes" in cal.multilabel(np.eye(3)[[0, 1, 2, 0, 1, 2]], p).notes[0]


def test_one_label_and_one_row_are_enough():
    assert cal.multilabel([[1]], [[0.4]]).mean["ece"] == pytest.approx(0.6)


BAD: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "one column": (Y[:, 0], P[:, 0], {}, r"shape \(n, labels\).*One label is a binary problem"),
    "shapes": (Y, P[:, :2], {}, r"same shape \(n, labels\); got \(900, 3\) and \(900, 2\)"),
    "a logit": (Y, 3 * P, {}, r"y_proba\[\d+, \d\] \(label '\d'\) is .*from_logits=True"),
    "no prediction": (
        np.ones((1, 2)),
        [[0.5, np.nan]],
        {"labels": ["a", "b"]},
        r"y_proba\[0, 1\] \(label 'b'\) is missing, but its label is annotated",
    ),
    "infinite logit": ([[1, 0]], [[0.0, np.inf]], {"from_logits": True}, "finite"),
    "minus one": ([[1, -1]], [[0.5, 0.5]], {}, r"y_true\[0, 1\].*NaN means that a label was not"),
    "names": (Y, P, {"labels": ["a"]}, "labels must name 3 columns"),
    "twice": (Y, P, {"labels": ["a", "a", "b"]}, "two labels are called 'a'"),
    "nothing": (np.full((3, 2), np.nan), np.ones((3, 2)), {}, "no label is annotated"),
    "empty": (np.ones((0, 2)), np.ones((0, 2)), {}, "at least one row"),
    "text": ([["a", "b"]], [[0.5, 0.5]], {}, "y_true must be numbers; it holds text"),
    "weights": (Y, P, {"sample_weight": [1.0]}, "one weight per row"),
    "negative weight": (Y, P, {"sample_weight": -np.ones(N)}, r"sample_weight\[0\] is -1.0"),
    "a name": ("a", P, {}, "name columns of data=frame"),
    "level": (Y, P, {"level": 95}, "level must be a number between 0 and 1"),
    "measure": (Y, P, {"measures": ["classwise_ece"]}, "not defined for binary"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_measured_is_named(name):
    y, p, options, match = BAD[name]
    with pytest.raises(InputError, match=match):
        cal.multilabel(y, p, **options)


def test_other_functions_name_the_way():
    y, p = np.nan_to_num(Y).astype(int), P
    with pytest.raises(InputError, match=r"multilabel\(y_true, y_proba\)"):
        cal.evaluate(y, p)
    with pytest.raises(InputError, match=r"several labels, multilabel\(y_true, y_proba\) measures"):
        cal.ece(np.ones(N, int), p)


def test_results_as_text_frame_json_and_picture():
    result = whole()
    assert "3 labels of 900 rows" in repr(result) and "| fox |" in result.to_markdown()
    assert result.to_frame("pandas")["label"].tolist() == [row.name for row in result]
    held = json.loads(result.to_json())
    assert held["worst"] == "fox" and held["labels"]["n_missing"] == [
        result.n_missing[row.name] for row in result
    ]
    need("matplotlib")
    assert result.plot().ax_ is not None


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_the_command_reads_labels_with_gaps(tmp_path, kind):
    pandas = need("pandas")
    frame = pandas.DataFrame(Y, columns=NAMES)
    for j, name in enumerate(NAMES):
        frame[f"p_{name}"] = P[:, j]
    frame["dog"] = frame["dog"] == 1  # as true and false
    path = tmp_path / f"rows.{kind}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True, double_precision=15),
        "parquet": lambda: frame.to_parquet(path),
    }[kind]()
    columns = ["--label", "cat,dog,fox", "--proba", "p_cat,p_dog,p_fox"]
    done = run("report", str(path), "--multilabel", *columns, "--json", "--measures", "ece")
    assert done.returncode == 0, done.stderr
    held, expected = json.loads(done.stdout), whole()
    assert held["labels"]["label"] == [row.name for row in expected]
    assert held["labels"]["ece"] == pytest.approx([row.values["ece"] for row in expected])
    assert held["labels"]["n_missing"][held["labels"]["label"].index("cat")] == N // 4
    if kind != "csv":
        return
    shown = run("report", str(path), "--multilabel", *columns)
    assert "the worst is fox" in shown.stdout and "Labels, worst first" in shown.stdout
    for options, match in (
        (["--label", "cat,dog", "--proba", "p_cat"], "got 2 and 1"),
        ([*columns, "-o", str(tmp_path / "page.html")], "-o cannot be combined with --multilabel"),
        (["--label", "cat,dgo", "--proba", "p_cat,p_dog"], "did you mean 'dog'"),
        (["--label", "cat,p_cat", "--proba", "p_dog,p_dog"], "twice"),
    ):
        done = run("report", str(path), "--multilabel", *options)
        assert done.returncode == 3 and match in done.stderr, done.stderr


def test_the_mean_of_calibrated_labels_is_not_shown_to_be_above_0():
    """Of twenty labels one has a limit above 0 in four of ten samples; the mean must not."""
    for seed in (4, 5, 6):  # samples in which one has
        rng = np.random.default_rng((4, seed))
        p = rng.random((100, 20))
        y = (rng.random(p.shape) < p).astype(int)
        found = cal.multilabel(y, p, measures=["ece"], uncertainty=True, n_resamples=100)
        assert max(row.low for row in found.rows) > 0
        assert found.mean_low == 0 and found.mean_high > 0


@pytest.mark.parametrize(("power", "said"), [(1, "0 of 1 label is"), (4, "1 of 1 label is")])
def test_one_label_is_one(power, said):
    rng = np.random.default_rng(0)
    p = rng.random((300, 1))
    found = cal.multilabel((rng.random((300, 1)) < p**power).astype(int), p)
    assert f"{said} miscalibrated" in found.sentence
