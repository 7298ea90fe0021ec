"""Lu et al. again: theorems 3.3 to 4.3 by enumeration, section 5.1's claims, and appendix A."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.progress import TaskProgress
from calibrant._research.papers import (
    truthful,
    truthful_claims,
    truthful_language_models,
    truthful_theory,
)


def rows_of(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_expectations_are_those_of_every_sample():
    world, n, bins = truthful_theory.WORLD, 2, cal.EqualWidth(5)
    h = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    cells = [(x, y, world.chances[x] * world.truths[x, y]) for x in range(3) for y in range(3)]
    terms = [
        a[2] * b[2] * cal.confidence_ce([a[1], b[1]], h[[a[0], b[0]]], bins=bins)
        for a, b in product(cells, repeat=n)
    ]
    found = world.expected(lambda y, p: cal.confidence_ce(y, p, bins=bins), h, n)
    assert found == pytest.approx(math.fsum(terms), rel=1e-12)
    assert world.expected(lambda y, p: 1.0, h, 4) == pytest.approx(1.0, abs=1e-12)


def test_theorem_3_3_holds_with_the_correction_alone():
    for row in rows_of(truthful_theory.theorem_3_3()):
        assert row["bias from the proof"] < 1e-12
        assert (row["margin"] > 0.01) is (row["error"] == "ConfCE corrected"), row
        assert row["margin"] < -0.01 or row["error"] == "ConfCE corrected"


def test_the_limit_of_theorem_3_3_needs_the_number_of_bins():
    rows = rows_of(truthful_theory.limits_of_3_3(0, 20))
    means = [{k: float(str(v).split(" ")[0]) for k, v in row.items()} for row in rows]
    for row in means:  # whatever the predictor
        assert row["overconfident"] < (math.ceil(row["n"] / row["bins"]) + 1) / row["n"]
        assert row["calibrated"] < 1.5 / row["n"]
    assert means[-1]["overconfident"] < means[0]["overconfident"] / 5
    assert means[-1]["calibrated, times bins"] < means[0]["calibrated, times bins"] / 10
    assert min(row["overconfident, times bins"] for row in means) > 0.02


@pytest.mark.parametrize("theorem", [truthful_theory.theorem_4_1, truthful_theory.theorem_4_2])
def test_theorems_4_1_and_4_2_hold_for_truthful_errors_alone(theorem):
    rows = rows_of(theorem())
    other = [row["margin"] for row in rows if row["error"].startswith("ECE")]
    assert min(other) < -0.01
    for row in rows:
        if row["gap of losses / n"] is None:
            continue
        assert row["margin"] > 0
        if theorem is truthful_theory.theorem_4_1:  # lemma D.1: nothing else is in it
            assert row["margin"] == pytest.approx(row["gap of losses / n"], abs=1e-12)
        else:
            assert row["margin"] >= row["gap of losses / n"] - 1e-12


def test_theorem_4_3_covers_while_the_bias_is_below_the_gap():
    rows = rows_of(truthful_theory.theorem_4_3())
    assert {row["covered"] for row in rows} == {"yes", "no"}
    for row in rows:
        # The constant has no bias of its own, so that the theorem is sharp.
        assert row["margin"] == pytest.approx(row["gap of losses"] - row["bias of f"], abs=1e-12)
        assert (row["margin"] >= -1e-12) is (row["covered"] == "yes")
    lin = [row["bias of f"] for row in rows if row["error"] == "LinCE (classwise)"]
    # 0.2 off everywhere: E[d^2] + (n - 1) times two bins of half the rows.
    assert lin == pytest.approx([0.04 + (n - 1) * 0.02 for n in (1, 3, 9, 12)], abs=1e-12)


def test_losses_of_the_pools_are_nearly_linear():
    line = {name: np.linspace(1, 2, 9) * (j + 1) for j, name in enumerate(truthful_claims.LOSSES)}
    assert truthful_claims.straight_lines(line)["R^2"] == pytest.approx([1.0] * 10)
    bent = {**line, "brier": np.cos(np.arange(9))}
    assert min(truthful_claims.straight_lines(bent)["R^2"]) < 0.5
    for name, columns in truthful._read_pools(None, TaskProgress(show=False)).items():
        if name.startswith("cifar100"):  # it was measured on halves: a line each
            continue
        found = truthful_claims.straight_lines(columns)
        assert min(found["R^2"]) > 0.98 and min(found["R^2, better half"]) > 0.92


def test_both_kinds_of_bins_are_measured():
    rng = np.random.default_rng(0)
    logits, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    sharp = [np.exp(t * logits) for t in (0.2, 1.0, 3.0, 0.5, 2.0)]
    predictors = [p / p.sum(axis=1, keepdims=True) for p in sharp]
    rows = rows_of(truthful_claims.fixed_and_quantile(predictors, y))
    row = next(r for r in rows if (r["error"], r["bins"]) == ("classwise LinCE", 20))
    fixed, quantile = (
        np.argsort(np.argsort([cal.classwise_ce(y, p, bins=bins) for p in predictors]))
        for bins in (cal.EqualWidth(20, closed="right"), cal.Quantile(20, ties="rank"))
    )
    # Spearman's formula of ranks without ties.
    wanted = 1 - 6 * ((fixed - quantile) ** 2).sum() / (5 * 24)
    assert row["fixed / quantile"] == pytest.approx(wanted, abs=1e-12)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Four models of 60 % to 90 % right answers, which say that they are nearly sure of all."""
    rng, parts, columns = (
        np.random.default_rng(0),
        [],
        {"part": [], "confidence": [], "correct": []},
    )
    for prompt, kind, skill in product(("first", "second"), ("norm", "raw"), (0, 1, 2, 3)):
        truth = 1 / (1 + np.exp(-(0.5 + 0.6 * skill + rng.normal(size=1200))))
        logits = np.log(truth / (1 - truth))
        sure = 1 / (1 + np.exp(-2 - 2 * logits))
        columns["part"].append(np.full(1200, len(parts)))
        columns["confidence"].append(sure if kind == "norm" else 20 + logits)
        columns["correct"].append(rng.random(1200) < truth)
        parts.append(f"quiz|model {skill}|{kind}|{prompt}")
    folder = tmp_path_factory.mktemp("answers")
    arrays = {name: np.concatenate(each) for name, each in columns.items()}
    np.savez(folder / truthful_language_models.FILE, parts=np.array(parts), **arrays)
    return folder


def test_language_models_are_covered_after_scaling_alone(answers):
    done = truthful_language_models.section(truthful_language_models.find_file(answers))
    rows = rows_of(done.tables[0].columns)
    assert len(rows) == 9 and {row["orders"] for row in rows} == {12}
    covered = {(r["logits"], r["confidences"], r["bins"]): r["covered"] for r in rows}
    assert covered["norm", "as given", 5] == 0
    assert covered["norm", "Platt scaled", 100] >= 10 <= covered["raw", "Platt scaled", 100]
    assert all(row["covered"] <= row["agree"] for row in rows)
    assert "as given 0 in 5 bins" in done.paragraphs[0]


def test_covered_orders_are_those_of_a_twin(answers):
    path = truthful_language_models.find_file(answers)
    models = truthful_language_models.read_answers(path)["quiz", "first", "norm"]
    models = {
        name: truthful_language_models.Answers(c[:400], z[:400]) for name, (c, z) in models.items()
    }
    (row,) = (r for r in truthful_language_models.covered_orders(models) if r["bins"] == 20)
    times_n, left = {}, {}
    fold = np.random.default_rng(truthful_language_models.SPLIT_SEED).permutation(400) % 5
    for name, (c, z) in models.items():
        ranks = sorted(range(400), key=lambda i, c=c: c[i])
        gaps = [sum(c[i] - z[i] for i in ranks[20 * b : 20 * b + 20]) for b in range(20)]
        wrong = 400 - z.sum()
        times_n[name] = (math.fsum(g * g for g in gaps) + wrong) / 400
        mapped = np.empty(400)
        for j in range(5):
            fitted = cal.IsotonicCalibration().fit(z[fold != j], c[fold != j])
            mapped[fold == j] = fitted.transform(c[fold == j])
        left[name] = (wrong + ((mapped - z) ** 2).sum()) / 400
    covered = agree = 0
    for a, b in combinations(models, 2):
        f, g = (a, b) if times_n[a] <= times_n[b] else (b, a)
        agree += left[g] >= left[f]
        covered += left[g] - left[f] >= max(0.0, times_n[f] - left[f])
    assert (row["covered"], row["agree"], row["orders"]) == (covered, agree, 6)
    biases = [max(0.0, times_n[name] - left[name]) for name in models]
    assert row["median bias"] == pytest.approx(np.median(biases), rel=1e-9)


def test_without_answers_the_section_says_what_is_missing(answers, tmp_path):
    found = truthful_language_models.find_file(tmp_path)
    assert found is None and truthful_language_models.other_data(tmp_path) == tmp_path
    section = truthful_language_models.section(None)
    assert "Not run" in section.paragraphs[0] and "llm_multiple_choice.npz" in section.paragraphs[0]
    # A folder of answers alone holds no pool: those that ship are ranked.
    assert truthful_language_models.other_data(answers) is None
    assert truthful_language_models.find_file(answers / truthful_language_models.FILE)
