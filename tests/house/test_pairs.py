"""The part of a crossing that stands for the whole has every pair, and is small."""

from itertools import combinations, product

import pytest

from pairs import pairs


def met(rows, strength=2):
    return {
        (places, tuple(row[place] for place in places))
        for row in rows
        for places in combinations(range(len(rows[0])), strength)
    }


@pytest.mark.parametrize("strength", [2, 3])
def test_whatever_meets_in_the_crossing_meets_in_the_part(strength):
    rows = list(product("abcdefgh", range(5), ["x", "y", "z"], [None, 2]))
    part = pairs(rows, strength)
    assert met(part, strength) == met(rows, strength)
    assert part == sorted(set(part), key=rows.index)
    assert len(part) <= {2: 44, 3: 150}[strength]  # of 240; no fewer than 40 and 120 can do


def test_what_is_left_out_of_the_crossing_stays_out():
    rows = [(a, b, c) for a, b, c in product(range(6), range(6), "xy") if a != b]
    assert met(pairs(rows)) == met(rows)


def test_a_value_of_any_kind_is_told_from_others():
    lists = [], [], [0]  # of no hash, and two of them equal
    assert len(pairs(product(lists, [True, 1]))) == 6
    assert pairs([]) == [] and pairs([("only",), ("one",)]) == [("only",), ("one",)]
