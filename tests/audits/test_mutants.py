"""Wrong measures, each with a claim that is false of it: the audit must refute every one."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, audit
from calibrant._measures import catalogue
from calibrant._research.audits.continuity import continuity
from calibrant._research.audits.subjects import Subject
from cli.command import main

M = 15


def residuals(y, u, w):
    """R_B in 15 bins of equal width."""
    return np.bincount(np.minimum((u * M).astype(int), M - 1), w * (u - y), M)


def ones(w, u):
    return np.ones(len(u)) if w is None else w


def right(y_true, y_proba, sample_weight=None):
    """The ECE as it should be."""
    w = ones(sample_weight, y_proba)
    return np.abs(residuals(y_true, y_proba, w)).sum() / w.sum()


def constant_added(y_true, y_proba):
    return right(y_true, y_proba) + 0.01


def more_where_unsure(y_true, y_proba):
    return right(y_true, y_proba) + 0.04 * np.mean(y_proba * (1 - y_proba))


def sign_error(y_true, y_proba):
    return abs(residuals(y_true, y_proba, np.ones(len(y_true))).sum()) / len(y_true)


def labels_exchanged(y_true, y_proba):
    return right(1 - y_true, y_proba)


def last_bin_dropped(y_true, y_proba):
    return np.abs(residuals(y_true, y_proba, np.ones(len(y_true)))[:-1]).sum() / len(y_true)


def middle_bin_dropped(y_true, y_proba):
    kept = np.delete(residuals(y_true, y_proba, np.ones(len(y_true))), M // 2)
    return np.abs(kept).sum() / len(y_true)


def divided_by_n(y_true, y_proba, sample_weight=None):
    w = ones(sample_weight, y_proba)
    return np.abs(residuals(y_true, y_proba, w)).sum() / len(y_true)


def weights_forgotten(y_true, y_proba, sample_weight=None):
    return right(y_true, y_proba)


def jump(y_true, y_proba):
    return np.mean((y_proba - y_true) ** 2) + 0.02 * np.mean(y_proba > 0.61)


def a_bin_for_each(y_true, y_proba):
    return cal.ece(y_true, y_proba, bins=cal.LevelSets())


def squared(y_true, y_proba):
    return cal.lin_ce(y_true, y_proba)


def wrong_correction(y_true, y_proba, sample_weight=None):
    w = np.ones(len(y_true)) if sample_weight is None else sample_weight
    plain = cal.confidence_ce(y_true, y_proba, corrected=False, sample_weight=w)
    return plain + cal.classification_error(y_true, y_proba, sample_weight=w) / w.sum()


MUTANTS = {
    "constant added": (constant_added, "complete", "binary"),
    "more where unsure": (more_where_unsure, "complete", "binary"),
    "sign error": (sign_error, "sound", "binary"),
    "labels exchanged": (labels_exchanged, "complete", "binary"),
    "last bin dropped": (last_bin_dropped, "sound", "binary"),
    "middle bin dropped": (middle_bin_dropped, "sound", "binary"),
    "divided by n": (divided_by_n, "weighted", "binary"),
    "weights forgotten": (weights_forgotten, "sound", "binary"),
    "weights forgotten, seen at once": (weights_forgotten, "weighted", "binary"),
    "truthful ECE": (right, "truthful", "binary"),
    "continuous ECE": (right, "continuous", "binary"),
    "a jump beside a slope": (jump, "continuous", "binary"),
    "does not vanish": (a_bin_for_each, "complete", "binary"),
    "a correction of the total weight": (wrong_correction, "truthful", "multiclass"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_refuted(name):
    function, what, shape = MUTANTS[name]
    found = audit(function, shape=shape, properties=[what], claims={what: True})
    assert [row.property for row in found.refuted] == [what]
    assert not found
    assert found.replay(found.refuted[0])
    assert "0 of 1 claim confirmed" in repr(found)


@pytest.mark.parametrize("what", ["complete", "sound", "weighted"])
def test_the_right_one_is_not(what):
    found = audit(right, shape="binary", properties=[what], claims={what: True})
    assert found and not found.disagreements


def test_claims_of_ones_own():
    assert audit(right, shape="binary", properties=["truthful"])  # nothing claimed
    assert audit(right, shape="binary", properties=["truthful"], claims={"truthful": False})
    for claims, words in (
        ({"truthfull": True}, "truthful"),
        ({"sound": 1}, "True or False"),
        (["sound"], "True or False"),
    ):
        with pytest.raises(InputError, match=words):
            audit(right, claims=claims)
    with pytest.raises(InputError, match="catalogue have their own"):
        audit("ece", claims={"sound": True})


def test_a_false_claim_of_the_catalogue_fails_the_command(capsys):
    """The entry is changed, not the audit: ece claims to be truthful."""
    false = tuple(
        replace(m, claims=replace(m.claims, truthful=True)) if m.name == "ece" else m
        for m in catalogue._ENTRIES
    )
    assert main(["audit", "brier_discrimination"]) == 0
    before = catalogue._ENTRIES
    try:
        catalogue._set_entries(false)
        assert main(["audit", "ece", "--json"]) == 1
    finally:
        catalogue._set_entries(before)
    assert '"borne_out": false' in capsys.readouterr().out


@pytest.mark.parametrize(
    "function",
    [
        lambda y, p: np.mean(y - p) - np.mean(y) + np.mean(p),  # 0, but for rounding
        lambda y, p: 1e6 * np.mean((y - p) ** 2),
        lambda y, p: 1e-9 * np.mean((y - p) ** 2),
    ],
)
def test_rounding_is_not_a_jump(function):
    subject = Subject("own", "binary", function=function)
    assert [row.holds for row in continuity([subject], seed=0)] == [True]


def test_a_small_scale_hides_no_jump():
    subject = Subject("own", "binary", function=lambda y, p: 1e-9 * np.mean(p > 0.4))
    assert [row.holds for row in continuity([subject], seed=0)] == [False]


def test_an_audit_can_be_pickled():
    found = audit("ece", shape="binary", properties=["truthful"])
    again = pickle.loads(pickle.dumps(found))
    row = again.rows[0]
    assert again.to_json() == found.to_json()
    assert again.replay(row) == found.replay(found.rows[0])
    own = pickle.loads(pickle.dumps(audit(right, shape="binary", properties=["truthful"])))
    assert own.replay(own.rows[0])["misreport"] < own.replay(own.rows[0])["truth"]
    lost = audit(lambda y, p: np.mean(abs(y - p)), shape="binary", properties=["truthful"])
    lost = pickle.loads(pickle.dumps(lost))
    with pytest.raises(InputError, match="could not store"):
        lost.replay(lost.rows[0])


def test_the_largest_gap_does_not_vanish_where_tails_are_thin():
    """mce was claimed to be complete: with n^(1/3) bins the outermost ones never fill."""
    rng = np.random.default_rng(0)
    values = []
    for n in (8_000, 216_000):
        u = rng.beta(12, 12, n)
        y = rng.random(n) < u
        values.append(cal.ece(y, u, bins=round(n ** (1 / 3)), norm="max"))
    assert min(values) > 0.2
    assert catalogue.find("mce", "binary").claims.complete is False
