"""McCaffrey's tutorial: its table from a hundred items, and what its roundings do to the error."""

import numpy as np
import pytest

from calibrant import InputError, reproduce
from calibrant._research.papers import ten_bins


@pytest.fixture(scope="module")
def done():
    return reproduce("ten-bins")


def test_every_printed_cell_comes_out(done):
    table = done.tables["table"].columns
    for printed, measured in (("accuracy, printed", "accuracy"), ("gap, printed", "gap")):
        pairs = list(zip(table[printed], table[measured], strict=True))
        assert pairs[:2] == [("", "")] * 2
        assert [round(value, 2) for _, value in pairs[2:]] == [value for value, _ in pairs[2:]]
    assert sum(table["count"]) == 100


def test_the_error_is_the_printed_one_and_its_roundings_are_told(done):
    # The sum of the tutorial's last line, term by term, and the sums without its roundings.
    n, conf = np.array(ten_bins.COUNTS), np.array(ten_bins.CONFIDENCES)
    right = np.array([3, 8, 10, 6, 7, 10, 12, 10]) / n
    of_items = np.where(conf == 0.24, 0.25, conf)
    expected = [
        (n * np.array(ten_bins.GAPS)).sum() / 100,
        (n * np.abs(of_items - ten_bins.ACCURACIES)).sum() / 100,
        (n * np.abs(conf - right)).sum() / 100,
        (n * np.abs(of_items - right)).sum() / 100,
    ]
    errors = done.tables["errors"].columns
    assert errors["measured"] == [f"{value:.4f}" for value in expected]
    assert errors["measured"][:3] == ["0.1270", "0.1264", "0.1244"]
    assert errors["printed"][0] == "0.1270"


def test_the_six_items_are_those_of_the_third_bin(done):
    items = done.tables["items"].columns
    assert np.mean(items["confidence"]) == pytest.approx(0.25, abs=1e-15)
    assert sum(items["right"]) == 3 and done.errata[0].paper == "0.24"


def test_there_is_nothing_to_draw():
    with pytest.raises(InputError, match="has no random numbers"):
        reproduce("ten-bins", seed=1)
    with pytest.raises(InputError, match="data: 'ten-bins' simulates"):
        reproduce("ten-bins", data=".")
