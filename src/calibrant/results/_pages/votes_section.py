"""The section of the report page on votes: what is seen, beside what vote noise alone gives."""

from __future__ import annotations

from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import short
from calibrant.results._rendering import shown

Chart = dict[str, Any]


def votes_section(profile: Any) -> tuple[dict[str, Any], list[Chart]] | None:
    """The bands of disagreement as rows of words, and the charts."""
    if profile is None:
        return None
    return _facts(profile), [_reliability(profile), _distances(profile), _entropies(profile)]


# Annotators on the page: those that stand out come first.
_MOST = 60


def annotators_section(people: Any) -> dict[str, Any] | None:
    """The annotators as rows of words, and how many are left out."""
    if people is None:
        return None
    rows = [
        {
            "name": row.name, "n": row.n, "agreement": shown(row.agreement),
            "limits": _limits(row.low, row.high), "expected": shown(row.expected),
            "value": shown(row.value), "noise": shown(row.noise_95), "verdict": row.verdict,
        }
        for row in people.rows[:_MOST]
    ]  # fmt: skip
    return {
        "by": people.by, "measure": people.measure, "title": people.title, "rows": rows,
        "more": max(0, len(people) - _MOST),
    }  # fmt: skip


def _facts(profile: Any) -> dict[str, Any]:
    bands = profile.bands
    rows = [
        {
            "band": bands["band"][j],
            "n": bands["n"][j],
            **{
                name: {
                    "value": shown(bands[name][j]),
                    "expected": _limits(*(bands[f"{name}_{end}"][j] for end in ("low", "high"))),
                    "out": not bands[f"{name}_low"][j]
                    <= bands[name][j]
                    <= bands[f"{name}_high"][j],
                }
                for name in ("dist_ce", "overconfidence")
            },
        }
        for j in range(len(bands["band"]))
    ]
    each = profile.n_votes / profile.n
    return {"n": profile.n, "n_votes": profile.n_votes, "each": f"{each:.3g}", "rows": rows}


def _limits(low: float, high: float) -> str:
    return "–" if low != low else f"{shown(low)} – {shown(high)}"


def _rows(columns: dict[str, list[Any]], names: dict[str, str], key: str) -> list[dict[str, Any]]:
    """The bins that hold rows, under short names."""
    values = {name: short(columns[column]) for name, column in names.items()}
    kept = [j for j, value in enumerate(columns[key]) if value == value]
    return [{name: column[j] for name, column in values.items()} for j in kept]


def _reliability(profile: Any) -> Chart:
    names = {"u": "mean_predicted", "z": "mean_target", "lo": "low", "hi": "high", "n": "n"}
    rows = _rows(profile.bins, names, "mean_predicted")
    for row in rows:
        row |= {"rows": f"{row['n']:,}", "mean prediction": shown(row["u"]),
                "share of votes": shown(row["z"]),
                "spread of the votes": _limits(row["lo"], row["hi"])}  # fmt: skip
    return {
        "id": "votes-reliability", "spec": charts.spread_and_points(), "data": {"points": rows},
        "what": "reliability beside the spread of votes",
        "columns": {"u": "mean prediction", "z": "share of votes", "lo": "low", "hi": "high"},
    }  # fmt: skip


def _distances(profile: Any) -> Chart:
    names = {"a": "lower", "b": "upper", "v": "share", "e": "expected"}
    rows = _rows(profile.distances, names, "lower")
    for row in rows:
        row |= {"distance": f"{row['a']:.2f} to {row['b']:.2f}", "seen": f"{row['v']:.1%}",
                "vote noise alone": f"{row['e']:.1%}"}  # fmt: skip
    return {
        "id": "votes-distances", "spec": charts.bars_and_steps(), "data": {"bars": rows},
        "what": "distances from the votes",
        "columns": {"a": "from", "b": "to", "v": "share of rows", "e": "vote noise alone"},
    }  # fmt: skip


def _entropies(profile: Any) -> Chart:
    names = {"u": "predicted", "z": "label", "e": "expected", "lo": "low", "hi": "high", "n": "n"}
    rows = _rows(profile.entropies, names, "predicted")
    for row in rows:
        row |= {"rows": f"{row['n']:,}", "entropy of the prediction": shown(row["u"]),
                "entropy of the votes": shown(row["z"]),
                "of right predictions": _limits(row["lo"], row["hi"])}  # fmt: skip
    top = float(profile.entropies["upper"][-1])
    return {
        "id": "votes-entropies", "spec": charts.band_and_points(top), "data": {"points": rows},
        "what": "entropy of votes by entropy of predictions",
        "columns": {"u": "entropy of the prediction", "z": "entropy of the votes",
                    "e": "of right predictions", "lo": "low", "hi": "high"},
    }  # fmt: skip
