"""Every number of bins at once gives what each number gives by itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, bin_sensitivity, examples

COUNTS = (1, 2, 3, 7, 15, 64, 100)


def problems():
    rng = np.random.default_rng(0)
    fashion = examples.load("fashion")
    rows, labels = fashion.test_proba[:700], fashion.test_labels[:700]
    p = rng.random(500)
    y = (rng.random(500) < p**2).astype(int)
    return {
        "binary": (y, p, {}),
        "ties": (y, np.round(p, 1), {}),
        "edges": (y, rng.integers(0, 101, 500) / 100, {}),
        "float32": (y, p.astype(np.float32), {}),
        "weights": (y, p, {"sample_weight": rng.integers(0, 4, 500)}),
        "real weights": (y, np.round(p, 2), {"sample_weight": rng.random(500)}),
        "soft": (np.clip(p + 0.1 * rng.normal(size=500), 0, 1), p, {}),
        "multiclass": (labels, rows, {}),
        "soft rows": (fashion.test_soft_labels[:700], rows.astype(np.float32), {}),
        "logits": (labels, fashion.test_logits[:700], {"from_logits": True}),
        "few": ([0, 1, 1], [0.1, 0.1, 0.9], {}),
    }


@pytest.mark.parametrize("name", problems())
def test_values_are_those_of_evaluate(name):
    y, p, options = problems()[name]
    found = bin_sensitivity(y, p, bins=COUNTS, **options)
    assert found.bins == COUNTS and len(found.measures) >= 6
    for m in COUNTS:
        alone = cal.evaluate(y, p, bins=m, measures=found.measures, **options)
        for measure, value in found.at(m).items():
            assert value == pytest.approx(alone[measure], rel=1e-11, abs=1e-15), (m, measure)


def test_measures_by_name_with_bins_that_must_be_summed_anew_or_without():
    fashion = examples.load("fashion")
    y, p = fashion.test_labels[:300], fashion.test_proba[:300]
    names = ["tace", "lin_ce", "brier", "smooth_ece", "ece"]
    found = bin_sensitivity(y, p, bins=[3, 12], measures=names)
    assert found.measures == tuple(names) and found.flat == ("brier", "smooth_ece")
    for m in (3, 12):
        alone = cal.evaluate(y, p, bins=m, measures=names)
        assert found.at(m) == pytest.approx(alone.values, rel=1e-11)


def test_many_classes_are_summed_one_number_of_bins_at_a_time(set_limits):
    fashion = examples.load("fashion")
    y, p = fashion.test_labels[:300], fashion.test_proba[:300]
    together = bin_sensitivity(y, p, bins=[3, 9], measures=["classwise_ece"])
    set_limits(bin_count_cells=20)
    apart = bin_sensitivity(y, p, bins=[3, 9], measures=["classwise_ece"])
    assert apart["classwise_ece"] == pytest.approx(together["classwise_ece"], rel=1e-12)


def test_calibrated_predictions_show_more_error_the_more_bins_there_are():
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    found = bin_sensitivity(rng.random(3000) < p, p, bins=[2, 20, 200], measures=["ece", "lin_ce"])
    assert found["ece"][0] < found["ece"][1] < found["ece"][2]


def test_forms_of_a_bin_sensitivity():
    found = bin_sensitivity([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=(4, 2, 2), measures=["ece"])
    assert found.bins == (2, 4)
    assert found.columns() == {"bins": [2, 4], "ece": list(found["ece"])}
    spread = found.spread()
    assert spread["lowest"][0] == min(found["ece"]) and spread["highest"][0] == max(found["ece"])
    assert found.at(spread["highest_at"][0])["ece"] == spread["highest"][0]
    loaded = json.loads(found.to_json())
    assert loaded["bins"] == [2, 4] and loaded["values"]["ece"] == list(found["ece"])
    assert "1 measure of 4 rows at 2 to 4 bins" in repr(found)
    assert "labels are hard" in repr(found)
    html = found._repr_html_()
    assert html.count("<table>") == 1 and html.count("<svg") == 1


def test_rows_left_out_are_told():
    found = bin_sensitivity(
        [0, 1, 1], [0.2, np.nan, 0.9], bins=[2], measures=["ece"], missing="drop"
    )
    assert found.n == 2 and "1 row was dropped" in found.notes[0]


@pytest.mark.parametrize("bins", [0, [3, 0], [2.5], "ten", [True], [None]])
def test_counts_must_be_whole(bins):
    with pytest.raises(InputError, match="bins must be numbers of bins"):
        bin_sensitivity([0, 1], [0.2, 0.7], bins=bins)


def test_what_is_not_there_is_named():
    with pytest.raises(InputError, match="one number of bins or more"):
        bin_sensitivity([0, 1], [0.2, 0.7], bins=[])
    with pytest.raises(InputError, match="one measure or more"):
        bin_sensitivity([0, 1], [0.2, 0.7], measures=[])
    found = bin_sensitivity([0, 1], [0.2, 0.7], bins=[5, 9], measures=["ece"])
    with pytest.raises(InputError, match="the nearest number is 9"):
        found.at(12)
    with pytest.raises(InputError, match="did you mean 'ece'"):
        found["ecce"]
