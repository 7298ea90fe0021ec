"""`calibrant monitor`: states that grow, alarms that a scheduler sees, the page over time."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import CLASSES, LABELS, ROWS, N, csv, run

import calibrant as cal


def log(path, days, factor=1.0, n=700):
    """Rows of some days, whose outcomes are rarer than predicted by a factor."""
    rng = np.random.default_rng(days[0])
    p = np.round(rng.beta(0.5, 3, (len(days), n)), 5)
    y = (rng.random(p.shape) < factor * p).astype(int)
    at = [f"2026-01-{day:02d}T{rng.integers(24):02d}:30:00" for day in days for _ in range(n)]
    return csv(path, {"at": at, "label": y.ravel(), "p": p.ravel()})


@pytest.fixture
def state(tmp_path):
    path = tmp_path / "days.state"
    calm = log(tmp_path / "calm.csv", (5, 6, 7))
    done = run("monitor", path, "--update", calm, "--time", "at", "--alarm")
    assert done.returncode == 0, done.stderr
    assert "2,100 rows added" in done.stderr and "2026-01-07  700" in done.stdout
    return path


class TestUpdates:
    def test_is_what_a_monitor_by_hand_holds(self, state, tmp_path):
        from calibrant import Monitor

        text = np.genfromtxt(
            tmp_path / "calm.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
        )
        by_hand = Monitor().update(text["label"], text["p"], time=list(text["at"]))
        mine, theirs = Monitor.load(state).evaluate(), by_hand.evaluate()
        assert mine.to_dict() == theirs.to_dict()

    def test_an_alarm_ends_with_1(self, state, tmp_path):
        bad = log(tmp_path / "bad.csv", (8,), 0.5)
        done = run("monitor", state, "--update", bad, "--time", "at", "--alarm")
        assert done.returncode == 1 and "alarm: by 2026-01-08" in done.stdout
        assert run("monitor", state).returncode == 0  # only if asked for
        assert run("monitor", state, "--alarm", "--json").returncode == 1

    @pytest.mark.parametrize("options", [(), ("--groups", "g"), ("--weight", "w")])
    def test_dropped_rows_are_counted_in_their_window(self, tmp_path, options):
        """As a monitor by hand counts them, and rows without a time by themselves."""
        rng = np.random.default_rng(1)
        days = np.repeat([1, 2, 3], 60)
        at = [f"2026-01-{day:02d}T10:00:00Z" for day in days]
        p = rng.random(180)
        y = (rng.random(180) < p).astype(int)
        gaps, timeless = [5, 70, 71, 150], [8, 70]
        times = ["" if i in timeless else time for i, time in enumerate(at)]
        predictions = ["" if i in gaps else f"{each!r}" for i, each in enumerate(p.tolist())]
        rows = {"at": times, "label": y, "p": predictions, "g": np.arange(180) // 2, "w": 1 + p}
        log, path = csv(tmp_path / "log.csv", rows), tmp_path / "gaps.state"
        asked = ("--time", "at", "--every", "1d", *options)
        done = run("monitor", path, "--update", log, *asked, "--missing", "drop")
        assert "175 rows added, 5 dropped: something is missing in them" in done.stderr
        mine = cal.Monitor.load(path)
        assert (mine.n_rows, mine.n_missing, mine.n_without_time) == (175, 3, 2)
        by_hand = cal.Monitor(every="1d", missing="drop", grouped="--groups" in options).update(
            y,
            np.where(np.isin(np.arange(180), gaps), np.nan, p),
            time=[time or None for time in times],
            groups=rows["g"] if "--groups" in options else None,
            sample_weight=rows["w"] if "--weight" in options else None,
        )
        found, expected = mine.evaluate().to_dict(), by_hand.evaluate().to_dict()
        assert found["notes"] == expected["notes"]
        found, expected = found["windows"], expected["windows"]
        assert found["n_missing"] == expected["n_missing"] == [1, 1, 1]
        assert (found["start"], found["n"]) == (expected["start"], expected["n"])
        assert found["ece"] == pytest.approx(expected["ece"])
        # What a state was created with holds for all of it.
        assert run("monitor", path, "--update", log, *asked, "--again").returncode == 0
        assert cal.Monitor.load(path).n_missing == 6
        whole = csv(tmp_path / "whole.csv", {**rows, "at": at, "p": p})
        begun = tmp_path / "whole.state"
        assert run("monitor", begun, "--update", whole, *asked).returncode == 0
        refused = run("monitor", begun, "--update", log, *asked, "--missing", "drop")
        assert refused.returncode == 3 and "was created with 'error'" in refused.stderr

    def test_classes_keep_their_order(self, tmp_path):
        state = tmp_path / "k.state"
        for order in ((0, 1, 2), (2, 0, 1)):
            columns = {f"proba_{CLASSES[j]}": ROWS[:, j].tolist() for j in order}
            path = csv(
                tmp_path / "k.csv",
                {"label": [CLASSES[y] for y in LABELS], "at": ["2026-01-05"] * N, **columns},
            )
            done = run("monitor", state, "--update", path, "--time", "at", "--json")
            assert done.returncode == 0, done.stderr
            value = json.loads(done.stdout)["windows"]["ece"][0]
            assert value == pytest.approx(cal.ece(LABELS, ROWS))

    def test_times_in_seconds(self, tmp_path):
        path = csv(
            tmp_path / "s.csv", {"t": [1767571200, 1767571260], "label": [0, 1], "p": [0.2, 0.7]}
        )
        done = run("monitor", tmp_path / "s.state", "--update", path, "--time", "t", "--json")
        start = json.loads(done.stdout)["windows"]["start"]
        assert start == ["2026-01-05T00:00:00+00:00"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--every", "1h"), "was created with '1d'"),
            (("--bins", "7"), "--bins: "),
            (("--update", "CALM"), "--time COLUMN"),
            (("--update", "CALM", "--time", "att", "--again"), "--time names the column 'att'"),
            (("-o", "page.pdf"), "name that ends in .html"),
            (("--start", "2027-01-01"), "no window with rows"),
            (("--start", "soon"), "--start is 'soon', which is not a time"),
            (("--every", "0d"), "--every must be whole microseconds"),
            (("--baseline", "0"), "argument --baseline: '0' is not 1 or more"),
            (("--keep", "0"), "argument --keep: '0' is not 1 or more"),
        ],
    )
    def test_errors_leave_the_state(self, state, tmp_path, options, said):
        before = state.read_bytes()
        options = [tmp_path / "calm.csv" if option == "CALM" else option for option in options]
        done = run("monitor", state, *options)
        assert done.returncode == 3 and said in done.stderr
        assert state.read_bytes() == before

    def test_no_state_yet(self, tmp_path):
        done = run("monitor", tmp_path / "no.state")
        assert done.returncode == 3 and "create it with --update FILE" in done.stderr
        csv(tmp_path / "rows.csv", {"label": [0], "p": [0.5]})
        done = run("monitor", tmp_path / "rows.csv")
        assert done.returncode == 3 and done.stdout == ""


class TestStatesInPlaceOfRows:
    def test_a_state_is_reported(self, state, tmp_path):
        assert cal.Monitor.load(state).n_rows == 2100
        done = run("report", state, "--json")
        assert json.loads(done.stdout)["recipe"]["n"] == 2100
        page = tmp_path / "page.html"
        assert run("report", state, "-o", page).returncode == 0
        assert "Calibration over time" not in page.read_text() and "days.state" in page.read_text()

    def test_a_state_is_checked_by_its_values(self, state):
        done = run("check", state, "--max", "ece=0.05")
        assert done.returncode == 3 and "--point checks the values alone" in done.stderr
        assert run("check", state, "--max", "ece=0.5", "--point").returncode == 0
        assert run("check", state, "--max", "brier=0.01", "--point").returncode == 1
        done = run("check", state, "--min", "slope=0.5", "--point")
        assert done.returncode == 3 and "slope always has an interval" in done.stderr

    @pytest.mark.parametrize("options", [("report", "--by", "x"), ("report", "--groups", "g")])
    def test_what_needs_rows(self, state, options):
        done = run(options[0], state, *options[1:])
        assert done.returncode == 3 and "needs rows, and a state holds sums" in done.stderr

    def test_beside_rows(self, state, tmp_path):
        done = run("report", state, tmp_path / "calm.csv")
        assert done.returncode == 3 and "give it as the only file" in done.stderr


def test_the_page_has_every_window_and_both_charts(state, tmp_path):
    page = tmp_path / "m.html"
    done = run("monitor", state, "-o", page, "--title", "<Risk> & co")
    assert done.returncode == 0
    text = page.read_text()
    assert "&lt;Risk&gt; &amp; co" in text and text.count('<th scope="row">2026-01-0') == 3
    assert "No alarm." in text and 'id="evidence"' in text and 'id="over-time"' in text
    assert "The chart ends at" not in text and 'class="verdict good"' in text
    for day in range(10, 16):
        worse = log(tmp_path / f"{day}.csv", (day,), 0.3)
        run("monitor", state, "--update", worse, "--time", "at", "-o", page)
    assert cal.Monitor.load(state).evaluate().latest.e_value > 1e12
    assert "The chart ends at 10<sup>12</sup>" in page.read_text()
    assert 'class="verdict bad"' in page.read_text()  # an alarm does not look like none


def test_paths_of_stores_say_how(tmp_path):
    done = run("report", "s3://bucket/day.parquet")
    assert done.returncode == 3 and "polars.scan_parquet('s3://bucket/day.parquet')" in done.stderr


@pytest.mark.parametrize(
    ("days", "said"), [((45350, 45351.5), "a day number of"), ((240301, 240302), "a date without")]
)
def test_days_of_spreadsheets_are_asked_about(tmp_path, days, said):
    path = csv(tmp_path / "d.csv", {"at": days, "label": [0, 1], "p": [0.2, 0.7]})
    done = run("monitor", tmp_path / "s.state", "--update", path, "--time", "at")
    assert done.returncode == 3 and f"time[0] is {days[0]}, which looks like {said}" in done.stderr
    assert not (tmp_path / "s.state").exists()


DAYS = [20240101, 20240102, 20240131] * 20


@pytest.mark.parametrize("written", ["csv", "jsonl", "numbers"])
def test_days_without_dashes(tmp_path, written):
    """In text they are dates; as numbers they would be seconds of 1970, which nobody means."""
    rng = np.random.default_rng(0)
    p = np.round(rng.random(60), 4)
    y = (rng.random(60) < p).astype(int)
    if written == "csv":
        file = csv(tmp_path / "days.csv", {"at": DAYS, "label": y, "p": p})
    else:
        file = tmp_path / "days.jsonl"
        days = DAYS if written == "numbers" else [str(day) for day in DAYS]
        rows = zip(days, y.tolist(), p.tolist(), strict=True)
        file.write_text("\n".join(json.dumps({"at": a, "label": b, "p": c}) for a, b, c in rows))
    done = run("monitor", tmp_path / "s.state", "--update", file, "--time", "at", "--json")
    if written == "numbers":
        assert done.returncode == 3 and "20240101, which looks like a date" in done.stderr
        return
    starts = [start[:10] for start in json.loads(done.stdout)["windows"]["start"]]
    assert starts == ["2024-01-01", "2024-01-02", "2024-01-31"]


def test_accepted_rows_raise_no_alarm_and_a_change_does(tmp_path):
    """Beside accepted rows their error is no alarm; without them it is one for ever."""
    accepted, days = tmp_path / "accepted.state", tmp_path / "days.state"
    old, calm = (
        log(tmp_path / "old.csv", (1,), 0.8, 9000),
        log(tmp_path / "c.csv", (5, 6), 0.8, 6000),
    )
    assert run("monitor", accepted, "--update", old, "--time", "at").returncode == 0
    assert run("monitor", days, "--update", calm, "--time", "at", "--alarm").returncode == 1
    base = ("--baseline", accepted, "--alarm")
    fine = run("monitor", days, *base)
    assert fine.returncode == 0 and "e_change" in fine.stdout, fine.stderr
    worse = log(tmp_path / "worse.csv", (7,), 0.3, 2000)
    done = run("monitor", days, "--update", worse, "--time", "at", *base, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["change_alarm"] == "2026-01-07T00:00:00+00:00"
    # The same rows as the first windows of one state.
    both = tmp_path / "both.state"
    assert run("merge", accepted, days, "-o", both).returncode == 0
    span = run("monitor", both, "--baseline", "..2026-01-01", "--alarm", "--json")
    assert span.returncode == 1
    found = json.loads(span.stdout)["windows"]["e_change"]
    assert found[0] is None and found[1] < 20 < found[-1]
    refused = run("monitor", days, "--baseline", "nowhere.state")
    assert refused.returncode == 3 and "give a number of windows, the file" in refused.stderr


def test_slices_in_one_state_and_as_metrics(tmp_path):
    """Begun with --by, added to without it, merged, and written for a scrape."""
    rng = np.random.default_rng(0)
    state, prom = tmp_path / "days.state", tmp_path / "days.prom"
    p, country = np.round(rng.beta(1, 3, 6000), 4), np.repeat(["de", "fr"], 3000)
    y = (rng.random(6000) < np.where(country == "fr", 0.5 * p, p)).astype(int)
    for day, rows in ((5, slice(0, None, 2)), (6, slice(1, None, 2))):
        own = {
            "at": [f"2026-01-0{day}"] * 3000,
            "label": y[rows],
            "p": p[rows],
            "country": country[rows],
        }
        by = ("--by", "country") if day == 5 else ()
        done = run("monitor", state, "--update", csv(tmp_path / f"{day}.csv", own), "--time", "at",
                   *by, "--alarm", "--metrics", prom, "--json")  # fmt: skip
        assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["slices"]
    assert found["slices"]["country"] == ["fr", "de"] and found["slices"]["n"] == [3000, 3000]
    assert found["slices"]["alarm"][0] and found["slices"]["alarm"][1] is None
    by_hand = cal.Monitor(by="country").update(
        y, p, time=[f"2026-01-0{5 + i % 2}" for i in range(6000)], by=country
    )
    table = by_hand.evaluate()
    assert found["slices"]["e_corrected"] == pytest.approx(
        table.slices.columns()["e_corrected"], rel=1e-9
    )
    text = prom.read_text()
    assert text.endswith("# EOF\n") and 'slice="fr",kind="calibration"} 1.0' in text
    assert 'calibrant_window_rows{model="days",scope="all"} 3000.0' in text
    shown = run("monitor", state)
    assert "Slices by country" in shown.stdout and "alarm in 1 slice by country" in shown.stdout
    refused = run("monitor", state, "--by", "label")
    assert refused.returncode == 3 and "was created with ['country']" in refused.stderr


def test_dropped_rows_are_counted_in_their_slice(tmp_path):
    rows = {
        "at": ["2026-01-05"] * 4,
        "label": [0, 1, 0, 1],
        "p": [0.1, "", 0.3, 0.4],
        "c": ["x", "x", "y", "y"],
    }
    path = csv(tmp_path / "gaps.csv", rows)
    options = ("--update", path, "--time", "at", "--by", "c", "--missing", "drop")
    assert run("monitor", tmp_path / "s.state", *options).returncode == 0
    table = cal.Monitor.load(tmp_path / "s.state").evaluate()
    assert {row.name: (row.n, row.windows.latest.n_missing) for row in table.slices} == {
        "x": (1, 1),
        "y": (2, 0),
    }
