"""Questions that were answered several times: self-consistency, stated confidence, capability."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import calibrant as cal

SHARE, HELD_OUT = "share of the modal answer", "the same, held out"
AN_ANSWER, A_QUESTION = "stated, of an answer", "stated, of a question"


def sample(seed=0, n=200, k=6):
    rng = np.random.default_rng(seed)
    question = np.repeat(np.arange(n), k)
    skill = rng.beta(2, 1, n)[question]
    answer = np.where(rng.random(n * k) < skill, 0, rng.integers(1, 4, n * k))
    stated = np.clip(np.round(skill + 0.1 + rng.normal(0, 0.1, n * k), 2), 0, 1)
    return question, answer, (answer == 0).astype(int), stated


def shares(answers):
    """By the definition: the modal answer's share, and its held-out share over all ties."""

    def modes(of):
        most = max(of.count(a) for a in of)
        return sorted({a for a in of if of.count(a) == most})

    k = len(answers)
    agree = 0.0
    for i in range(k):
        rest = answers[:i] + answers[i + 1 :]
        agree += (answers[i] in modes(rest)) / len(modes(rest))
    return max(answers.count(a) for a in answers) / k, agree / k


def test_shares_are_those_of_the_definition_for_all_answers_there_can_be():
    tried = [*itertools.product("abc", repeat=2), *itertools.product("abcd", repeat=5)]
    question = [i for i, answers in enumerate(tried) for _ in answers]
    answer = [a for answers in tried for a in answers]
    correct = [int(a == "a") for a in answer]
    found = cal.sampled_answers(question, answer, correct)
    by_hand = np.mean([shares(list(answers)) for answers in tried], axis=0)
    assert found[SHARE].mean_confidence == pytest.approx(by_hand[0])
    assert found[HELD_OUT].mean_confidence == pytest.approx(by_hand[1])
    # Each by itself, beside one question that is known.
    for answers in tried[16:40:4]:
        both = cal.sampled_answers(
            [0] * len(answers) + [1, 1], [*answers, "x", "x"], [0] * len(answers) + [1, 1]
        )
        expected = (shares(list(answers))[1] + 1.0) / 2
        assert both[HELD_OUT].mean_confidence == pytest.approx(expected), answers


def test_the_held_out_share_is_unbiased_and_the_plain_one_is_not():
    """Against how often a fresh answer agrees with the modal one of the others."""
    rng, chances = np.random.default_rng(0), np.array([0.4, 0.3, 0.2, 0.1])
    k, n = 5, 4000
    answers = rng.choice(4, (n, k), p=chances)
    found = cal.sampled_answers(np.repeat(np.arange(n), k), answers.ravel(), answers.ravel() == 0)
    # The modal answer of k - 1 answers, with ties broken at random, and its chance.
    fresh = rng.choice(4, (20_000, k - 1), p=chances)
    counts = (fresh[:, :, None] == np.arange(4)).sum(axis=1) + rng.random((20_000, 4)) / 2
    truth = chances[counts.argmax(axis=1)].mean()
    assert found[HELD_OUT].mean_confidence == pytest.approx(truth, abs=0.01)
    assert found[SHARE].mean_confidence > truth + 0.15


def test_lines_are_evaluations_with_questions_as_clusters():
    question, answer, correct, stated = sample()
    found = cal.sampled_answers(question, answer, correct, stated, bins=10)
    options = {"uncertainty": True, "bins": 10, "measures": ["ece"]}
    one = cal.evaluate(correct, stated, groups=question, **options).estimate("ece")
    assert found[AN_ANSWER].ece == one.interval.estimate
    assert (found[AN_ANSWER].low, found[AN_ANSWER].high) == (one.interval.low, one.interval.high)
    right = correct.reshape(-1, 6).sum(axis=1)
    mean = stated.reshape(-1, 6).mean(axis=1)
    counts = np.stack([6 - right, right], axis=1)
    capability = found.evaluations[A_QUESTION]
    assert capability["ece"] == pytest.approx(cal.soft_ece(counts, mean, bins=10), abs=1e-12)
    assert found[A_QUESTION].mean_right == pytest.approx(correct.mean())
    assert any("for the label distributions" in note for note in capability.notes)
    assert len(json.loads(found.to_json())["evaluations"]) == 4


def test_order_and_names_do_not_matter_but_for_ties():
    question, answer, correct, stated = sample()
    order = np.argsort(np.random.default_rng(1).random(question.size))
    names = np.array([f"q{i}" for i in question])
    one = cal.sampled_answers(question, answer, correct, stated)
    two = cal.sampled_answers(names[order], answer[order], correct[order], stated[order])
    for line in (SHARE, HELD_OUT, AN_ANSWER, A_QUESTION):
        assert two[line].mean_confidence == pytest.approx(one[line].mean_confidence)
    assert two[A_QUESTION].brier == pytest.approx(one[A_QUESTION].brier)


def test_equal_answers_and_notes():
    question = [0, 0, 0, 1, 1, 2, 2, 2, 3]
    answer = ["1.50", 1.5, " 1.5 ", "x", "y", "z", "z ", "z", "w"]
    correct = [1, 1, 1, 1, 0, 1, 0, 1, 1]
    found = cal.sampled_answers(question, np.array(answer, dtype=object), correct)
    assert found[SHARE].mean_confidence == pytest.approx((1 + 0.5 + 1) / 3)
    assert found[SHARE].mean_right == 1.0
    notes = " ".join(found.notes)
    assert "1 question with one answer" in notes
    assert "1 question with several modal answers" in notes
    assert "1 question whose equal answers were judged differently" in notes
    gone = cal.sampled_answers([0, 0, 0, 1, 1], ["a", None, None, "b", "b"], [1, 0, 0, 1, 1])
    assert gone[SHARE].mean_confidence == pytest.approx((1 / 3 + 1) / 2)
    assert "2 answers missing" in gone.notes[-2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.sampled_answers([1, 2], ["a", "b"], [1, 0]), "has one answer"),
        (lambda: cal.sampled_answers([1, 1], ["a"], [1, 0]), "answer has 1 rows, question 2"),
        (lambda: cal.sampled_answers([1, 1], ["a", "b"], [1, 0.5]), r"correct\[1\] is 0.5"),
        (lambda: cal.sampled_answers([1, 1], [1, 2], [1, 0], [0.5, 85]), r"confidence\[1\] is 85"),
        (lambda: cal.sampled_answers([1, None], ["a", "b"], [1, 0]), "every answer needs its"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(cal.InputError, match=message):
        call()
