"""The page of a monitor: newest windows first, alarms in sight, dates that people read."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import calibrant as cal
from calibrant.results._plots.time_labels import label_format
from monitored import DAY


def page(tmp_path, days=30, change=99, baseline=None, by=None):
    rng = np.random.default_rng(5)
    monitor = cal.Monitor(measures=["ece"], by=by)
    for day in range(days):
        p = rng.beta(1, 3, 1500)
        factor = 0.6 if day >= change else 1.0
        y = (rng.random(1500) < factor * p).astype(int)
        own = {} if by is None else {"by": np.arange(1500) % 2}
        monitor.update(y, p, time=day * DAY, **own)
    table = monitor.evaluate(baseline=baseline)
    table.save(tmp_path / "page.html")
    return table, (tmp_path / "page.html").read_text(encoding="utf-8")


def rows_of(html, identity):
    """The class and the first cell of each row of a table."""
    body = html.partition(f'id="{identity}"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return re.findall(r'<tr(?: class="([^"]*)")?><th scope="row">([^<]*)</th>', body)


def test_newest_windows_come_first_and_alarms_are_marked(tmp_path):
    table, html = page(tmp_path, change=25)
    rows = rows_of(html, "window-table")
    assert [start for _, start in rows] == table.display_columns()["start"][::-1]
    looks = dict(zip([row.start for row in table][::-1], [looks for looks, _ in rows], strict=True))
    for row in table:
        assert ("alarmed" in looks[row.start]) == (row.e_value >= 20)
        assert ("first-alarm" in looks[row.start]) == (row.start == table.alarm.start)
    assert "miscalibrated by 1970-01-" in html and 'id="change"' not in html


def test_windows_to_look_at_hold_the_first_alarm_and_the_newest(tmp_path):
    """However long ago, and however many windows stand out since."""
    table, html = page(tmp_path, days=40, change=5)
    rows = rows_of(html, "look-section")
    starts = [start for _, start in rows]
    assert len(rows) == 10 and starts == sorted(starts, reverse=True)
    assert starts[-1] == f"{table.alarm.start:%Y-%m-%d}"
    assert starts[0] == f"{table.standing_out[-1].start:%Y-%m-%d}"
    _, calm = page(tmp_path, days=4)
    assert "Windows to look at" not in calm


@pytest.mark.parametrize(
    ("change", "said"),
    [(99, "No change from the baseline found."), (20, "Alarm: changed from the baseline by")],
)
def test_beside_a_baseline_the_answer_is_of_the_change(tmp_path, change, said):
    table, html = page(tmp_path, change=change, baseline=(None, 15 * DAY))
    assert said in html and 'id="change"' in html
    assert "the windows before 1970-01-16 (22500 rows)" in html
    assert (table.change_alarm is not None) == (change == 20)


def test_slices_have_a_table(tmp_path):
    table, html = page(tmp_path, days=6, change=2, by="side")
    assert [name for _, name in rows_of(html, "slice-table")] == [r.name for r in table.slices]
    assert "Slices by side" in html


@pytest.mark.parametrize(
    ("step", "n", "form"),
    [
        (timedelta(hours=1), 40, "%-d %b %H:%M"),
        (timedelta(days=1), 2, "%-d %b"),
        (timedelta(days=1), 60, "%-d %b %Y"),
        (timedelta(hours=1), 24 * 30, "%-d %b %Y"),
        (timedelta(days=7), 200, "%b %Y"),
    ],
)
def test_dates_have_as_much_as_the_span_needs(step, n, form):
    begin = datetime(2025, 12, 20, tzinfo=UTC)
    starts = [begin + i * step for i in range(n)]
    assert label_format(starts) == form
    assert label_format([begin]) == "%-d %b"


@pytest.mark.parametrize("baseline", [None, (None, 2 * DAY)])
def test_windows_to_look_at_have_the_columns_that_say_why(tmp_path, baseline):
    table, html = page(tmp_path, days=12, change=5, baseline=baseline)
    section = html.partition('id="look-section"')[2].partition("</section>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', section)
    of_change = [] if baseline is None else ["shift", "e_change"]
    own = ["start", "n", "mean_predicted", "mean_target", "ece", "p_corrected", "e_value"]
    assert heads == own + of_change
    shown = table.display_columns()
    for row in re.findall(r"<tr(?: class=\"[^\"]*\")?>(<th scope=\"row\".*?)</tr>", section):
        cells = dict(zip(heads, re.findall(r">([^<]*)</t[hd]>", row), strict=True))
        at = shown["start"].index(cells["start"])
        assert cells["n"] == str(shown["n"][at]) and cells["e_value"] == str(shown["e_value"][at])
        assert cells["ece"] == f"{shown['ece'][at]:.4f}"
