"""Looks add up: p-values corrected for their number, and evidence that holds at all times."""

import json
import re

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._inference.streams import log_e_value, noise_floor, p_of_change
from calibrant._inference.tails import quantiles, upper_tail
from monitored import DAY


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
    assert any("none of 40 windows is significantly miscalibrated" in note for note in calm.notes)
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


@pytest.mark.parametrize(("beyond", "counted"), [(13, True), (7, False)])
def test_a_chance_is_read_off_ten_draws_or_more(beyond, counted):
    drawn = np.random.default_rng(63).normal(size=1000)
    drawn[:beyond] = 20.0
    assert (upper_tail(drawn, 15.0) == (beyond + 1) / 1001) == counted


@pytest.mark.parametrize(("tail", "read"), [(0.006, True), (0.003, False)])
def test_a_quantile_is_read_off_four_draws_or_more(tail, read):
    """Even draws end early: the law that is fitted to them reaches further."""
    drawn = (np.arange(1000) + 0.5) / 1000
    for q in (tail, 1 - tail):
        (found,) = quantiles(drawn, (q,))
        assert (found == np.quantile(drawn, q, method="weibull")) == read


def two_bins(rows, soft):
    """Two streams of two bins each of which moved by as much as the other, the other way."""
    away = np.where(np.arange(rows) % 8 == 0, -1.0, 1.0)  # one in eight lies on the other side
    streams = []
    for side in (1.0, -1.0):
        sums = np.zeros((1, 2, len(FIELDS)))
        for bin_, u in enumerate((0.3, 0.7)):
            z = 0.5 + side * away * (1 - 2 * bin_) * (0.2 if soft else 0.5)
            sums[0, bin_] = [rows, rows, rows, rows * u, z.sum(), rows * u * u, u * z.sum(),
                             (z * z).sum(), z.sum()]  # fmt: skip
        streams.append(BinTable(sums))
    return streams


@pytest.mark.parametrize("soft", [False, True])
def test_bins_with_little_are_put_together(soft):
    """Eight rows have a variance of 2, and sixteen of 4: what has moved either way in two bins is
    seen in bins of sixteen rows, and cancels in those of eight.
    """
    assert p_of_change(*two_bins(8, soft), soft=soft) > 0.5
    assert p_of_change(*two_bins(16, soft), soft=soft) < 0.01


def test_streams_with_next_to_nothing_are_not_compared():
    """Six rows at 1 / 2 have a variance of 1.5, and three of less than 1."""
    for rows, told in ((6, True), (3, False)):
        z = rows // 2
        p = p_of_change(table_of(rows, 0.5, z), table_of(rows, 0.5, rows - z), soft=False)
        assert np.isfinite(p) == told


@pytest.mark.parametrize("bet", np.geomspace(0.0022, 1.5, 24))
def test_some_bet_is_good_for_small_faults_and_large_ones(bet):
    """Of the evidence that the best bet in hindsight has, the few that are made have more than
    half, whatever the fault: here one against which `bet` is the best.
    """
    best = 60.0
    variance = best / (bet * np.expm1(bet) - np.expm1(bet) + bet)
    moved = variance * np.expm1(bet)
    sums = np.zeros((1, 1, len(FIELDS)))
    sums[0, 0, FIELDS.index("sum_wu")] = variance  # and the squares of predictions next to none
    sums[0, 0, FIELDS.index("sum_wz")] = variance + moved
    assert log_e_value(BinTable(sums)) > 0.6 * best


def test_evidence_of_clusters_by_the_formula():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), rng.integers(1, 12, 60))
    u = np.clip(rng.beta(1, 2, 60)[groups] + rng.normal(0, 0.05, groups.size), 0, 1)
    z = (rng.random(60)[groups] < u).astype(int)
    monitor = cal.Monitor(grouped=True, bins=5).update(z, u, time="2026-01-05", groups=groups)
    table = monitor.total().summary().bins
    # Half on all windows together, half anew on each: of one window both are the same.
    assert monitor.evaluate().latest.e_value == pytest.approx(np.exp(log_e_value(table)))


@pytest.mark.parametrize("u", [[0.4, 0.85], [0.6, 0.15], [0.5] * 30, [0.6] * 13 + [1.0] * 25])
def test_outcomes_of_a_window_scatter_as_predictions_say(u):
    """As binomials of 1.5 trials do, some of one and some of two."""
    u = np.array(u)
    table = cal.Accumulator(bins=1).update(np.ones(u.size, int), u).summary().bins
    moved = []

    def sums(drawn):
        moved.append(drawn.sum_wz[:, 0])
        return drawn.sum_wz[:, 0]

    noise_floor(table, sums, 0.0)
    variance = (u * (1 - u)).sum()
    assert moved[0].mean() == pytest.approx(u.sum(), abs=0.15 * np.sqrt(variance))
    assert moved[0].var() == pytest.approx(variance, rel=0.15)


def shifted(gap, n=400, of_change=None):
    """Six windows whose predictions are too high by `gap` from the third on."""
    monitor = cal.Monitor(every="1d", measures=["ece"], by="side")
    p = np.repeat([0.3, 0.7], n // 2)
    for day in range(6):
        events = np.round((p - gap * (day >= 2)) * n / 2).astype(int)
        y = (np.tile(np.arange(n // 2), 2) < events).astype(int)
        monitor.update(y, p, time=day * DAY, by=np.arange(n) % 2)
    return monitor.evaluate(baseline=of_change)


@pytest.mark.parametrize("of_change", [None, (None, 2 * DAY)])
@pytest.mark.parametrize(("gap", "direction"), [(0.12, "high"), (-0.12, "low")])
def test_an_alarm_says_in_which_direction_and_how_far(gap, direction, of_change):
    table = shifted(gap, of_change=of_change)
    observed = 0.5 - gap
    clause = (
        f"since then predictions are too {direction} by 12 points on average "
        f"(mean prediction 0.500, observed frequency {observed:.3f})"
    )
    alarms = [note for note in table.notes if note.startswith("alarm: ")]
    assert len(alarms) == (1 if of_change is None else 2)
    assert all(clause in note and clause in repr(table) for note in alarms)


def test_evidence_has_one_notation_wherever_it_is_printed():
    table = shifted(0.25, n=2000, of_change=(None, 2 * DAY))
    values = [row.e_value for row in table] + [row.e_change for row in table]
    for part in table.slices:
        values += [part.e_value, part.e_corrected]
    texts = [f"{value:.1e}".replace("e+0", "e").replace("e+", "e") for value in values]
    large = [text for text, value in zip(texts, values, strict=True) if value >= 1000]
    assert len(large) > 8
    texts = f"{table!r}\n{table.slices!r}"
    html = table._repr_html_() + table.slices._repr_html_()
    for printed in (texts, html, table.to_html()):
        tables = re.sub(r"<script.*?</script>", "", printed, flags=re.DOTALL)
        assert not re.search(r"\de\+\d", tables)
        assert all(re.search(rf"(?<![\d.]){re.escape(text)}\b", tables) for text in large)
