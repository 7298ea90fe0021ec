"""Names as labels: short, on one line, plain text."""

from __future__ import annotations

import pytest

from calibrant.show.names import shown_name, shown_names


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
    assert shown_name(name, 12) == expected


def test_a_lone_surrogate_is_left_out():
    assert shown_name("a\ud800b") == "ab"


def test_names_that_look_the_same_are_numbered():
    long = ["model " + "x" * 40 + str(i) + "y" * 40 for i in range(3)]
    shown = shown_names(long, 12)
    assert len(set(shown)) == 3
    assert shown[1:] == [f"{shown[0]} (2)", f"{shown[0]} (3)"]
    assert shown_names(["a", "b"]) == ["a", "b"]
