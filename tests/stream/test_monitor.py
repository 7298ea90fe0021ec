"""A Monitor's windows are the Accumulators of their rows, whoever wrote them and in what order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, UnknownOption
from monitored import (
    BEGIN,
    DAY,
    LABELS,
    OUTCOMES,
    REPORTS,
    ROWS,
    SECONDS,
    STREAMS,
    WEIGHTS,
    N,
    counts,
    states,
)
from needs import need


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("in_order", [True, False])
def test_each_window_is_the_accumulator_of_its_rows(kind, in_order):
    y, p = STREAMS[kind]
    order = np.argsort(SECONDS) if in_order else np.arange(N)
    y, p, w, seconds = y[order], p[order], WEIGHTS[order], SECONDS[order]
    monitor = cal.Monitor(every="1d", measures="all")
    monitor.update(y, p, time=seconds, sample_weight=w)
    assert list(monitor.windows()) == [BEGIN + timedelta(days=j) for j in range(5)]
    for start, found in monitor.windows().items():
        rows = (seconds >= start.timestamp()) & (seconds < start.timestamp() + DAY)
        alone = cal.Accumulator().update(y[rows], p[rows], sample_weight=w[rows])
        for name, array in alone.packed().items():
            np.testing.assert_array_equal(found.packed()[name], array, err_msg=name)
    whole = cal.Accumulator().update(y, p, sample_weight=w).evaluate().values
    assert monitor.total().evaluate().values == pytest.approx(whole, rel=1e-9, abs=1e-12)
    assert monitor.n_rows == N


@pytest.mark.parametrize(
    ("every", "moment", "start"),
    [
        ("1d", "2026-01-05T23:59:59.999999", "2026-01-05"),
        ("1d", "2026-01-06T00:00:00", "2026-01-06"),
        ("1d", "2026-01-06T00:30:00+01:00", "2026-01-05"),
        ("1h", "2026-01-05T10:59:59", "2026-01-05T10:00"),
        ("15m", "2026-01-05T10:44:59", "2026-01-05T10:30"),
        ("15min", "2026-01-05T10:45:00", "2026-01-05T10:45"),
        (timedelta(hours=6), "2026-01-05T11:00", "2026-01-05T06:00"),
        (90, "2026-01-05T00:03:01", "2026-01-05T00:03:00"),
        (0.5, "2026-01-05T00:00:00.700", "2026-01-05T00:00:00.500"),
        ("1d", "1969-12-31T23:59:59", "1969-12-31"),
        ("7d", "1970-01-07T12:00", "1970-01-01"),
    ],
)
def test_windows_are_aligned_to_the_epoch_in_utc(every, moment, start):
    monitor = cal.Monitor(every=every).update([0, 1], [0.2, 0.7], time=moment)
    assert list(monitor.windows()) == [datetime.fromisoformat(start).replace(tzinfo=UTC)]


def test_the_text_of_a_width_is_a_width():
    for value in ("1d", "24h", "90m", "0.25s", 0.000001, timedelta(days=2, hours=1), 86_400.0):
        width = cal.Monitor(every=value).every
        assert cal.Monitor(every=str(width)).every == width
    assert str(cal.Monitor(every="24h").every) == "1d"


def test_late_rows_go_to_their_own_window():
    monitor = cal.Monitor(every="1h")
    monitor.update([1], [0.9], time="2026-01-05T10:05")
    monitor.update([1], [0.8], time="2026-01-05T12:00")
    monitor.update([0, 0], [0.1, 0.3], time="2026-01-05T10:59")
    assert [stream.n_rows for stream in monitor.windows().values()] == [3, 1]


def test_the_windows_handed_out_are_copies():
    monitor = cal.Monitor().update([0, 1], [0.2, 0.7], time=BEGIN)
    monitor.windows()[BEGIN].update([1], [0.5])
    monitor.total().update([1], [0.5])
    assert monitor.n_rows == 2
    assert monitor.evaluate()[BEGIN].n == 2


def test_a_window_is_small_unless_told():
    for y, p in STREAMS.values():
        arrays = cal.Monitor().update(y, p, time=0).total().packed()
        assert sum(array.nbytes for array in arrays.values()) < 1300
    rule = cal.EqualWidth(15)
    some = cal.Monitor(measures=["ece", "lin_ce"], bins=rule).update(OUTCOMES, REPORTS, time=0)
    expected = cal.lin_ce(OUTCOMES, REPORTS, bins=rule)
    assert some.evaluate()["1970-01-01"].values["lin_ce"] == pytest.approx(expected, rel=1e-12)
    nearly = cal.Monitor(measures=["ks_error"], approximate=True)
    nearly.update(OUTCOMES, REPORTS, time=0)
    assert nearly.evaluate()["1970-01-01"].values["ks_error"] > 0
    assert any("approximate, from 2526 cells" in note for note in nearly.evaluate().notes)
    with pytest.raises(InputError, match="'ks_error' needs the rows"):
        cal.Monitor(measures=["ks_error"]).update(OUTCOMES, REPORTS, time=0)
    assert (
        "smooth_ece"
        in cal.Monitor(measures="all").update(OUTCOMES, REPORTS, time=0).total().evaluate()
    )


def test_a_measure_that_windows_do_not_hold_is_refused():
    monitor = cal.Monitor().update(OUTCOMES, REPORTS, time=0)
    for name in ("smooth_ece", "ls_ece", "ks_error", "lin_ce"):
        with pytest.raises(InputError, match=f"has sums only for .* not for '{name}'"):
            monitor.evaluate(measures=[name])


@pytest.mark.parametrize("in_order", [True, False])
def test_bad_input_in_one_window_leaves_all_as_they_were(in_order):
    seconds = np.sort(SECONDS) if in_order else SECONDS
    monitor = cal.Monitor().update(OUTCOMES, REPORTS, time=seconds)
    before = states(monitor)
    bad = REPORTS.copy()
    bad[[1700, 2900]] = np.nan, 7.0
    with pytest.raises(InputError, match=r"y_proba\[1700\]"):
        monitor.update(OUTCOMES, bad, time=seconds)
    with pytest.raises(InputError, match=r"y_true\[2999\]"):
        monitor.update(np.append(OUTCOMES[:-1], 3), REPORTS, time=seconds)
    with pytest.raises(InputError, match=r"sample_weight\[5\]"):
        monitor.update(
            OUTCOMES, REPORTS, time=seconds, sample_weight=np.where(np.arange(N) == 5, -1.0, 1.0)
        )
    with pytest.raises(InputError, match="column"):
        monitor.update(LABELS, ROWS, time=seconds)
    with pytest.raises(InputError, match="column"):
        monitor.update(LABELS, ROWS, time="2031-01-01")  # a window of its own changes nothing
    assert states(monitor) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": "1w-xyz"}, "a week starts on mon, tue, wed, thu, fri, sat, sun"),
        ({"every": "1M"}, "Months and years differ in length"),
        ({"every": "fortnight"}, "not a window width"),
        ({"every": None}, "timedelta"),
        ({"every": 0}, "above 0"),
        ({"every": -1}, "above 0"),
        ({"every": float("nan")}, "above 0"),
        ({"keep": 0}, "keep must be"),
        ({"keep": 1.5}, "keep must be"),
        ({"measures": ["brer"]}, "did you mean 'brier'"),
        ({"measures": "ece"}, "list of names"),
        ({"bins": cal.Quantile(10)}, "fixed in advance"),
        ({"missing": "ignore"}, "missing="),
    ],
)
def test_options_of_a_monitor_are_checked(options, said):
    with pytest.raises(InputError, match=said):
        cal.Monitor(**options)


def test_typing_mistakes_are_caught():
    with pytest.raises(UnknownOption, match="did you mean 'every'"):
        cal.Monitor(evry="1d")
    with pytest.raises(UnknownOption, match="did you mean 'sample_weight'"):
        cal.Monitor().update([0], [0.2], time=0, sample_weights=[1])


@pytest.mark.parametrize(
    ("measures", "stream", "said"),
    [
        (["classwise_ece"], "binary", "not defined for binary"),
    ],
)
def test_what_no_window_will_show_is_said_at_the_first_rows(measures, stream, said):
    monitor = cal.Monitor(measures=measures)
    with pytest.raises(InputError, match=said):
        monitor.update(*STREAMS[stream], time=0)
    assert monitor.windows() == {}


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (["ece", "sweep_ece"], r"measures, or approximate=True for its value from \d+ cells$"),
        (["lin_ce"], r"or a rule for all measures, such as bins=EqualWidth\(15\), or approximate="),
        (["tace"], "'tace' needs the rows, which a Monitor does not keep: drop it"),
    ],
)
def test_what_no_window_ever_shows_is_said_at_once(measures, said):
    with pytest.raises(InputError, match=said):
        cal.Monitor(measures=measures)


def test_keep_puts_the_oldest_together_whatever_the_order():
    hours = np.arange(12)
    y, p = OUTCOMES[:12], REPORTS[:12]

    def held(monitor):
        return [s.n_rows for s in monitor.windows().values()], monitor.earlier.n_rows

    for seed in range(8):
        order = np.random.default_rng(seed).permutation(12)
        one, writers = cal.Monitor(every="1h", keep=4), []
        for part in np.array_split(order, 5):
            one.update(y[part], p[part], time=hours[part] * 3600)
            writer = cal.Monitor(every="1h", keep=4)
            writers.append(writer.update(y[part], p[part], time=hours[part] * 3600))
        merged = cal.Monitor(every="1h", keep=4)
        for writer in writers:
            merged.merge(writer)
        for monitor in (one, merged):
            assert held(monitor) == ([1, 1, 1, 1], 8)
            assert next(iter(monitor.windows())) == datetime(1970, 1, 1, 8, tzinfo=UTC)
            assert monitor.n_rows == 12
            assert monitor.earlier.evaluate()["ece"] == pytest.approx(
                cal.ece(y[:8], p[:8]), rel=1e-12
            )
    assert any("8 rows from 1970-01-01T00" in note for note in one.evaluate().notes)


def test_late_rows_older_than_what_is_kept_are_not_lost():
    monitor = cal.Monitor(every="1h", keep=2)
    monitor.update([0, 1, 1], [0.2, 0.7, 0.9], time=[0, 3600, 7200])
    monitor.update([1], [0.4], time=-5 * 3600)
    assert [s.n_rows for s in monitor.windows().values()] == [1, 1]
    assert monitor.earlier.n_rows == 2 and monitor.total().n_rows == 4


def test_between_takes_whole_windows():
    monitor = cal.Monitor(every="1d").update(OUTCOMES, REPORTS, time=SECONDS)
    found = monitor.between("2026-01-06", datetime(2026, 1, 8))
    rows = (BEGIN.timestamp() + DAY <= SECONDS) & (BEGIN.timestamp() + 3 * DAY > SECONDS)
    assert found.n_rows == rows.sum()
    assert found.evaluate()["ece"] == pytest.approx(cal.ece(OUTCOMES[rows], REPORTS[rows]))
    assert monitor.between(None, "2026-01-06").n_rows == monitor.windows()[BEGIN].n_rows
    assert monitor.between("2026-01-06", None).n_rows == N - monitor.windows()[BEGIN].n_rows
    assert monitor.between("2031-01-06", None).n_rows == 0
    with pytest.raises(InputError, match=r"2026-01-06T00:00:00.* or 2026-01-07T00:00:00"):
        monitor.between("2026-01-06T12:00", None)
    with pytest.raises(InputError, match="start must lie before stop"):
        monitor.between("2026-01-06", "2026-01-06")
    with pytest.raises(InputError, match="stop must be one time"):
        monitor.between("2026-01-06", ["2026-01-06"])


def test_between_does_not_cut_what_is_held_together():
    monitor = cal.Monitor(every="1d", keep=2).update(OUTCOMES, REPORTS, time=SECONDS)
    assert monitor.between("2026-01-05", None).n_rows == N
    assert monitor.between(None, "2026-01-08").n_rows == monitor.earlier.n_rows
    assert monitor.between("2026-01-08", None).n_rows == N - monitor.earlier.n_rows
    assert monitor.between(None, "2026-01-05").n_rows == 0
    with pytest.raises(InputError, match="were merged into one"):
        monitor.between("2026-01-06", None)
    with pytest.raises(InputError, match="were merged into one"):
        monitor.between(None, "2026-01-07")


def columns_of(n=N):
    days = [BEGIN + timedelta(seconds=s - BEGIN.timestamp()) for s in SECONDS[:n]]
    table = {"label": OUTCOMES[:n], "p": REPORTS[:n], "w": WEIGHTS[:n], "ts": days}
    return {**table, "text": [moment.isoformat() for moment in days]}


FRAMES = {
    "pandas": lambda data: need("pandas").DataFrame(data),
    "polars": lambda data: need("polars").DataFrame(data),
    "pyarrow": lambda data: need("pyarrow").table(data),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("column", ["ts", "text"])
def test_monitor_reads_columns_of_a_frame(library, column):
    frame = FRAMES[library](columns_of())
    found = cal.Monitor().update("label", "p", time=column, sample_weight="w", data=frame)
    moments = np.array([m.replace(tzinfo=None) for m in columns_of()["ts"]], dtype="datetime64[us]")
    wanted = cal.Monitor().update(OUTCOMES, REPORTS, time=moments, sample_weight=WEIGHTS)
    assert states(found) == states(wanted)


@pytest.mark.parametrize("library", FRAMES)
def test_nulls_of_a_frame_are_counted_in_their_window(library):
    data = columns_of(6) | {"p": [0.1, None, 0.3, 0.4, None, 0.6]}
    data["ts"] = [BEGIN + timedelta(days=j) for j in (0, 0, 1, 1, 2, 2)]
    frame = FRAMES[library](data)
    monitor = cal.Monitor(missing="drop").update("label", "p", time="ts", data=frame)
    assert [(s.n_rows, s.n_missing) for s in monitor.windows().values()] == [(1, 1), (2, 0), (1, 1)]
    with pytest.raises(InputError, match="missing"):
        cal.Monitor().update("label", "p", time="ts", data=frame)


def test_names_of_columns_are_checked():
    frame = need("pandas").DataFrame(columns_of(5))
    with pytest.raises(InputError, match="did you mean 'text'"):
        cal.Monitor().update("label", "p", time="tex", data=frame)
    with pytest.raises(InputError, match="as a datetime"):
        cal.Monitor().update("label", "p", time="2026-01-05", data=frame)
    one = cal.Monitor().update("label", "p", time=BEGIN, data=frame)
    assert list(one.windows()) == [BEGIN]


def test_lazy_frames_are_told_what_to_do():
    lazy = need("polars").DataFrame(columns_of()).lazy()
    with pytest.raises(InputError, match=r"collect\(\).*by='day'"):
        cal.Monitor().update("label", "p", time=SECONDS, data=lazy)
    # A column of times is cut by the engine (test_lazy_windows.py).
    assert cal.Monitor().update("label", "p", time="ts", data=lazy).n_rows == lazy.collect().height


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_a_lazy_frame_of_one_time_is_summed_where_it_is(missing):
    polars = need("polars")
    data = columns_of()
    if missing == "drop":
        data["p"] = [None if j % 7 == 0 else p for j, p in enumerate(data["p"])]
    lazy = polars.DataFrame(data).lazy()
    found = cal.Monitor(missing=missing).update("label", "p", time=BEGIN, data=lazy)
    eager = cal.Monitor(missing=missing).update("label", "p", time=BEGIN, data=lazy.collect())
    assert counts(found) == counts(eager)
    assert found.n_missing == eager.n_missing == (429 if missing == "drop" else 0)
    assert found.evaluate().latest.values == pytest.approx(eager.evaluate().latest.values)


def test_tensors_may_span_windows():
    torch = need("torch")
    found = cal.Monitor().update(
        torch.tensor(LABELS), torch.tensor(ROWS), time=torch.tensor(SECONDS)
    )
    assert states(found) == states(cal.Monitor().update(LABELS, ROWS, time=SECONDS))
