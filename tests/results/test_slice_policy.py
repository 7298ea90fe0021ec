"""check: slices with a tolerance of their own, and what undecided slices make of the verdict."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import calibrant as cal
from needs import need

RNG = np.random.default_rng(9)
N = 3000
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P).astype(int)
BY = np.where(np.arange(N) < 60, "few", "many")  # the few decide nothing


def checked(**options):
    return cal.check(Y, P, at_most={"ece": 0.1}, by=BY, **options)


def test_the_policy_decides_and_the_slice_stays_undecided():
    codes = {}
    for policy in ("undecided", "warn", "fail"):
        found = checked(undecided_slices=policy)
        assert [(row.where, row.verdict) for row in found.rows] == [
            (None, "pass"),
            ("few", "undecided"),
            ("many", "pass"),
        ]
        codes[policy] = found.code
        noted = [note for note in found.notes if "1 limit of slices is undecided" in note]
        assert len(noted) == (policy != "undecided")
    assert codes == {"undecided": 2, "warn": 0, "fail": 1}


def test_a_broken_slice_fails_whatever_the_policy():
    p = np.where(BY == "many", P**3, P)
    found = cal.check(Y, p, at_most={"brier": 0.5}, by=BY, tolerance=0.05, undecided_slices="warn")
    assert found.verdict == "fail"


def test_all_rows_are_undecided_whatever_the_policy():
    found = cal.check(Y[:60], P[:60], at_most={"ece": 0.05}, by=BY[:60], undecided_slices="warn")
    assert found.verdict == "undecided"


def test_build_servers_skip_what_only_warns():
    for policy, kind in (("warn", "skipped"), ("undecided", "error")):
        suite = ElementTree.fromstring(
            checked(undecided_slices=policy).to_junit().split("\n", 1)[1]
        )[0]
        assert suite.get(kind if kind == "skipped" else "errors") == "1"
        assert [child.tag for case in suite.iter("testcase") for child in case] == [kind]


def test_the_tolerance_takes_the_place_of_the_limits_in_slices():
    found = cal.check(Y, P, at_most={"brier": 0.3, "log_loss": 0.9}, by=BY, tolerance=0.06)
    assert [str(row.limit) for row in found.rows] == [
        "brier <= 0.3",
        "log_loss <= 0.9",
        "ece <= 0.06",
        "ece <= 0.06",
    ]
    alone = cal.check(Y[60:], P[60:], at_most={"ece": 0.06}).rows[0].interval
    assert (found.rows[3].interval.low, found.rows[3].interval.high) == (alone.low, alone.high)


def test_lazy_frames_have_both():
    polars = need("polars")
    frame = polars.DataFrame({"y": Y, "p": P, "by": BY}).lazy()
    options = {"at_most": {"brier": 0.3}, "tolerance": 0.2, "undecided_slices": "warn"}
    lazy = cal.check("y", "p", data=frame, by="by", **options)
    rows = cal.check(Y, P, by=BY, **options)
    assert [str(row.limit) for row in lazy.rows] == [str(row.limit) for row in rows.rows]
    assert lazy.verdict == rows.verdict == "pass" and lazy.undecided_slices == "warn"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tolerance": 0.1}, "tolerance needs slices, but there are none"),
        ({"undecided_slices": "warn"}, "undecided_slices needs slices"),
        ({"by": BY, "tolerance": 5}, "tolerance must be a number between 0 and 1"),
        ({"by": BY, "undecided_slices": "ignore"}, "undecided_slices='ignore' is not known"),
    ],
)
def test_options_of_slices_need_slices(options, said):
    with pytest.raises(cal.InputError, match=said):
        cal.check(Y, P, at_most={"ece": 0.1}, **options)
