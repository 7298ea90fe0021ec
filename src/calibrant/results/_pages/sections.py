"""Sections of the report page beside calibration errors: what each shows, and its charts.

A chart has an id, a specification and its data. The page's script draws all charts alike; a reader
can save the data of one as a file, for which `what` describes the chart and `columns` names the
fields that are saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from calibrant._data.checks import shape_from_notes
from calibrant.results._pages import charts
from calibrant.results._pages.page import chart_numbers, limits_text
from calibrant.results._plots.typing import ReportData
from calibrant.results._recommendation import UNCHANGED
from calibrant.results._rendering import range_text, shown

Chart = dict[str, Any]
# What the two outcomes are called, and what a risk is the share of: of events, and of answers.
_OUTCOMES = {False: ("y = 0", "y = 1"), True: ("wrong", "right")}
_RISKS = {False: "share of y = 0", True: "error rate"}


class Section(NamedTuple):
    """A section of the page: the variables of its template, and its charts.

    `facts` is None if the report has no such section.
    """

    facts: dict[str, Any] | None
    charts: list[Chart]


def report_sections(report: ReportData) -> dict[str, Section]:
    """Every section of a report, by its name in the page's template.

    A section without data in the report has no facts and no charts.
    """
    return {
        name: Section(None, []) if getattr(report, attribute) is None else make(report)
        for name, (attribute, make) in _SECTIONS.items()
    }


def _chart(
    name: str, spec: charts.Spec, what: str, columns: dict[str, str], **data: list[Any]
) -> Chart:
    """A chart for the page's script: its id, its Vega-Lite `spec`, and its data by name.

    The reader can save the data as a file: `what` describes the file in words, and `columns` maps
    fields of the data to names of its columns.
    """
    return {"id": name, "spec": spec, "data": data, "what": what, "columns": columns}


def _are_answers(report: ReportData) -> bool:
    """Whether predictions are confidences of answers, or of top labels, that are right or wrong."""
    evaluation = report.evaluation
    confidence = evaluation.reliability.notion == "confidence"
    return confidence or shape_from_notes(evaluation.inferred) == "answers"


def _ranking_section(report: ReportData) -> Section:
    """The section on ranking: a chart of the risk-coverage curve, and a table of a few points."""
    risk = report.risk
    names = ("coverage", "threshold", "risk", "low", "high")
    columns = risk.columns()
    points = [
        {
            "c": c,
            "r": r,
            "lo": lo,
            "hi": hi,
            "coverage": f"{c:.0%}",
            "risk": shown(r),
            "from prediction": shown(t),
            "interval": range_text(lo, hi),
        }
        for c, t, r, lo, hi in zip(*(chart_numbers(columns[name]) for name in names), strict=True)
    ]
    rows = [
        {
            "coverage": f"{c:.0%}",
            "threshold": shown(t),
            "risk": shown(r),
            "interval": limits_text(lo, hi),
        }
        for c, t, r, lo, hi in zip(*risk.display_columns().values(), strict=True)
    ]
    spec = charts.risk_curve("share of rows kept", f"risk: {_RISKS[_are_answers(report)]}")
    files = {"c": "coverage", "r": "risk", "lo": "low", "hi": "high"}
    chart = _chart("risk-chart", spec, "risk by coverage", files, points=points)
    wrong = "the top label is wrong" if risk.notion == "confidence" else "the answer is wrong"
    what = wrong if _are_answers(report) else "y = 0"
    return Section({"aurc": shown(risk.aurc), "what": what, "rows": rows}, [chart])


def _decision_section(report: ReportData) -> Section:
    """The section on decisions: a chart and a table of net benefits by threshold.

    The chart has a line for each strategy: the predictions, original and recalibrated, acting on
    all and on none. Its axis ends a little below 0.
    """
    curve = report.decisions
    model = curve.models[0]
    own = curve.benefits[model]
    strategies = {
        UNCHANGED: (own.value, charts.ONE),
        "recalibrated": (own.recalibrated, charts.TWO),
        "act on all": (curve.benefits["all"].value, charts.MUTED),
        "act on none": (curve.benefits["none"].value, charts.INK),
    }
    series = {name: line for name, line in strategies.items() if line[0] is not None}
    top = max(float(own.high.max()), float(curve.prevalence), 1e-3)
    floor = -0.25 * top
    thresholds = chart_numbers(curve.thresholds)
    points = [
        {
            "t": t,
            "v": max(v, floor),
            "name": name,
            "colour": colour,
            "threshold": shown(t),
            "net benefit": shown(v),
        }
        for name, (values, colour) in series.items()
        for t, v in zip(thresholds, chart_numbers(values), strict=True)
        if v >= floor
    ]
    band = [
        {"t": t, "lo": max(lo, floor), "hi": max(hi, floor)}
        for t, lo, hi in zip(
            thresholds, chart_numbers(own.low), chart_numbers(own.high), strict=True
        )
    ]
    loss = curve.calibration_decision_loss(model) if curve.recalibration else 0.0
    columns = curve.display_columns()
    facts = {
        "names": [name for name in columns if name != "threshold"],
        "rows": [[shown(value) for value in row] for row in zip(*columns.values(), strict=True)],
        "recalibration": curve.recalibration,
        "loss": shown(loss) if loss > 0 else "nothing",
        "key": [(name, colour) for name, (_, colour) in series.items()],
    }
    spec = charts.net_benefits(floor, 1.08 * top)
    files = {"name": "strategy", "t": "threshold", "v": "net benefit"}
    what = "net benefit by threshold"
    return Section(facts, [_chart("decision-chart", spec, what, files, points=points, band=band)])


def _outcome_section(report: ReportData) -> Section:
    """The section on outcomes: a histogram of predictions, events upward, the others downward."""
    edges, events, rest = report.histogram
    down, up = _OUTCOMES[_are_answers(report)]
    ends, total = chart_numbers(edges), sum(events) + sum(rest)
    bars = [
        {
            "a": ends[j],
            "b": ends[j + 1],
            "v": sign * n / total,
            "colour": colour,
            "predictions": f"{edges[j]:.3f} to {edges[j + 1]:.3f}",
            "outcome": words,
            "rows": f"{n:,.6g}",
        }
        for sign, colour, words, counts in (
            (1, charts.TWO, up, events),
            (-1, charts.ONE, down, rest),
        )
        for j, n in enumerate(counts)
        if n
    ]
    files = {"a": "from", "b": "to", "outcome": "outcome", "rows": "rows"}
    chart = _chart(
        "outcome-chart", charts.outcome_bars(), "predictions by outcome", files, bars=bars
    )
    return Section({"up": up, "down": down}, [chart])


def _vote_section(report: ReportData) -> Section:
    """The section on votes: three charts, and a table by bands (ranges) of the votes' entropy."""
    profile = report.votes
    bands = profile.bands
    rows = [
        {
            "band": bands["band"][j],
            "n": bands["n"][j],
            "dist_ce": _band_cell(bands, "dist_ce", j),
            "overconfidence": _band_cell(bands, "overconfidence", j),
        }
        for j in range(len(bands["band"]))
    ]
    each = f"{profile.n_votes / profile.n:.3g}"
    facts = {"n": profile.n, "n_votes": profile.n_votes, "each": each, "rows": rows}
    return Section(
        facts, [_vote_share_chart(profile), _distance_chart(profile), _entropy_chart(profile)]
    )


def _band_cell(bands: dict[str, list[Any]], name: str, j: int) -> dict[str, Any]:
    """The cell of the number `name` in band (range of entropy) j of the table of votes.

    It has the number as text, the interval expected of right predictions, and `out`, whether the
    number is outside it.
    """
    value, low, high = (bands[f"{name}{end}"][j] for end in ("", "_low", "_high"))
    expected = limits_text(low, high)
    return {"value": shown(value), "expected": expected, "out": not low <= value <= high}


def _nonempty_bins(
    columns: dict[str, list[Any]], names: dict[str, str], key: str
) -> list[dict[str, Any]]:
    """A dict for each bin that holds rows, which has a number in the column `key`.

    `names` maps the keys of the dicts to columns of the table.
    """
    values = {name: chart_numbers(columns[column]) for name, column in names.items()}
    kept = [j for j, value in enumerate(columns[key]) if value == value]
    return [{name: column[j] for name, column in values.items()} for j in kept]


def _vote_share_chart(profile: Any) -> Chart:
    """The chart of mean shares of votes by bin of the predictions."""
    names = {"u": "mean_predicted", "z": "mean_target", "lo": "low", "hi": "high", "n": "n"}
    bins = _nonempty_bins(profile.bins, names, "mean_predicted")
    for row in bins:
        row["rows"] = f"{row['n']:,}"
        row["mean prediction"] = shown(row["u"])
        row["share of votes"] = shown(row["z"])
        row["spread of the votes"] = limits_text(row["lo"], row["hi"])
    files = {"u": "mean prediction", "z": "share of votes", "lo": "low", "hi": "high"}
    what = "reliability beside the spread of votes"
    return _chart("votes-reliability", charts.vote_shares(), what, files, points=bins)


def _distance_chart(profile: Any) -> Chart:
    """The chart of distances between predictions and votes, beside those from vote noise alone."""
    names = {"a": "lower", "b": "upper", "v": "share", "e": "expected"}
    bins = _nonempty_bins(profile.distances, names, "lower")
    for row in bins:
        row["distance"] = f"{row['a']:.2f} to {row['b']:.2f}"
        row["seen"] = f"{row['v']:.1%}"
        row["vote noise alone"] = f"{row['e']:.1%}"
    files = {"a": "from", "b": "to", "v": "share of rows", "e": "vote noise alone"}
    what = "distances from the votes"
    return _chart("votes-distances", charts.vote_distances(), what, files, bars=bins)


def _entropy_chart(profile: Any) -> Chart:
    """The chart of the votes' mean entropy by bin of the predictions' entropy."""
    names = {"u": "predicted", "z": "label", "e": "expected", "lo": "low", "hi": "high", "n": "n"}
    bins = _nonempty_bins(profile.entropies, names, "predicted")
    for row in bins:
        row["rows"] = f"{row['n']:,}"
        row["entropy of the prediction"] = shown(row["u"])
        row["entropy of the votes"] = shown(row["z"])
        row["if perfect"] = limits_text(row["lo"], row["hi"])
    files = {"u": "entropy of the prediction", "z": "entropy of the votes"}
    files |= {"e": "if perfect", "lo": "low", "hi": "high"}
    spec = charts.vote_entropies(float(profile.entropies["upper"][-1]))
    what = "entropy of votes by entropy of predictions"
    return _chart("votes-entropies", spec, what, files, points=bins)


# By the template's name of a section: the attribute of the report that holds its data, and the
# function that makes the section.
_SECTIONS: dict[str, tuple[str, Callable[[ReportData], Section]]] = {
    "ranking": ("risk", _ranking_section),
    "decisions": ("decisions", _decision_section),
    "histogram": ("histogram", _outcome_section),
    "votes": ("votes", _vote_section),
}
