"""Some thousand numbers are what they were when they were recorded, family by family.

A change that means to move numbers records them again, and its commit shows which ones moved:
`golden_record.py` says how.
"""

from __future__ import annotations

import pytest
from golden_numbers import MAY_MOVE, MUST_STAY, numbers
from golden_record import ELSEWHERE, family, made_with, moves, recorded, summary

MADE_WITH, RECORDED = recorded()
HERE = made_with() == MADE_WITH


@pytest.mark.parametrize("name", [*MUST_STAY, *MAY_MOVE])
def test_numbers_are_as_recorded(name):
    old = {key: number for key, number in RECORDED.items() if family(key) == name}
    assert old
    moved = moves(old, numbers(), least=0 if HERE else ELSEWHERE[name])
    shown = "\n".join(map(str, moved[:10]))
    assert not moved, f"{len(moved)} of {len(old)} numbers moved:\n{shown}"


@pytest.mark.parametrize(
    ("old", "new"),
    [(0.1, 0.1 + 1e-12), (0.1, None), (None, 0.1), (0, False), (True, 1), ("pass", "fail")],
)
def test_a_move_is_found(old, new):
    (move,) = moves({"values/a": old}, {"values/a": new})
    assert (move.old, move.new) == (old, new)


def test_what_is_gone_has_moved_and_what_is_new_has_not():
    old, new = {"values/a": 0.1, "floors/b": None}, {"values/a": 0.1, "values/c": 0.3}
    assert [move.name for move in moves(old, new)] == ["floors/b"]
    assert "values: 0 of 1 moved; 1 not recorded yet" in summary(old, new)
    assert "floors: 1 of 1 moved, by up to inf; 0 not recorded yet" in summary(old, new)


def test_the_last_digits_are_no_move():
    pairs = {"values/a": (0.1, 0.1 + 5e-14), "pages/b": (3.0, 3.0 + 2e-9), "tests/c": (0, 1e-14)}
    old, new = ({key: pair[i] for key, pair in pairs.items()} for i in (0, 1))
    assert not moves(old, new)
    assert not moves({"values/a": 0.1}, {"values/a": 0.1 + 1e-10}, least=ELSEWHERE["values"])


def test_entries_of_a_matrix_may_move_further_than_its_loss():
    path = "scaling/binary/MatrixScaling"
    old, new = ({f"{path}/{key}": x for key in ("coef_/0", "loss_")} for x in (0.5, 0.5 + 1e-7))
    assert [move.name for move in moves(old, new)] == [f"{path}/loss_"]
