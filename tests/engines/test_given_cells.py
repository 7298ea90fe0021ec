"""Given cells: the definition in plain Python, every source, and what is cheated over them."""

import datetime
import json
import math
from collections import defaultdict

import numpy as np
import pytest

import calibrant as cal
from cli.command import csv, run
from needs import need

RNG = np.random.default_rng(0)
N = 1200
P = RNG.random(N)
A, B = RNG.integers(3, size=N), RNG.choice(["x", "y"], N)
Y = (RNG.random(N) < np.clip(P + 0.15 * (A - 1), 0, 1)).astype(int)
W = RNG.integers(1, 4, N).astype(float)
CELLS = cal.Cells(A, B)
NAMED = cal.Cells("a", "b")


def gaps(u, z, w, *ids):
    """The weight and the sum of w (u - z) of each cell."""
    weight, residual = defaultdict(float), defaultdict(float)
    for u_i, z_i, w_i, *cell in zip(u, z, w, *ids, strict=True):
        weight[tuple(cell)] += w_i
        residual[tuple(cell)] += w_i * (u_i - z_i)
    return weight, residual


def slow(name, u, z, w, *ids):
    weight, residual = gaps(u, z, w, *ids)
    total = math.fsum(weight.values())
    if name == "ece":
        return math.fsum(map(abs, residual.values())) / total
    if name == "lin_ce":
        return math.fsum(r * r for r in residual.values()) / total**2
    if name == "mce":
        return max(abs(residual[c]) / weight[c] for c in weight)
    return math.sqrt(math.fsum(r * r / weight[c] for c, r in residual.items()) / total)


MEASURES = ("ece", "rmsce", "mce", "lin_ce")


def frame():
    return need("polars").DataFrame({"label": Y, "proba": P, "a": A, "b": B, "w": W})


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_source_has_the_definition(name, weighted, tmp_path):
    w = W if weighted else np.ones(N)
    known = slow(name, P, Y, w, A, B)
    given = {"sample_weight": W} if weighted else {}
    named = {"sample_weight": "w"} if weighted else {}
    found = [cal.evaluate(Y, P, bins=CELLS, measures=[name], **given)[name]]
    for data in (frame(), frame().lazy(), frame().to_pandas()):
        options = {"data": data, "bins": NAMED, "measures": [name], **named}
        found.append(cal.evaluate("label", "proba", **options)[name])
    frame().write_parquet(tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    found.append(cal.evaluate_file(path, bins=NAMED, measures=[name], **named)[name])
    monitor = cal.Monitor(by=["a", "b"])
    for part in (frame()[:500], frame()[500:]):
        time = datetime.datetime(2026, 1, 1 + len(part) % 2)
        monitor.update("label", "proba", data=part, time=time, **named)
    found.append(monitor.over_cells(measures=[name])[name])
    assert found == pytest.approx([known] * len(found), rel=1e-10)


def test_functions_of_one_number():
    assert cal.ece(Y, P, bins=CELLS) == pytest.approx(slow("ece", P, Y, np.ones(N), A, B))
    assert cal.ece(Y, P, bins=CELLS, norm="l2") == pytest.approx(
        slow("rmsce", P, Y, np.ones(N), A, B)
    )
    assert cal.lin_ce(Y, P, bins=CELLS) == pytest.approx(slow("lin_ce", P, Y, np.ones(N), A, B))


def test_classes():
    p, y = RNG.dirichlet(np.ones(3), N), RNG.integers(3, size=N)
    top, hit, one = p.max(1), p.argmax(1) == y, np.ones(N)
    assert cal.ece(y, p, bins=CELLS) == pytest.approx(slow("ece", top, hit, one, A, B))
    known = np.mean([slow("ece", p[:, r], y == r, one, A, B) for r in range(3)])
    assert cal.ece(y, p, bins=CELLS, notion="classwise") == pytest.approx(known)
    known = np.mean([slow("lin_ce", p[:, r], y == r, one, A, B) for r in range(3)])
    assert cal.classwise_ce(y, p, bins=CELLS) == pytest.approx(known)
    known = slow("ece", top, hit, one, A, B, p.argmax(1))
    assert cal.top_label_ece(y, p, bins=CELLS) == pytest.approx(known)
    # A vector's cell is its top class and its given cell.
    known = sum(slow("lin_ce", p[:, r], y == r, one, A, B, p.argmax(1)) for r in range(3))
    assert cal.lin_ce(y, p, bins=CELLS) == pytest.approx(known)


def test_dropped_rows_leave_their_cells():
    y = Y.astype(float)
    y[::7] = np.nan
    kept = ~np.isnan(y)
    found = cal.evaluate(y, P, bins=CELLS, missing="drop", measures=["ece"])["ece"]
    known = slow("ece", P[kept], Y[kept], np.ones(kept.sum()), A[kept], B[kept])
    assert found == pytest.approx(known)


def test_cells_of_equal_predictions_are_their_level_sets():
    p = np.round(P, 1)
    cells, levels = {"bins": cal.Cells(p)}, {"bins": cal.LevelSets()}
    for measure in ("ece", "lin_ce", "rmsce"):
        one, other = (cal.interval(Y, p, measure=measure, **each) for each in (cells, levels))
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)
        one, other = (cal.certify(Y, p, measure="ece", **each) for each in (cells, levels))
        assert one.upper == pytest.approx(other.upper)
    assert cal.noise_floor(Y, p, **cells).upper == cal.noise_floor(Y, p, **levels).upper
    assert cal.verdict(Y, p, **cells).verdict == cal.verdict(Y, p, **levels).verdict


def test_intervals_over_cells_hold_the_truth():
    held, chance = 0, np.clip(P + 0.15 * (A - 1), 0, 1)
    truth = slow("lin_ce", P, chance, np.ones(N), A, B)
    for seed in range(100):
        y = np.random.default_rng(seed).random(N) < chance
        held += truth in cal.interval(y, P, measure="lin_ce", bins=CELLS)
    assert held >= 90


def test_models_are_compared_and_checked_over_cells():
    found = cal.compare(Y, {"a": P, "b": P**1.5}, bins=CELLS, measures=["lin_ce"])
    assert found.values[0, 0] == pytest.approx(slow("lin_ce", P, Y, np.ones(N), A, B))
    assert cal.check(Y, P, at_most={"ece": 0.3}, bins=CELLS).verdict == "pass"


def test_tables_name_the_cells():
    for table in (
        cal.reliability(Y, P, bins=CELLS),
        cal.reliability("label", "proba", data=frame().lazy(), bins=NAMED),
    ):
        columns = table.columns()
        assert columns["cell"] == [f"{a}, {b}" for a in range(3) for b in "xy"]
        assert columns["n"] == [int(((a == A) & (b == B)).sum()) for a in range(3) for b in "xy"]
        with pytest.raises(cal.InputError, match="given cells overlap"):
            table.plot()
    bars = cal.reliability(Y, P, bins=CELLS, groups=np.arange(N) // 4).intervals()
    assert len(bars["n_effective"]) == 6


def test_the_command_takes_columns(tmp_path):
    path = csv(tmp_path / "rows.csv", {"label": Y, "proba": P, "a": A, "b": B})
    known = slow("ece", P, Y, np.ones(N), A, B)
    for verb in (["report"], ["check", "--max", "ece=0.5"], ["certify"]):
        done = run(verb[0], path, *verb[1:], "--bins", "cells:a,b", "--json")
        assert done.returncode == 0, done.stderr
        assert f"{known:.12f}"[:12] in done.stdout
    assert json.loads(done.stdout)["bins"] == "cells of a x b"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.Cells(), "needs arrays"),
        (lambda: cal.Cells("a", B), "needs arrays"),
        (lambda: cal.Cells(A, B[:5]), "one length"),
        (lambda: cal.Cells([1, None]), "no value in 1 row"),
        (lambda: cal.Cells(P[:, None]), "shape"),
        (lambda: cal.ece(Y, P, bins=cal.Cells(A[:5])), "for each of 1,200 rows; it has 5"),
        (lambda: cal.ece(Y, P, bins=NAMED), "names columns"),
        (lambda: cal.ece("label", "proba", data=frame(), bins=cal.Cells("q")), "'q'"),
        (lambda: cal.ece("label", "proba", data=frame().lazy(), bins=CELLS), "lazy frame"),
        (lambda: cal.evaluate(Y, P, bins=CELLS, by=A), "without by="),
        (
            lambda: cal.compare(
                Y,
                {"a": P, "b": P**2},
                bins=CELLS,
                ids={"y_true": range(N), "a": range(N), "b": range(N)},
            ),
            "ids=",
        ),
        (lambda: cal.check(Y, P, baseline=P, max_increase={"ece": 0.1}, bins=CELLS), "without"),
        (lambda: cal.ace(Y, P, bins=CELLS), "ranges of predictions"),
        (lambda: cal.hosmer_lemeshow(Y, P, bins=CELLS), "ranges of predictions"),
        (lambda: cal.Accumulator(bins=NAMED), "over_cells"),
        (lambda: cal.Monitor().over_cells(), "by="),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(cal.InputError, match=message):
        call()


# --- a leaderboard over cells, and how it is cheated ---------------------------------------------


def made_reviews(n=6000):
    """Reviews in cells (interval, number of reviews, lapses) with the true chance of recall."""
    rng = np.random.default_rng(7)
    cells = rng.integers(6, size=n), rng.integers(5, size=n), rng.integers(4, size=n)
    chance = np.clip(0.95 - 0.04 * cells[0] + 0.02 * cells[1] - 0.05 * cells[2], 0.05, 0.98)
    chance = np.clip(chance + rng.normal(0, 0.06, n), 0.02, 0.98)
    return cells, chance, (rng.random(n) < chance).astype(int)


def keeps_cells_even(y, cells):
    """Predictions that see earlier outcomes: what the sums of the row's cell lack, and the mean.

    So does RMSE-BINS-EXPLOIT of the srs-benchmark (open-spaced-repetition).
    """
    lacks, out, events = defaultdict(float), [], 0
    for seen, (z, *cell) in enumerate(zip(y, *cells, strict=True)):
        guess = events / seen if seen else 0.5
        out.append(min(1.0, max(0.0, lacks[tuple(cell)] + guess)))
        lacks[tuple(cell)] += z - out[-1]
        events += z
    return np.array(out)


def test_rmse_over_cells_is_cheated_and_what_is_not():
    ids, chance, y = made_reviews()
    cheat, cells = keeps_cells_even(y, ids), cal.Cells(*ids)
    rmse = [cal.ece(y, p, bins=cells, norm="l2") for p in (chance, cheat)]
    assert rmse[1] < rmse[0] / 3  # the cheat leads by far
    for measure in (cal.lin_ce, cal.atb, cal.log_loss, cal.brier_score):
        assert measure(y, cheat) > 2 * measure(y, chance)
    assert cal.log_loss(y, cheat) > 2
    # Cells that are fixed are cheated whatever the norm, by who sees outcomes ...
    assert cal.lin_ce(y, cheat, bins=cells) < cal.lin_ce(y, chance, bins=cells) / 3
    # ... and cells within bins of the predictions are not.
    both = [cal.Cells(*ids, np.floor(4 * p)) for p in (chance, cheat)]
    honest, own = (cal.lin_ce(y, p, bins=b) for p, b in zip((chance, cheat), both, strict=True))
    assert own > 3 * honest


def test_no_fixed_prediction_beats_the_truth_over_cells():
    """Theorem 3.1: of predictions that see no outcome the truth has the lowest expected LinCE."""
    rng = np.random.default_rng(1)
    chance, ids = rng.random(40), np.arange(40) % 7
    exact = (chance * (1 - chance)).sum() / 40**2
    y = rng.random((4000, 40)) < chance
    bins = cal.Cells(ids)
    mean = np.mean([cal.lin_ce(z, chance, bins=bins) for z in y[:500]])
    assert mean == pytest.approx(exact, rel=0.15)
    for other in (np.round(chance), chance**2, np.full(40, chance.mean())):
        bias = [((other - chance)[ids == c].sum()) ** 2 for c in range(7)]
        found = np.mean([cal.lin_ce(z, other, bins=bins) for z in y[:500]])
        assert found == pytest.approx(exact + sum(bias) / 40**2, rel=0.15)
