"""Numbers in forms that users have them in: half precision in any order, decimals, odd weights."""

from decimal import Decimal

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from every_engine import engine
from needs import need

Y = [0, 1, 1, 0]
DECIMALS = [Decimal(x) for x in ("0.2", "0.7", "0.9", "0.4")]


# --- float16 that is not in C order ---------------------------------------------------------------


def half_rows():
    rng = np.random.default_rng(1)
    return rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50).astype(np.float16)


def in_any_order():
    y, p = half_rows()
    return {
        "columns first": (y, np.asfortranarray(p)),
        "every second": (y[::2], np.asfortranarray(p)[::2]),
        "reversed": (y, p[:, ::-1]),
    }


@pytest.mark.parametrize("name", in_any_order())
@pytest.mark.parametrize("kernels", ["native", "numpy"])
def test_half_rows_in_any_order(name, kernels):
    y, p = in_any_order()[name]
    with engine(kernels):
        assert cal.evaluate(y, p).values == cal.evaluate(y, np.ascontiguousarray(p)).values
        assert cal.lin_ce(y, p) == cal.lin_ce(y, p.copy("C"))


def test_half_frames_and_half_tensors_turned_round():
    y, p = half_rows()
    expected = cal.evaluate(y, p).values
    assert cal.evaluate(y, need("pandas").DataFrame(p)).values == expected
    torch = need("torch")
    turned = torch.tensor(p.T.copy()).T
    assert not turned.is_contiguous() and turned.dtype == torch.float16
    assert cal.evaluate(y, turned).values == expected
    with engine("torch"):
        assert cal.ece(torch.tensor(y), turned) == pytest.approx(expected["ece"], rel=1e-12)


# --- decimals -------------------------------------------------------------------------------------


def decimal_columns():
    pandas, polars, arrow = need("pandas"), need("polars"), need("pyarrow")
    exact = pandas.ArrowDtype(arrow.decimal128(5, 2))
    return [
        DECIMALS,
        np.array(DECIMALS, dtype=object),
        pandas.Series(DECIMALS),
        pandas.Series(DECIMALS, dtype=exact),
        polars.Series(DECIMALS),
        arrow.array(DECIMALS),
        arrow.chunked_array([arrow.array(DECIMALS)]),
    ]


def test_decimals_in_memory_are_numbers():
    for column in decimal_columns():
        assert cal.ece(Y, column) == 0.25, type(column)
        assert cal.ece(Y, [0.2, 0.7, 0.9, 0.4], sample_weight=column) > 0
        assert cal.brier_score([Decimal(y) for y in Y], column) == pytest.approx(0.075)


def test_numbers_that_come_as_objects_are_numbers():
    pandas = need("pandas")
    p = [0.2, 0.7, 0.9, 0.4]
    for labels in (Y, [bool(y) for y in Y], [0, 1.0, True, Decimal(0)]):
        objects = np.array(labels, dtype=object)
        frame = pandas.DataFrame({"y": objects, "p": np.array(p, dtype=object)})
        assert cal.ece(objects, np.array(p, dtype=object)) == cal.ece(Y, p)
        assert cal.ece("y", "p", data=frame) == cal.ece(Y, p)
        assert cal.evaluate("y", "p", data=frame, missing="drop")["ece"] == cal.ece(Y, p)
    with pytest.raises(InputError, match="must be numbers"):
        cal.ece(np.array([0, 1, 10**400, 0], dtype=object), p)


def test_a_table_of_a_database_brought_here():
    duckdb = need("duckdb")
    there = duckdb.sql("SELECT * FROM (VALUES (0, 0.2), (1, 0.7), (1, 0.9), (0, 0.4)) t(y, p)")
    here = there.pl()
    assert str(here.schema["p"]).startswith("Decimal")
    assert cal.ece("y", "p", data=here) == cal.ece("y", "p", data=there) == 0.25
    assert cal.ece("y", "p", data=there.df()) == 0.25
    assert cal.ece("y", "p", data=there.to_arrow_table()) == 0.25


def test_decimals_with_gaps():
    polars = need("polars")
    y, p = (
        [Decimal(0), None, Decimal(1), Decimal(1)],
        [Decimal("0.2"), Decimal(1), None, Decimal(1)],
    )
    found = cal.evaluate(y, p, missing="drop")
    assert found["ece"] == pytest.approx(0.1)
    frame = polars.DataFrame({"y": y, "p": p})
    assert cal.evaluate("y", "p", data=frame, missing="drop")["ece"] == pytest.approx(0.1)
    with pytest.raises(InputError, match="must be numbers"):
        cal.ece([0, 1], np.array([Decimal("0.5"), "much"], dtype=object))


# --- weights that over- or underflow --------------------------------------------------------------

FACTORS = (1e160, 1e-200, 1e300, 1e-305)


def weighted(k=None):
    rng = np.random.default_rng(2)
    w = rng.random(80) + 0.1
    if k:
        return rng.integers(0, k, 80), rng.dirichlet(np.ones(k), 80), w
    p = rng.random(80)
    return (rng.random(80) < p).astype(int), p, w


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("factor", FACTORS)
def test_odd_weights_change_no_measure(k, factor):
    y, p, w = weighted(k)
    # Powers of two, so that the scale is all that differs.
    factor = 2.0 ** round(np.log2(factor))
    plain, odd = cal.evaluate(y, p, sample_weight=w), cal.evaluate(y, p, sample_weight=factor * w)
    assert any(said.startswith("weights divided by 2^") for said in odd.inferred)
    assert not any("divided" in said for said in plain.inferred)
    for name, value in plain.values.items():
        if name not in ("debiased_l2", "confidence_ce_corrected"):
            assert odd[name] == pytest.approx(value, rel=1e-12), name
    exact = cal.smooth_ece(y, p, sample_weight=w)
    assert cal.smooth_ece(y, p, sample_weight=factor * w) == pytest.approx(exact, rel=1e-12)
    uniform = {"noise": "uniform", "sigma": 0.1}
    assert cal.ls_ece(y, p, sample_weight=factor * w, **uniform) == pytest.approx(
        cal.ls_ece(y, p, sample_weight=w, **uniform), rel=1e-12
    )


def test_odd_weights_of_tensors():
    torch = need("torch")
    y, p, w = weighted()
    with engine("torch"):
        found = cal.lin_ce(torch.tensor(y), torch.tensor(p), sample_weight=torch.tensor(1e-200 * w))
    assert found == pytest.approx(cal.lin_ce(y, p, sample_weight=w), rel=1e-12)


@pytest.mark.parametrize("factor", FACTORS)
def test_odd_weights_of_parts_are_refused(factor):
    """Sums of parts that were scaled apart would not add up."""
    y, p, w = weighted()
    frame = need("polars").DataFrame({"y": y, "p": p, "w": factor * w})
    with pytest.raises(InputError, match="multiply all weights by one number"):
        cal.Accumulator().update(y, p, sample_weight=factor * w)
    with pytest.raises(InputError, match="multiply all weights by one number"):
        cal.lin_ce("y", "p", sample_weight="w", data=frame.lazy())
    monitor = cal.Monitor(every="1d")
    with pytest.raises(InputError, match="multiply all weights by one number"):
        monitor.update(y, p, time=np.datetime64("2026-01-01"), sample_weight=factor * w)


def test_weights_that_are_no_numbers_are_named_as_before():
    y, p, w = weighted()
    w[3] = np.inf
    with pytest.raises(InputError, match=r"sample_weight\[3\] is inf"):
        cal.ece(y, p, sample_weight=w)
    with pytest.raises(InputError, match="at least one must be positive"):
        cal.ece(y, p, sample_weight=0 * p)
