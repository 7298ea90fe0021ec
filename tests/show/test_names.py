"""Names as labels: short, on one line, plain text."""

from __future__ import annotations

import pytest

from calibrant.results._plots.names import short_name, short_names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("x" * 12, "x" * 12),
        ("abcdefghijklmnop", "abcdefg…mnop"),
        ("two\n  lines\t", "two lines"),
        ("\x00\x1b[31mred\u202e", "[31mred"),
        ("price in $", r"price in \$"),
        ("名前" * 10, "名前名…名前"),
        (7, "7"),
        (("a", 1), "('a', 1)"),
        ("", ""),
    ],
)
def test_a_name_in_twelve_letters(name, expected):
    assert short_name(name, 12) == expected


def test_a_lone_surrogate_is_left_out():
    assert short_name("a\ud800b") == "ab"


def test_what_tells_names_apart_is_shown():
    classes = [f"class number {i} with a long name" for i in range(24)]
    assert short_names(classes, 14) == [f"…number {i}…" for i in range(24)]
    long = ["model " + "x" * 40 + str(i) + "y" * 40 for i in range(3)]
    assert short_names(long, 12) == [f"…{i}yyyyyyyyy…" for i in range(3)]
    # What is short enough, or differs where all can see it, stays as it is.
    assert short_names(["a", "b"]) == ["a", "b"]
    assert short_names(["begin" + "x" * 40, "other" + "x" * 40], 12)[0] == "beginxx…xxxx"


@pytest.mark.parametrize("most", [12, 15, 30])
def test_names_that_are_the_same_are_numbered_in_the_same_room(most):
    names = ["the same long name of a model " * 2] * 12 + ["short"] * 2
    shown = short_names(names, most)
    assert len(set(shown)) == len(names) and max(map(len, shown)) <= most
    assert shown[1].endswith(" (2)") and shown[11].endswith(" (12)") and shown[13] == "short (2)"


def test_names_that_differ_in_too_many_letters_are_still_told_apart():
    names = ["same start " + letter * 60 + " same end" for letter in "ab"]
    names.append("same start " + "a" * 61 + " same end")
    shown = short_names(names, 15)
    assert len(set(shown)) == 3 and max(map(len, shown)) <= 15
