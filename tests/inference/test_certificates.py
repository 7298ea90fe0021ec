"""A certificate is the bound that its docstring derives, and no population breaks it."""

import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.budget import N_BETS
from calibrant._inference.certificates import MOVED_BY_NOISE, Units, upper_bound
from certificate_worlds import errors, worlds
from cli.command import csv, run
from needs import need

LEVEL = 0.9


def slow_bound(e, square, n, level, anytime=False):
    """The bound from its definition: the largest mean that the average of bets does not exclude."""

    def excludes(mean):
        total = 0.0
        for j in range(N_BETS):
            stake = 2 / math.sqrt(2) ** j
            if not anytime:
                stake = math.sqrt(8 * math.log(1 / (1 - level)) / n) * math.sqrt(2) ** j
            bet = stake / (1 + stake)
            psi = -math.log(1 - bet) - bet
            log = n * (-bet * e - psi * square - math.log(1 - bet * mean))
            total += math.exp(min(log, 700.0)) / ((j + 1) * (j + 2))
        return total > 1 / (1 - level)

    low, high = e, 1 - 1e-12
    while excludes(high) and high - low > 1e-11:
        middle = (low + high) / 2
        low, high = (low, middle) if excludes(middle) else (middle, high)
    return high


def maurer_pontil(e, square, n, level):
    """The empirical Bernstein bound of Maurer and Pontil (2009) for the same mean."""
    log = math.log(2 / (1 - level))
    c = 2 * log / (n - 1)
    m = min(e, math.sqrt(square / (1 + c)))
    return m + math.sqrt((square - m * m) * c) + 14 * log / (3 * (n - 1))


def rows(n, seed=0, gap=0.03):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p + gap * np.sin(9 * p)).astype(float), p


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize(
    ("e", "square", "n", "level"),
    [(0.02, 0.16, 10_000, 0.999), (0.1, 0.2, 300, 0.9), (0.0, 0.001, 50, 0.95)],
)
def test_the_bound_is_its_definition(e, square, n, level, anytime):
    known = slow_bound(e, square, n, level, anytime)
    assert upper_bound(e, Units(n, square), level, anytime=anytime) == pytest.approx(
        known, rel=1e-8
    )


@pytest.mark.parametrize("n", [50, 1000, 10_000, 100_000])
def test_it_is_no_wider_than_empirical_bernstein(n):
    for e, square in [(0.02, 0.16), (0.1, 0.2), (0.01, 0.02)]:
        mine = upper_bound(e, Units(n, square), 0.999)
        assert e < mine < maurer_pontil(e, square, n, 0.999)


def test_the_oracle_of_a_calibrated_model():
    y, p = rows(10_000, gap=0.0)
    assert cal.certify(y, p, level=0.95).upper < 0.025


def failures(name, n, samples, seed, level=LEVEL, part=1.0):
    """By measure, the share of samples whose bound is below the truth; `part` of its distance from
    the value is taken.
    """
    world = worlds(n)[name]
    residual, square = world.draw(n, samples, np.random.default_rng(seed))
    truths, found = errors(world.residual), errors(residual)
    out = {}
    for measure, truth in truths.items():
        bounds = [
            e + part * (upper_bound(e, Units(n, min(1.0, s)), level) - e)
            for e, s in zip(found[measure], square, strict=True)
        ]
        out[measure] = float((np.array(bounds) < truth - 1e-12).mean())
    return out


@pytest.mark.parametrize("name", worlds(100))
def test_no_world_breaks_the_bound(name):
    for n in (60, 1500):
        assert max(failures(name, n, 50, n).values()) <= 1 - LEVEL


def test_half_the_distance_is_broken():
    assert failures("one bin, all too high", 1500, 150, 0, part=0.5)["ece"] > 1 - LEVEL
    unseen = failures("sure, with misses that are not seen", 60, 200, 0, part=0.5)
    assert unseen["ece"] > 0.02  # exp(-3) of the samples show none


def test_it_holds_at_all_looks_together():
    world = worlds(1)["one bin, all too high"]
    truth, ever, once = 0.1, 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = rng.random(4000) < world.chance[0]
        e = np.abs(np.cumsum(0.9 - z)) / np.arange(1, 4001)
        s = np.cumsum((0.9 - z) ** 2) / np.arange(1, 4001)
        looks = range(20, 4000, 100)
        bounds = [upper_bound(e[n], Units(n + 1, s[n]), 0.8, anytime=True) for n in looks]
        fixed = [upper_bound(e[n], Units(n + 1, s[n]), 0.8) for n in looks]
        ever, once = ever + (min(bounds) < truth), once + (min(fixed) < truth)
    assert ever <= 0.2 * 60
    assert ever < once  # one look's bound is narrower, and does not promise as much


def test_a_cluster_is_one_row():
    y, p = rows(400)
    alone = cal.certify(y, p)
    five = cal.certify(np.repeat(y, 5), np.repeat(p, 5), groups=np.repeat(np.arange(400), 5))
    assert five.upper == pytest.approx(alone.upper, rel=1e-9)
    assert (five.n, five.unit, alone.unit) == (400, "cluster", "row")


@pytest.mark.parametrize("measure", ["ece", "ks_error", "lin_ce", "smooth_ece", "ls_ece"])
def test_equal_weights_are_none(measure):
    y, p = rows(400)
    w = np.append(np.full(400, 3.0), 0.0)
    weighted = cal.certify(np.append(y, 0), np.append(p, 0.7), measure=measure, sample_weight=w)
    assert weighted.n == 400
    # Bins share a squared unit vector; with weights the rows' own squares stand for it.
    close = {"lin_ce": 1.0}.get(measure, 1e-9)
    assert weighted.upper >= cal.certify(y, p, measure=measure).upper * (1 - 1e-9)
    assert weighted.upper == pytest.approx(cal.certify(y, p, measure=measure).upper, rel=close)


def test_one_heavy_row_widens_the_bound():
    y, p = rows(400)
    heavy = np.append(np.ones(399), 100.0)
    assert cal.certify(y, p, sample_weight=heavy).upper > 1.5 * cal.certify(y, p).upper


def test_clusters_with_weights_hold():
    """Clusters of one coin each, of sizes 1 and 20, with weights: 200 samples."""
    broken = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(60), np.where(np.arange(60) % 2, 1, 20))
        y = (rng.random(60) < 0.5)[cluster] * 1.0
        w = np.where(cluster % 3, 1.0, 2.0)
        found = cal.certify(y, np.full(y.size, 0.6), groups=cluster, sample_weight=w, level=0.8)
        broken += found.upper < 0.1
    assert broken <= 40


def test_smooth_ece_is_bounded_at_its_fixed_point():
    y, p = rows(2000)
    upper = cal.certify(y, p, measure="smooth_ece").upper
    at = cal.certify(y, p, measure="smooth_ece", sigma=upper)
    assert at.upper == pytest.approx(upper, abs=1e-6)
    assert cal.certify(y, p, measure="smooth_ece", sigma=2 * upper).upper < 2 * upper


def test_logit_noise_moves_residuals_by_as_much_as_allowed():
    rng = np.random.default_rng(0)
    h, y = rng.normal(0, 2, 300), rng.random(300) < 0.5
    noise = rng.normal(size=(300, 4000))
    for sigma in (0.1, 1.0, 3.0):
        moved = np.abs(1 / (1 + np.exp(-(h[:, None] + sigma * noise))) - y[:, None]).mean(axis=1)
        plain = np.abs(1 / (1 + np.exp(-h)) - y)
        allowed = math.sqrt((plain**2).mean()) + MOVED_BY_NOISE * sigma
        assert math.sqrt((moved**2).mean()) <= allowed


def test_residuals_of_classes_are_no_larger_than_allowed():
    rng = np.random.default_rng(1)
    for k in (2, 3, 10):
        p, y = rng.dirichlet(np.full(k, 0.4), 500), rng.integers(k, size=500)
        r = p - np.eye(k)[y]
        absolute, square = np.abs(r).sum(axis=1), (r**2).sum(axis=1)
        assert (absolute**2 <= 4 * square * (k - 1) / k + 1e-12).all()
        soft = p - rng.dirichlet(np.full(k, 0.4), 500)
        assert (np.abs(soft).sum(axis=1) ** 2 <= k * (soft**2).sum(axis=1) + 1e-12).all()


CLASSES = (
    "ece", "ks_error", "cutoff_ce", "ls_ece", "smooth_ece", "top_label_ece", "classwise_ece",
    "classwise_ce", "lin_ce", "atb", "confidence_ce_uncorrected",
)  # fmt: skip


@pytest.mark.parametrize("measure", CLASSES)
def test_calibrated_classes_have_certificates(measure):
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.5, 1, 2], 1500)
    y = (rng.random(1500)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    found = cal.certify(y, p, measure=measure)
    assert 0 < found.value < found.upper < 0.25
    assert cal.certify(y, p, measure=measure, level=0.9).upper < found.upper


def test_soft_labels_have_certificates():
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    soft = cal.certify(np.clip(p + rng.normal(0, 0.05, 2000), 0, 1), p)
    assert soft.of == "SMECE"
    assert soft.upper < 0.03 < cal.certify(rng.random(2000) < p, p).upper


@pytest.mark.parametrize("measure", ["ece", "lin_ce", "ks_error", "smooth_ece", "ls_ece", "atb"])
def test_frames_and_streams_have_that_of_arrays(measure):
    y, p = rows(3000)
    known = cal.certify(y, p, measure=measure)
    frame = need("polars").DataFrame({"y": y, "p": p}).lazy()
    assert cal.certify("y", "p", data=frame, measure=measure).upper == pytest.approx(known.upper)
    stream = cal.Accumulator().update(y, p)
    if measure in ("ks_error", "atb"):
        with pytest.raises(cal.InputError, match="predictions in order"):
            stream.certify(measure)
        return
    assert stream.certify(measure, anytime=False).upper == pytest.approx(known.upper, rel=1e-6)
    assert 0.95 < stream.certify(measure).upper / known.upper < 1.4


def test_a_grouped_monitor_counts_clusters():
    y, p = rows(3000)
    cluster = np.arange(3000) // 3
    monitor = cal.Monitor(grouped=True).update(y, p, time="2026-01-01", groups=cluster)
    found = monitor.certify(level=0.9)
    assert (found.n, found.unit, found.anytime) == (1000, "cluster", True)
    assert found.upper > cal.certify(y, p, groups=cluster, level=0.9).upper


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": "quantile"}, "depend on the predictions"),
        ({"bins": cal.Quantile(10)}, "cal.Edges"),
        ({"measure": "mce"}, "no certificate"),
        ({"measure": "brier"}, "no certificate"),
        ({"sigma": 0.1}, "has no noise"),
        ({"measure": "ls_ece", "sigma": 0.001}, "fixed in advance"),
        ({"measure": "smooth_ece", "sigma": "auto"}, "fixed in advance"),
        ({"level": 95}, "level must be"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(cal.InputError, match=message):
        cal.certify(*rows(100), **options)


def test_weights_of_streams_and_classes_are_refused():
    y, p = rows(100)
    with pytest.raises(cal.InputError, match="only sums"):
        cal.Accumulator().update(y, p, sample_weight=p).certify()
    with pytest.raises(cal.InputError, match="over all classes"):
        cal.certify(y, np.stack([1 - p, p], 1), measure="classwise_ece", sample_weight=p + 1)
    with pytest.raises(cal.InputError, match="has no sums for"):
        cal.Accumulator(measures=["ece"]).update(y, p).certify("smooth_ece")


def test_the_command_says_whether_a_limit_is_certified(tmp_path):
    y, p = rows(3000)
    path = csv(tmp_path / "rows.csv", {"label": y.astype(int), "proba": p})
    kept = run("certify", path, "--max", "0.1", "--json")
    assert kept.returncode == 0
    assert json.loads(kept.stdout)["upper"] == pytest.approx(cal.certify(y, p).upper)
    assert json.loads(kept.stdout)["certified"] is True
    over = run("certify", path, "--max", "0.02")
    assert over.returncode == 2
    assert "not certified, at most 0.02" in over.stdout
    state = tmp_path / "rows.state"
    cal.Accumulator().update(y, p).save(state)
    assert json.loads(run("certify", state, "--json").stdout)["anytime"] is True


def test_large_files_are_summed(tmp_path, monkeypatch):
    y, p = rows(3000)
    need("polars").DataFrame({"label": y, "proba": p}).write_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("calibrant._cli.certify.SUMMED_FROM", 100)
    for measure in ("ece", "ks_error", "smooth_ece"):
        found = run("certify", tmp_path / "rows.parquet", "--measure", measure, "--json")
        assert json.loads(found.stdout)["upper"] == pytest.approx(
            cal.certify(y, p, measure=measure).upper
        )
