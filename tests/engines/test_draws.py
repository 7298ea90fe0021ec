"""Passes over many drawn samples: compiled ones and NumPy's give the same, and what they say."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import binom

import calibrant as cal
from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._engines.arrays import draws
from calibrant._measures import cell_formulas
from calibrant._measures.catalogue import entry_of
from calibrant._measures.ordered import sweep_bins, sweep_error
from every_engine import each_array_engine, engine
from needs import compiled_only

CASES = (
    "plain",
    "crowded",
    "empty cells",
    "one cell",
    "one row",
    "weights",
    "all alike",
    "falling",
)


def cells(case, n_draws=12):
    """Weights and targets of cells, (draws, cells)."""
    rng = np.random.default_rng(len(case))
    size = 1 if case in ("one cell", "one row") else 60
    rows = rng.integers(1, 9, (n_draws, size))
    if case == "crowded":
        rows[:, 7] = 500
    if case == "empty cells":
        rows *= rng.random(rows.shape) < 0.4
        rows[:, 0] = 0
        rows[:, 3] = 1
    if case == "one row":
        rows[:] = 1
    rates = np.sort(rng.random(size))[:: -1 if case == "falling" else 1]
    hits = rng.binomial(rows, np.clip(rates, 0, 1)).astype(float)
    w = rows.astype(float)
    if case == "all alike":
        hits = np.where(np.arange(n_draws)[:, None] % 2, w, 0.0)
    if case == "weights":
        factor = rng.random(w.shape)
        w, hits = w * factor, hits * factor
    return w, hits


def on(name, function, *given):
    with engine(name):
        return function(*given)


@compiled_only
@pytest.mark.parametrize("case", CASES)
def test_isotonic_fits(case):
    w, wz = cells(case)
    fast = on("native", draws.fit_isotonic, w, wz)
    np.testing.assert_allclose(fast, on("numpy", draws.fit_isotonic, w, wz), rtol=1e-12, atol=1e-14)
    some = w[0] > 0
    fit = isotonic_regression(wz[0, some] / w[0, some], weights=w[0, some]).x
    np.testing.assert_allclose(fast[0, some], fit, rtol=1e-12, atol=1e-14)
    assert (fast[w == 0] == 0).all()


@compiled_only
@pytest.mark.parametrize("case", CASES)
def test_rising_bins(case):
    w, wz = cells(case)
    fast = on("native", draws.rising_bins, w, wz)
    slow = on("numpy", draws.rising_bins, w, wz)
    np.testing.assert_array_equal(fast[w > 0], slow[w > 0])
    for d, some in enumerate(w > 0):
        levels = np.zeros((1, int(some.sum()), len(FIELDS)))
        for name, column in (("n", w), ("sum_w", w), ("sum_wz", wz)):
            levels[0, :, FIELDS.index(name)] = column[d, some]
        table = sweep_bins(BinTable(levels, has_squares=False))
        np.testing.assert_allclose(
            np.bincount(fast[d, some], wz[d, some], table.n_bins), table.sum_wz[0], atol=1e-9
        )


@compiled_only
@pytest.mark.parametrize("case", ["plain", "empty cells", "weights", "one row"])
def test_views_are_read_as_they_are(case):
    w, wz = cells(case)
    turned, wide = np.asfortranarray(wz), np.broadcast_to(w[0], wz.shape)
    for function in (draws.fit_isotonic, draws.rising_bins):
        plain = on("native", function, np.array(wide), np.array(wz))
        np.testing.assert_array_equal(on("native", function, wide, turned), plain)


@compiled_only
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("n_draws", [1, 300])
def test_outcomes_are_the_same_numbers(many, n_draws):
    rng = np.random.default_rng(3)
    share = rng.dirichlet(np.ones(40))
    rows = rng.multinomial(5000 if many else 400, share, n_draws)
    rates = np.concatenate([[0.0, 1.0, 1e-9], rng.random(37)])
    drawn = draws.Outcomes(rows, n_draws, (4, 3))
    first = on("native", drawn.draw, rates)
    np.testing.assert_array_equal(
        on("numpy", draws.Outcomes(rows, n_draws, (4, 3)).draw, rates), first
    )
    np.testing.assert_array_equal(drawn.draw(rates), first)
    assert (first[:, 0] == 0).all() and (first[:, 1] == rows[:, 1]).all()
    assert (first <= rows).all() and (first >= 0).all()
    # The same luck: outcomes rise with their rates, if one number a row decides.
    if not many:
        assert (drawn.draw(np.minimum(rates + 0.1, 1.0)) >= first).all()


@each_array_engine
@pytest.mark.parametrize("n", [3, 4000])
def test_outcomes_follow_the_binomial(engine_name, n):
    """Mean and variance of 4,000 draws, to 5 standard errors, one by one and as binomials."""
    rows, rates = np.array([[n, 1, n // 2]]), np.array([0.3, 0.02, 0.999])
    hits = on(engine_name, draws.Outcomes(rows, 4000, (1, 1)).draw, rates)
    variance = rows[0] * rates * (1 - rates)
    assert (np.abs(hits.mean(axis=0) - rows[0] * rates) < 5 * np.sqrt(variance / 4000)).all()
    # Of a variance the error is that of the fourth moment.
    fourth = variance * (1 + 3 * (rows[0] - 2) * rates * (1 - rates)) - variance**2
    assert (np.abs(hits.var(axis=0) - variance) < 5 * np.sqrt(fourth / 4000) + 1e-9).all()


def test_outcomes_of_many_rows_have_binomial_quantiles():
    """Cells of large variance beside small and certain ones: at quantiles of the binomial law the
    shares of 40,000 draws are right to 5 standard errors, and cells are independent.
    """
    rows, rates = np.array([[2_000, 90_000, 5, 10**7]]), np.array([0.3, 0.0015, 0.5, 1.0])
    n_draws = 40_000
    hits = draws.Outcomes(rows, n_draws, (8, 1)).draw(rates)
    assert (hits == np.rint(hits)).all()
    assert (hits[:, 3] == 10**7).all()
    for j in range(3):
        law = binom(rows[0, j], rates[j])
        for q in (0.001, 0.025, 0.5, 0.975, 0.999):
            chance = law.cdf(law.ppf(q))
            error = np.sqrt(chance * (1 - chance) / n_draws)
            assert abs((hits[:, j] <= law.ppf(q)).mean() - chance) <= 5 * error + 1e-9, (j, q)
    assert (np.abs(np.corrcoef(hits[:, :3].T) - np.eye(3)) < 5 / np.sqrt(n_draws)).all()
    # And of cells whose numbers of rows differ between draws.
    drawn = np.tile(rows, (n_draws, 1))
    again = draws.Outcomes(drawn, n_draws, (8, 1)).draw(rates)
    assert (again <= drawn).all()
    variance = rows[0] * rates * (1 - rates)
    error = 5 * np.sqrt(variance / n_draws) + 1e-9
    assert (np.abs(again.mean(axis=0) - rows[0] * rates) < error).all()


@each_array_engine
@pytest.mark.parametrize("large", [False, True])
def test_outcomes_of_draws_of_more_and_fewer_rows(engine_name, large):
    """Each draw has a number of rows of its own; the later ones, more than the first. Beside cells
    of large variance the others have such numbers too.
    """
    n_draws = 2_000
    rng = np.random.default_rng(6)
    rows = (
        np.array([3, 20, 5]) + rng.integers(0, 5, (n_draws, 3)) * (np.arange(n_draws) > 0)[:, None]
    )
    rates = np.array([0.3, 0.2, 0.7])
    if large:
        rows, rates = np.column_stack([rows, np.full(n_draws, 5_000)]), np.append(rates, 0.4)
    hits = on(engine_name, draws.Outcomes(rows, n_draws, (2, 7)).draw, rates)
    assert (hits >= 0).all() and (hits <= rows).all()
    errors = (hits - rows * rates) / np.sqrt(rows * rates * (1 - rates))
    assert (np.abs(errors.mean(axis=0)) < 5 / np.sqrt(n_draws)).all()
    assert (np.abs(errors.std(axis=0) - 1) < 0.1).all()
    # Draws are independent: none counts the numbers of the next.
    assert (np.abs((errors[:-1] * errors[1:]).mean(axis=0)) < 5 / np.sqrt(n_draws)).all()


@compiled_only
@pytest.mark.parametrize("k", [2, 3, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_labels_are_those_of_both_engines(k, weighted):
    rng = np.random.default_rng(k)
    rates = rng.dirichlet(np.full(k, 0.3), 500)
    rates[:3] = np.eye(k)[[0, 1, k - 1]]
    labels = on("native", draws.draw_labels, rates, 90, (1, 6))
    again = on("numpy", draws.draw_labels, rates, 90, (1, 6))
    np.testing.assert_array_equal(labels, again)
    assert (labels[:, :3] == [0, 1, k - 1]).all()
    shares = np.stack([(labels == r).mean(axis=0) for r in range(k)], axis=1)
    off = np.abs(shares - rates) - 5 * np.sqrt(rates * (1 - rates) / 90)
    assert off.max() < 0.05
    index = rng.integers(-1, 30, (500, k)).astype(np.int32)
    weights = rng.random(500) if weighted else None
    given = (labels, index, 30, weights)
    fast = on("native", draws.count_labels, *given)
    np.testing.assert_allclose(fast, on("numpy", draws.count_labels, *given), rtol=1e-12)
    w = np.ones(500) if weights is None else weights
    slow = np.zeros(30)
    for i in range(500):
        if index[i, labels[7, i]] >= 0:
            slow[index[i, labels[7, i]]] += w[i]
    np.testing.assert_allclose(fast[7], slow, rtol=1e-12)


def sums_of(case):
    w, wz = cells(case)
    u = np.linspace(0.001, 0.999, w.shape[1])
    return SimpleNamespace(
        u=u,
        w=w,
        wu=w * u,
        wz=wz,
        wz2=wz,
        once=lambda make: make(u),
        of_weights=lambda make: make(sums_of(case), w),
        rising_bins=lambda: draws.rising_bins(w, wz),
        isotonic=lambda: draws.fit_isotonic(w, wz),
    )


@pytest.mark.parametrize("case", CASES)
def test_sweeps_of_draws_are_sweeps(case):
    sums = sums_of(case)
    np.testing.assert_allclose(
        cell_formulas.sweep_errors(sums),
        cell_formulas.each_draw(sums, sweep_error),
        rtol=1e-12,
        atol=1e-15,
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("cells_", [128, 512])
def test_the_width_of_a_smooth_error_is_where_it_crosses(case, cells_):
    """Against a bisection of the definition, by a sum over cosines."""
    sums = sums_of(case)
    total, frequencies = sums.w.sum(axis=1), np.arange(cells_ + 1)
    smoothed = cell_formulas._Smoothed(sums, sums.wz - sums.wu, total, cells_)
    found = smoothed.fixed_point(np.full(len(total), 0.05))
    deposit = cell_formulas._UNIT_DEPOSITS[cells_](sums.u)
    mass = (deposit @ (sums.wz - sums.wu).T).T
    waves = np.cos(np.pi * np.outer(frequencies, frequencies) / cells_)
    cosines = mass @ waves
    cosines[:, 1:] *= 2.0
    ends = np.ones(cells_ + 1)
    ends[[0, -1]] = 0.5

    def error(width, d):
        damped = cosines[d] * np.exp(-0.5 * (np.pi * frequencies * width) ** 2)
        return float((np.abs(damped @ waves) * ends).sum()) / (cells_ * total[d])

    for d in range(3):
        low, high = 0.5 / cells_, 1.0
        for _ in range(40):
            width = np.sqrt(low * high)
            low, high = (width, high) if error(width, d) > width else (low, width)
        assert found[d] == pytest.approx(low, rel=2e-4), (case, d)


def same(first, second):
    for mine, theirs in zip(first.estimates, second.estimates, strict=True):
        for what in ("low", "high", "estimate"):
            a, b = getattr(mine.interval, what), getattr(theirs.interval, what)
            assert a == pytest.approx(b, rel=1e-9, abs=1e-12), (mine.name, what)
        if entry_of(mine.name).is_ranking:
            assert mine.noise_floor is theirs.noise_floor is None, mine.name
            continue
        assert mine.noise_floor.upper == pytest.approx(theirs.noise_floor.upper, rel=1e-9)


def rows_of(shape, n):
    rng = np.random.default_rng(8)
    p = rng.random(n) if shape == "binary" else rng.dirichlet(np.ones(4), n)
    return rng.integers(0, 2 if shape == "binary" else 4, n), p


@pytest.mark.parametrize("shape", ["binary", "multiclass"])
def test_a_seed_gives_the_same_in_any_number_of_threads(shape, monkeypatch):
    """Of all measures of fine cells and of bins, which threads share out between them."""
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(cal.evaluate(*rows_of(shape, 1100), uncertainty=True, n_resamples=50))
    same(*found)


@compiled_only
@pytest.mark.parametrize("shape", ["binary", "multiclass"])
def test_a_seed_gives_the_same_without_a_compiler(shape):
    """Of all measures but a sweep, which NumPy makes draw by draw: `test_rising_bins` has both."""
    names = [m.name for m in cal.catalogue(shape) if not (m.on_request or m.soft_only)]
    names.remove("sweep_ece")
    found = []
    for name in ("native", "numpy"):
        with engine(name):
            found.append(
                cal.evaluate(*rows_of(shape, 60), uncertainty=True, n_resamples=50, measures=names)
            )
    same(*found)


def test_a_comparison_is_the_same_in_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(9)
    p = {name: rng.random(1100) for name in "abc"}
    y = (rng.random(1100) < p["a"]).astype(int)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(cal.compare(y, p, measures=["ece", "brier"], n_resamples=120, bin_counts=(5,)))
    assert found[0].to_json() == found[1].to_json()


@each_array_engine
def test_numbers_are_those_of_the_generator(engine_name):
    for size in (1, 7, 64):
        bits, twin = np.random.SFC64((size, 2)), np.random.SFC64((size, 2))
        for _ in range(2):  # the second call goes on where the first has ended
            raw = twin.random_raw((size + 1) // 2)
            halves = np.stack([raw & 0xFFFFFFFF, raw >> 32], axis=1).ravel()[:size]
            numbers = on(engine_name, draws._numbers, bits, (1, size))
            np.testing.assert_array_equal(numbers[0], halves >> 1)


@each_array_engine
def test_tables_of_outcomes_are_binomial(engine_name):
    """One number a cell: each outcome as often as its chance says, cells of 0 rows included."""
    rows = np.array([0, 1, 2, 30, 0, 400, 5, 5, 0])
    rates = np.array([0.5, 0.3, 0.5, 0.1, 1.0, 0.97, 0.0, 1.0, 0.2])
    hits = on(engine_name, draws._binomials, rows, rates, 5000, (8,))
    numbers = draws._numbers(np.random.SFC64((8,)), hits.shape) / 2.0**31
    for c, (n, rate) in enumerate(zip(rows, rates, strict=True)):
        # The least number of outcomes whose chance of no more is above the number drawn.
        through = binom.cdf(np.arange(n + 1), n, rate)
        slow = (through[None, :-1] <= numbers[:, c, None]).sum(axis=1)
        assert (hits[:, c] == slow).mean() > 0.999, c  # chances are rounded to 31 bits
        assert np.abs(hits[:, c] - slow).max() <= 1
