"""Rows of the report page's tables: measures, recalibration, classes, slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from calibrant._measures.catalogue import HEADLINE, entry_of
from calibrant.results._evaluation import Estimate
from calibrant.results._plots.typing import ReportData
from calibrant.results._recommendation import UNCHANGED
from calibrant.results._rendering import LEAST_P, as_records, range_text, shown, shown_p
from calibrant.results._uncertainty import Interval, NoiseFloor

_TRUTHFUL = {True: "yes", False: "no", None: "–"}


def measure_row(estimate: Estimate, tolerance: float) -> dict[str, Any]:
    """The row of one measure in the page's table: texts by name, and the numbers of its `bar`.

    The `tolerance` is drawn on the bar of the headline measure only. A number that was not computed
    is an empty text.
    """
    interval, floor = estimate.interval, estimate.noise_floor
    return {
        "name": estimate.name,
        "title": estimate.title,
        "value": shown(estimate.value),
        "exact": repr(float(estimate.value)),
        "estimate": shown(estimate.estimate),
        "exact_estimate": repr(float(estimate.estimate)),
        "bias": interval.bias if interval else "",
        "interval": range_text(interval.low, interval.high) if interval else "",
        "method": interval.method if interval else "",
        "floor": shown(floor.upper) if floor else "",
        "p": _p_value(floor) if floor else "",
        "truthful": _TRUTHFUL[estimate.truthful],
        "notion": estimate.notion,
        "rule": estimate.rule,
        "better": "higher" if estimate.higher_is_better else "lower",
        "bar": _uncertainty_bar(
            estimate, interval, floor, tolerance if estimate.name == HEADLINE else None
        ),
    }


def _p_value(floor: NoiseFloor) -> str:
    """The p-value of a noise floor as text; a small one in scientific notation."""
    p = floor.p_value
    if p >= 0.001:
        return f"{p:.3f}"
    return f"{p:.1e}" if p > LEAST_P else shown_p(p)


def _uncertainty_bar(
    estimate: Estimate,
    interval: Interval | None,
    floor: NoiseFloor | None,
    tolerance: float | None,
) -> dict[str, Any] | None:
    """The parts of the bar that shows a measure's uncertainty, as percentages of its width.

    `noise` (the noise floor) and `span` (the interval) are (start, width); `dot` is the estimate,
    `sample` the value of the sample and `tolerance` the tolerance. A part is None if it is not
    drawn. The result is None without interval and noise floor, or if nothing is above 0.
    """
    if interval is None and floor is None:
        return None
    middle = estimate.value if interval is None else interval.estimate
    ends = [estimate.value, tolerance or 0.0]
    ends += [interval.high] if interval else []
    ends += [floor.upper, floor.mean] if floor else []
    top = max(end for end in ends if math.isfinite(end)) * 1.06
    if not top > 0:
        return None

    def in_percent(value: float) -> float:
        """The position of a value on the bar, from 0 to 100."""
        return round(100.0 * min(max(value / top, 0.0), 1.0), 2)

    noise = None
    if floor:
        # The noise range of an error starts at 0; that of a loss starts at its mean.
        from_zero = entry_of(estimate.name).group not in ("losses", "decomposition")
        low, high = sorted((0.0 if from_zero else floor.mean, floor.upper))
        noise = (in_percent(low), round(in_percent(high) - in_percent(low), 2))
    span = None
    if interval:
        span = (
            in_percent(interval.low),
            round(max(in_percent(interval.high) - in_percent(interval.low), 0.4), 2),
        )
    return {
        "noise": noise,
        "span": span,
        "dot": in_percent(middle),
        "sample": in_percent(estimate.value) if shown(estimate.value) != shown(middle) else None,
        "tolerance": None if tolerance is None else in_percent(tolerance),
    }


def map_rows(maps: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of the table of recalibration: the original predictions, then each map.

    `maps` are the report's `recalibrations`. A row has the `name` of the map, what it `learned`,
    whether it is `chosen`, a `flag` (a remark), and a cell for each measure.
    """
    if not maps:
        return []
    before = [
        _error_cell(row.before, row.before_estimate, row.before_limits) for row in maps[0].changes
    ]
    rows = [{"name": UNCHANGED, "learned": "", "chosen": False, "flag": "", "cells": before}]
    for each in maps:
        cells = [_recalibrated_cell(row) for row in each.changes]
        own = {"name": each.method_name, "learned": each.learned, "chosen": each.chosen}
        rows.append({**own, "flag": _choice_remark(each), "cells": cells})
    return rows


def _choice_remark(each: Any) -> str:
    """The remark on the chosen map in the table of recalibration; empty for the other maps."""
    if not each.chosen:
        return ""
    if each.reverses:
        return "reverses the order"
    return "suits best" if each.helps else "chosen, no clear gain here"


def _recalibrated_cell(row: Any) -> dict[str, str]:
    """The cell of a measure after recalibration, as texts by name; `row` is a `Change`.

    An error is shown with its limits and its noise floor; a loss with its change from before and
    the limits of that change.
    """
    if row.low is None or row.high is None or row.estimate is None:
        noise = "" if row.after_noise_95 is None else shown(row.after_noise_95)
        return {**_error_cell(row.after, row.after_estimate, row.after_limits), "noise": noise}
    low, high = (f"{end:+.2g}".replace("-", "−") for end in (row.low, row.high))
    change = f"{row.estimate:+.2g}".replace("-", "−")
    return _cell_texts(shown(row.after), f"{low} to {high}", change=change)


def _error_cell(
    value: float, estimate: float | None, limits: tuple[float, float] | None
) -> dict[str, str]:
    """The cell of an error: bias-corrected estimate, limits, and sample value, as texts by name.

    The sample value is dropped if it prints like the estimate. Without estimate or limits, the cell
    has the sample value alone.
    """
    if limits is None or estimate is None:
        return _cell_texts(shown(value))
    sample = shown(value) if shown(value) != shown(estimate) else ""
    return _cell_texts(shown(estimate), range_text(*limits), sample=sample)


def _cell_texts(
    value: str, small: str = "", *, sample: str = "", change: str = ""
) -> dict[str, str]:
    """A cell of the table of recalibration, as texts by name; empty ones are not shown.

    `small` is an interval under the `value`, `sample` the value of the sample, and `change` the
    change of a loss. The noise floor, `noise`, is empty here.
    """
    return {"value": value, "small": small, "sample": sample, "change": change, "noise": ""}


def class_rows(report: ReportData) -> list[dict[str, Any]]:
    """The rows of the table of classes: means, `ece`, `gap`, and `width` of the bar of each class.

    The gap is the mean prediction less the mean target. Widths are percentages of that of the
    largest error. Without classes there are no rows.
    """
    columns = report.evaluation.classes
    if not columns:
        return []
    largest = max(columns["ece"]) or 1.0
    rows = as_records(columns)
    for row in rows:
        row["gap"] = row["mean_predicted"] - row["mean_target"]
        row["width"] = round(100 * row["ece"] / largest, 1)
    return rows


def largest_slice(report: ReportData) -> float:
    """The largest error or noise floor of all slices, for the scale of their bars.

    It is 1 if there are no slices, or none has either.
    """
    slices = report.evaluation.slices
    if slices is None:
        return 1.0
    ends = [max(each.values[slices.measure], each.noise_95) for each in slices]
    return max([end for end in ends if end == end], default=1.0) or 1.0


def tool_rows(conventions: Any) -> dict[str, Any] | None:
    """The rows of other tools: those that `differ`, below Calibrant's own, and the `rest`.

    A tool differs if its value with the common number of bins does not print like Calibrant's, or,
    where it takes no number of bins, if its only value does not. `some_refuse` says whether some
    tools give no value. The result is None without `conventions`.
    """
    if conventions is None:
        return None
    own, *others = conventions.rows
    values = {
        id(row): shown(row.at_default if row.at_common is None else row.at_common) for row in others
    }
    same = ("", shown(own.at_common))
    return {
        "differ": [own, *(row for row in others if values[id(row)] not in same)],
        "rest": [row for row in others if values[id(row)] in same],
        "some_refuse": "" in values.values(),
    }
