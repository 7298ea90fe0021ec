"""Decision curves: against dcurves for R, by hand, and with their intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from cli.command import main
from needs import need

# df_cancer_dx of the R package dcurves: 750 rows, 105 events, 115 with a family history, of which
# 24 have the event; net benefits as dca(cancer ~ famhistory, ...) gives them.
R_FAMHISTORY = {
    0.01: 0.030774410774410774,
    0.05: 0.025614035087719297,
    0.1: 0.018518518518518517,
    0.14: 0.012248062015503873,
    0.21: -2.531645569620253e-4,
    0.35: -0.033333333333333354,
    0.5: -0.08933333333333335,
    0.65: -0.19333333333333338,
}
R_ALL = {
    0.01: 0.13131313131313133,
    0.05: 0.09473684210526317,
    0.1: 0.04444444444444445,
    0.14: 0.0,
    0.21: -0.08860759493670883,
    0.35: -0.32307692307692315,
    0.5: -0.72,
    0.65: -1.4571428571428573,
}


def family_history() -> tuple[np.ndarray, np.ndarray]:
    cancer = np.repeat([1, 0, 1, 0], [24, 91, 81, 554])
    return cancer, np.repeat([1.0, 0.0], [115, 635])


def logistic(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes, right predictions, and predictions that are too sure."""
    rng = np.random.default_rng(seed)
    h = rng.normal(-1.0, 1.2, n)
    q = 1 / (1 + np.exp(-h))
    return (rng.random(n) < q).astype(int), q, 1 / (1 + np.exp(-2.2 * h))


def by_hand(y: np.ndarray, p: np.ndarray, w: np.ndarray, t: float) -> float:
    found = sum(b for a, b, c in zip(y, w, p, strict=True) if c >= t and a == 1)
    in_vain = sum(b for a, b, c in zip(y, w, p, strict=True) if c >= t and a == 0)
    return (found - in_vain * t / (1 - t)) / w.sum()


def test_net_benefits_are_those_of_dcurves() -> None:
    y, p = family_history()
    found = cal.decision_curve(y, {"famhistory": p}, thresholds=R_FAMHISTORY, recalibration=None)
    assert found.thresholds.tolist() == list(R_FAMHISTORY)
    assert found.net_benefit("famhistory") == pytest.approx(list(R_FAMHISTORY.values()), rel=1e-12)
    assert found.net_benefit("all") == pytest.approx(list(R_ALL.values()), rel=1e-12, abs=1e-15)
    assert (found.net_benefit("none") == 0).all()
    frame = found.to_frame("pandas")
    assert list(frame.columns[:2]) == ["model", "threshold"] and "net_benefit" in frame
    own = frame[frame.model == "famhistory"]
    assert own.tp_rate.unique() == pytest.approx([0.032])
    assert own.fp_rate.unique() == pytest.approx([0.12133333333333335])


def test_weights_and_thresholds_by_hand() -> None:
    y, p, _ = logistic(80)
    w = np.random.default_rng(1).random(80)
    found = cal.decision_curve(y, p, sample_weight=w, thresholds=[0.0, p[3], 0.4])
    assert found.models == ("model",)
    for t, value in zip(found.thresholds, found.net_benefit("model"), strict=True):
        assert value == pytest.approx(by_hand(y, p, w, t), rel=1e-12)


def test_a_difference_is_paired() -> None:
    y, q, sure = logistic(2000)
    found = cal.decision_curve(y, {"right": q, "sure": sure}, thresholds=[0.1, 0.7])
    forth, back = found.difference("right", "sure"), found.difference("sure", "right")
    assert forth["difference"] == [-d for d in back["difference"]]
    assert forth["low"] == pytest.approx([-h for h in back["high"]])
    one, other = found.benefits["right"], found.benefits["sure"]
    alone = (one.high - one.low) + (other.high - other.low)
    together = np.subtract(forth["high"], forth["low"])
    assert (together < 0.7 * alone).all() and forth["low"][0] > 0
    assert found.difference("right", "none")["difference"] == pytest.approx(one.value.tolist())


def test_limits_hold_the_truth() -> None:
    _, q, sure = logistic(100_000, seed=9)
    truth = {t: float(np.mean((sure >= t) * (q - t / (1 - t) * (1 - q)))) for t in (0.2, 0.5)}
    inside = dict.fromkeys(truth, 0)
    for seed in range(60):
        y, _, p = logistic(400, seed + 100)
        found = cal.decision_curve(y, p, thresholds=truth, recalibration=None)
        part = found.benefits["model"]
        for j, (t, value) in enumerate(truth.items()):
            inside[t] += part.low[j] <= value <= part.high[j]
    assert min(inside.values()) >= 51, inside


def test_recalibration_adds_where_predictions_are_wrong() -> None:
    y, q, sure = logistic(4000)
    found = cal.decision_curve(y, {"right": q, "sure": sure}, thresholds=np.arange(5, 95) / 100)
    assert "isotonic" in found.recalibration
    loss, at = found.decision_loss("sure")
    assert loss > 0.01 > found.decision_loss("right")[0] and 0 < at < 1
    part = found.benefits["sure"]
    assert part.recalibrated == pytest.approx(part.value + part.gain)
    where = int(np.argmin(np.abs(found.thresholds - at)))
    assert loss == pytest.approx(part.gain[where] * (1 - at) / max(at, 1 - at))
    assert part.gain_low[where] < part.gain[where] < part.gain_high[where]
    few = cal.decision_curve(*logistic(300)[:2])
    assert "platt" in few.recalibration and "added by recalibration" in repr(few)
    assert cal.decision_curve([0, 1], [0.2, 0.7]).recalibration == ""
    again = cal.decision_curve(y, {"right": q, "sure": sure}, thresholds=np.arange(5, 95) / 100)
    assert again.to_dict() == found.to_dict()


def test_clusters_widen_and_soft_labels_count_in_part() -> None:
    y, p, _ = logistic(200)
    y, p, groups = np.repeat(y, 4), np.repeat(p, 4), np.repeat(np.arange(200), 4)
    rows = cal.decision_curve(y, p, thresholds=[0.3], recalibration=None).benefits["model"]
    own = cal.decision_curve(y, p, thresholds=[0.3], recalibration=None, groups=groups).benefits[
        "model"
    ]
    assert own.high[0] - own.low[0] > 1.7 * (rows.high[0] - rows.low[0])
    soft = cal.decision_curve([0.25, 0.75], [0.2, 0.7], thresholds=[0.5], recalibration=None)
    assert soft.net_benefit("model") == pytest.approx([(0.75 - 0.25) / 2])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"thresholds": [0.5, 1.0]}, "1 does not"),
        ({"thresholds": [30]}, "divide them by 100"),
        ({"thresholds": []}, "got none"),
        ({"thresholds": "half"}, "must be numbers"),
        ({"recalibration": "magic"}, "is not known"),
        ({"level": 95}, "level"),
    ],
)
def test_wrong_options_are_named(options: dict, words: str) -> None:
    with pytest.raises(cal.InputError, match=words):
        cal.decision_curve([0, 1], [0.2, 0.7], **options)


def test_wrong_input_is_named() -> None:
    with pytest.raises(cal.InputError, match="b: a decision curve needs one outcome"):
        cal.decision_curve([0, 1], {"b": [[0.1, 0.2, 0.7], [0.2, 0.2, 0.6]]})
    with pytest.raises(cal.InputError, match="a: y_proba"):
        cal.decision_curve([0, 1], {"a": [0.2, 3.7]})
    with pytest.raises(cal.InputError, match="rename the model"):
        cal.decision_curve([0, 1], {"all": [0.2, 0.7]})
    found = cal.decision_curve([0, 1], [0.2, 0.7], thresholds=[0.5])
    with pytest.raises(cal.InputError, match="no strategy is called"):
        found.net_benefit("modle")
    with pytest.raises(cal.InputError, match="two different strategies"):
        found.difference("model", "model")
    with pytest.raises(cal.InputError, match="was not recalibrated"):
        found.decision_loss("model")


def test_the_command(tmp_path, capsys) -> None:
    y, q, sure = logistic(300)
    lines = [f"{a},{b},{c}" for a, b, c in zip(y, q, sure, strict=True)]
    path = tmp_path / "risks.csv"
    path.write_text("\n".join(["label,right,sure", *lines]) + "\n", encoding="utf-8")
    models = ["--models", "right=right", "sure=sure"]
    assert main(["decide", str(path), *models, "--thresholds", "0.1:0.5:0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = cal.decision_curve(
        y, {"right": q, "sure": sure}, thresholds=[0.1, 0.2, 0.3, 0.4, 0.5]
    )
    assert found["curves"]["net_benefit"] == pytest.approx(expected.columns()["net_benefit"])
    assert main(["decide", str(path), "--proba", "sure", "--thresholds", "0.2,0.4"]) == 0
    out = capsys.readouterr().out
    assert "Net benefit by threshold" in out and "risks" in out and "platt" in out
    assert "confidence intervals" not in out  # the table has none
    with pytest.raises(SystemExit):
        main(["decide", str(path), "--proba", "sure", "--thresholds", "a"])
    assert "'a' is not a list of thresholds" in capsys.readouterr().err
    assert main(["decide", str(path), "--proba", "sure", "-o", "x.txt"]) == 3
    assert "a picture ends in" in capsys.readouterr().err


def test_pictures_of_decision_curves(tmp_path) -> None:
    need("matplotlib")
    y, q, sure = logistic(300)
    display = cal.decision_curve(y, {"right": q, "sure": sure}).plot(recalibrated=True)
    assert set(display.lines_) == {"right", "sure", "all", "none"}
    assert display.save(tmp_path / "a.png", dpi=60).stat().st_size > 1000


def test_the_page_has_decisions_clinic_ranking_and_outcomes() -> None:
    need("altair")
    y, q, _ = logistic(100)
    report = cal.report(y, q, recalibrate="temperature")
    assert report.decisions is not None and report.risk is not None
    assert sum(report.histogram[1]) == y.sum() and sum(report.histogram[2]) == (1 - y).sum()
    page = report.to_html()
    for part in ("decisions", "clinical", "ranking", "outcome-chart"):
        assert f'id="{part}"' in page
    assert "not calibration" in page and "observed_expected" in page
    rows = np.stack([1 - q, q / 2, q / 2], axis=1)
    several = cal.report(y, rows, measures=["ece", "auroc"], recalibrate="temperature")
    assert several.decisions is None and several.evaluation.clinical is None
    page = several.to_html()
    assert 'id="decisions"' not in page and 'id="ranking"' in page


# --- few rows that decide -------------------------------------------------------------------------


def test_the_gain_over_acting_on_all_is_not_made_up():
    """The model leaves out 4 % of the rows, with a risk of 4 %, at a threshold of 2 %: it is worse.
    That few of the 20 rows have an event does not show that it is better; half the samples did.
    """
    better = missed = 0
    truth = -0.04 * (0.04 - 0.02 / 0.98 * 0.96)
    for seed in range(30):
        rng = np.random.default_rng((8, seed))
        left_out = rng.random(500) < 0.04
        risk = np.where(left_out, 0.04, rng.uniform(0.05, 0.5, 500))
        y = (rng.random(500) < risk).astype(int)
        curve = cal.decision_curve(
            y, {"m": np.where(left_out, 0.01, risk)}, thresholds=[0.02], recalibration=None
        )
        found = curve.difference("m", "all")
        better += found["low"][0] > 0
        missed += not found["low"][0] <= truth <= found["high"][0]
    assert better <= 2 and missed <= 4


def test_limits_of_no_row_at_all():
    """Nobody is acted on at 0.9: what 200 rows leave possible is 3.69 of them, of either kind."""
    y, p = np.arange(200) % 2, np.full(200, 0.5)
    curve = cal.decision_curve(y, {"m": p}, thresholds=[0.9], recalibration=None)
    row = curve.benefits["m"]
    assert row.value[0] == 0.0
    assert row.high[0] == pytest.approx(3.689 / 200, rel=1e-3)
    assert row.low[0] == pytest.approx(-9 * 3.689 / 200, rel=1e-3)
    # Acting on no one brings nothing, whatever the rows.
    nobody = curve.benefits["none"]
    assert nobody.low[0] == nobody.high[0] == 0.0


def test_limits_of_many_deciding_rows_are_those_of_a_mean():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    row = cal.decision_curve(y, {"m": p}, thresholds=[0.5], recalibration=None).benefits["m"]
    rows = np.where(p >= 0.5, y - (1.0 - y), 0.0)
    error = rows.std() / np.sqrt(2000)
    assert row.high[0] - row.value[0] == pytest.approx(1.96 * error, rel=0.02)


def test_what_is_printed_has_intervals():
    y, p = [0, 1, 1, 0] * 25, np.array([0.2, 0.7, 0.9, 0.4] * 25)
    found = cal.decision_curve(y, {"a": p, "b": p**2}, thresholds=[0.3, 0.5])
    shown, part = found.display_columns(), found.benefits["b"]
    assert shown["95% of b"] == [
        f"{low:.4f} to {high:.4f}" for low, high in zip(part.low, part.high, strict=True)
    ]
    assert "95%" in cal.decision_curve(y, p, thresholds=[0.3]).display_columns()
