"""Long tables of votes, one row a vote, counted by item and class."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import calibrant as cal
from every_engine import FRAMES
from needs import need

RNG = np.random.default_rng(3)
ITEMS = RNG.permutation(np.repeat(np.arange(30), RNG.integers(1, 6, 30)))
LABELS = RNG.choice(["cat", "dog", "hen"], ITEMS.size)
LONG = {"item": ITEMS, "label": LABELS}
COLUMNS = {"item": "item", "label": "label"}


def slowly(items, classes):
    """The same, a vote at a time."""
    votes = Counter(zip(ITEMS.tolist(), LABELS.tolist(), strict=True))
    return np.array([[votes[item, name] for name in classes] for item in items])


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "polars streaming", "duckdb"])
def test_every_frame_counts_as_a_mapping_does(name):
    table = need("pyarrow").table({"item": ITEMS, "label": LABELS.tolist()})
    found = cal.count_votes(FRAMES[name](table), items=np.arange(30), **COLUMNS)
    np.testing.assert_array_equal(found.counts, slowly(range(30), ["cat", "dog", "hen"]))
    assert found.classes == ("cat", "dog", "hen")


def test_items_come_in_the_order_asked_for_or_as_they_occur():
    found = cal.count_votes(LONG, **COLUMNS)
    first = list(dict.fromkeys(ITEMS.tolist()))
    assert found.items.tolist() == first
    np.testing.assert_array_equal(found.counts, slowly(first, found.classes))
    np.testing.assert_array_equal(found.counts[found.item_index, found.class_index] > 0, True)
    some = cal.count_votes(LONG, items=[7, 3], classes=["hen", "cat", "dog"], **COLUMNS)
    np.testing.assert_array_equal(some.counts, slowly([7, 3], ["hen", "cat", "dog"]))
    assert some.n_unmatched == ITEMS.size - some.votes.sum()
    assert "on other items not counted" in repr(some)
    np.testing.assert_allclose(some.shares.sum(axis=1), 1)


def test_annotators_are_kept():
    who = [f"a{sum(ITEMS[:i] == ITEMS[i])}" for i in range(ITEMS.size)]
    found = cal.count_votes(LONG | {"who": who}, annotator="who", **COLUMNS)
    assert found.annotator.tolist() == who
    with pytest.raises(cal.InputError, match="annotator 'x' votes twice on the item"):
        cal.count_votes(LONG | {"who": ["x"] * ITEMS.size}, annotator="who", **COLUMNS)


def test_class_indices_are_labels_too():
    codes = np.searchsorted(["cat", "dog", "hen"], LABELS)
    found = cal.count_votes(
        {"item": ITEMS, "label": codes}, classes=["cat", "dog", "hen"], **COLUMNS
    )
    np.testing.assert_array_equal(found.counts, cal.count_votes(LONG, **COLUMNS).counts)


def test_a_table_is_its_counts():
    votes = cal.count_votes(LONG, **COLUMNS)
    rows = RNG.dirichlet(np.ones(3), 30)
    assert cal.dist_ce(votes, rows) == cal.dist_ce(votes.counts, rows)
    assert cal.evaluate(votes, rows).values == cal.evaluate(votes.counts, rows).values
    np.testing.assert_array_equal(cal.entropy_bands(votes), cal.entropy_bands(votes.counts))
    assert str(cal.bayes_error(votes)) == str(cal.bayes_error(votes.counts))
    assert str(cal.annotator_ceiling(votes)) == str(cal.annotator_ceiling(votes.counts))


def test_numbers_written_as_text_are_in_the_order_of_numbers():
    codes = RNG.permutation(np.arange(ITEMS.size) % 12)
    by_number = cal.count_votes({"item": ITEMS, "label": codes}, **COLUMNS)
    by_text = cal.count_votes({"item": ITEMS, "label": codes.astype(str)}, **COLUMNS)
    assert by_text.classes == tuple(map(str, range(12)))
    np.testing.assert_array_equal(by_text.counts, by_number.counts)


def test_a_number_is_one_class_however_it_is_written():
    labels = np.array(["10", "1.0", 1, "1", " 2", "2.0", "-3", "cat"], dtype=object)
    found = cal.count_votes({"item": ["a"] * 8, "label": labels}, **COLUMNS)
    assert found.classes == ("-3", 1, " 2", "10", "cat")
    assert found.counts.tolist() == [[1, 3, 2, 1, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ["cat", "dog"]}, r"label\[\d+\] is 'hen', which is not in classes"),
        ({"items": [1, 99]}, r"items\[1\], 99, has no votes"),
        ({"items": ["1", "2"]}, "items are text, but those of data are int: give both"),
        ({"items": [1, 2, 1]}, r"items\[2\] is 1, as is items\[0\]"),
        ({"label": "labels"}, "did you mean 'label'"),
        ({"annotator": "who"}, "annotator names the column 'who'"),
    ],
)
def test_what_cannot_be_counted_is_named(changes, message):
    with pytest.raises(cal.InputError, match=message):
        cal.count_votes(LONG, **(COLUMNS | changes))


def test_missing_and_empty_votes_are_named():
    with pytest.raises(cal.InputError, match=r"label\[1\] is missing"):
        cal.count_votes({"item": [1, 2], "label": ["cat", None]}, **COLUMNS)
    with pytest.raises(cal.InputError, match="at least one vote"):
        cal.count_votes({"item": [], "label": []}, **COLUMNS)
    with pytest.raises(cal.InputError, match="one value per vote"):
        cal.count_votes({"item": [1, 2], "label": ["cat"]}, **COLUMNS)
    with pytest.raises(cal.InputError, match="name all classes"):
        cal.count_votes({"item": [1, 2], "label": ["cat", "cat"]}, **COLUMNS)
