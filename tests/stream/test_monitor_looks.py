"""Looks add up: p-values corrected for their number, and evidence that holds at all times."""

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._inference.streams import log_e_value
from calibrant._inference.tails import upper_tail


def windows(seed, days=40, rows=200, factor=1.0, change=0, **options):
    rng = np.random.default_rng((51, seed))
    p, day = rng.beta(0.5, 3, days * rows), np.repeat(np.arange(days), rows)
    y = (rng.random(p.size) < np.where(day < change, p, factor * p)).astype(int)
    monitor = cal.Monitor(every="1d", measures=["ece"], **options)
    monitor.update(y, p, time=np.datetime64("2026-01-01") + day.astype("timedelta64[D]"))
    return monitor.evaluate()


def test_calm_streams_are_calm():
    """Some p below .05 in nearly every stream; corrected in few, and an alarm in fewer."""
    tables = [windows(seed) for seed in range(10)]
    # In 87 of 100 streams: fewer than 5 of 10 have a chance of 0.001, as have more than 3 at 5 %.
    assert sum(any(part.p_value < 0.05 for part in table) for table in tables) >= 5
    assert sum(bool(table.standing_out) for table in tables) <= 3
    assert sum(table.alarm is not None for table in tables) <= 2
    calm = next(table for table in tables if not table.standing_out)
    assert any("none of 40 windows stands out" in note for note in calm.notes)
    assert calm.to_dict()["alarm"] is None


def test_faults_are_found_early_and_after_a_calm():
    for change in (0, 20):
        table = windows(1, factor=0.5, change=change)
        assert table.alarm is not None
        days = (table.alarm.start - table.rows[0].start).days
        assert change <= days <= change + 8
        assert any("alarm: by" in note for note in table.notes)
        assert json.loads(table.to_json())["alarm"] == table.alarm.start.isoformat()
        assert table.standing_out


def test_evidence_of_folded_windows_is_kept():
    assert windows(2, factor=0.6, keep=5).rows[0].e_value > 20


def test_no_evidence_of_weights_or_soft_labels():
    monitor = cal.Monitor(every="1d")
    monitor.update([0, 1], [0.2, 0.7], sample_weight=[2.0, 1.0], time="2026-01-05")
    table = monitor.evaluate()
    assert np.isnan(table.latest.e_value) and table.alarm is None


def table_of(n, u, z):
    sums = np.zeros((1, 1, len(FIELDS)))
    sums[0, 0] = [n, n, n, n * u, z, n * u * u, u * z, z, z]
    return BinTable(sums)


@pytest.mark.parametrize(("n", "u"), [(1, 0.5), (5, 0.1), (30, 0.02), (200, 0.7)])
def test_the_mean_evidence_of_calibrated_rows_is_at_most_1(n, u):
    """Exactly, over every number of outcomes."""
    from scipy.stats import binom

    outcomes = np.arange(n + 1)
    evidence = [np.exp(log_e_value(table_of(n, u, float(z)))) for z in outcomes]
    assert float(np.dot(binom.pmf(outcomes, n, u), evidence)) <= 1 + 1e-12


def test_chances_beyond_the_draws():
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    drawn = np.abs(rng.normal(size=(1000, 15))).sum(axis=1)
    assert upper_tail(drawn, float(np.median(drawn))) == pytest.approx(0.5, abs=0.01)
    # The sum of fifteen half-normals is nearly normal: 6 standard deviations out.
    mean, spread = 15 * np.sqrt(2 / np.pi), np.sqrt(15 * (1 - 2 / np.pi))
    found = upper_tail(drawn, mean + 6 * spread)
    assert norm.sf(6) / 3 < found < 1e-6
    values = [upper_tail(drawn, mean + k * spread) for k in range(9)]
    assert values == sorted(values, reverse=True)


def test_any_number_of_slices_can_stand_out():
    """200 slices of a lazy frame and of a file: one that is far off has a corrected p below .05."""
    from needs import need

    rng = np.random.default_rng(3)
    p, by = rng.uniform(0.1, 0.9, 20_000), np.arange(20_000) % 200
    y = (rng.random(20_000) < np.where(by == 7, 1 - p, p)).astype(int)
    frame = need("polars").DataFrame({"y": y, "p": p, "by": by})
    slices = cal.evaluate("y", "p", data=frame.lazy(), by="by", measures=["ece"]).slices
    assert slices.worst.name == "7" and slices.worst.p_corrected < 1e-3
