"""Printed calibration numbers of public repositories, measured again from their own predictions.

Chidambaram et al. (2024) leave it as future work: are the calibration errors in the literature
right, and do they say which model is better calibrated? `printed/printed.csv` has a line for each
printed number, `printed/sets.csv` for each set of predictions (`literature_rows` reads them), and
`printed/measured_*.csv` what came out when the tables were made.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant._api.compare import compare
from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.smooth import ls_ece, smooth_ece
from calibrant._api.metrics.uncertainty import interval, noise_floor
from calibrant._core.errors import CalibrantWarning, InputError
from calibrant._core.progress import TaskProgress
from calibrant._research.papers.folder import Reproduction, Section, Table, columns_of, versions
from calibrant._research.papers.literature_rows import (
    NotAtHand,
    PredictionSet,
    Rows,
    read_registry,
    read_rows,
)
from calibrant._research.papers.literature_rules import (
    MET,
    NOT_AT_HAND,
    OTHER,
    UNEXPLAINED,
    WRONG,
    agrees,
    digits,
    measured,
    rule_of,
    search,
)

PAPER = (
    "M. Chidambaram, H. Lee, C. McSwiggen and S. Rezchikov (2024), How Flawed Is ECE? An Analysis "
    "via Logit Smoothing, section 7: a validation of published results (named as future work)."
)
CLEAR, UNCLEAR, TURNED = "clear", "not clear", "the other way round"
FEWEST = 30  # with fewer rows an interval says nothing
VERDICTS = (MET, OTHER, WRONG, UNEXPLAINED, NOT_AT_HAND)

Row: TypeAlias = dict[str, Any]


class Candidate(NamedTuple):
    """A set of a pool: its printed ECE, the convention of that, and its rows."""

    printed: str
    convention: str
    rows: Rows


def reproduce(
    *,
    seed: int | None = None,
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: TaskProgress,
) -> Reproduction:
    """The printed numbers beside what their predictions give.

    Without ``data`` the tables that come with the library are shown. ``data`` is a folder with a
    checkout of each repository as ``OWNER+NAME``; what is not there counts as not at hand.
    ``quick`` leaves out intervals, noise floors and orders.
    """
    if data is None:
        tables = {name: _parse_numbers(read_registry(f"measured_{name}")) for name in _CAPTIONS}
        done = read_registry("measured_with")[0]
    else:
        tables = _measure(_check_folder(data), seed or 0, quick, progress)
        done = {"seed": str(seed or 0), **versions()}
    recipe = {"command": "calibrant reproduce literature --data FOLDER", **done}
    title = "Printed calibration numbers, measured again"
    return Reproduction("literature", title, PAPER, _sections(tables), (), recipe)


def _check_folder(data: str | os.PathLike[str]) -> Path:
    """The folder of checkouts; an InputError if it is none."""
    folder = Path(data).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"data={str(data)!r} is not a folder: name a folder with checkouts of the "
            "repositories, each as OWNER+NAME"
        )
    return folder


def _measure(folder: Path, seed: int, quick: bool, progress: TaskProgress) -> dict[str, list[Row]]:
    """All tables, from the predictions in a folder."""
    sets = {line["set"]: PredictionSet(*line.values()) for line in read_registry("sets")}
    lines: dict[str, list[dict[str, str]]] = {name: [] for name in sets}
    for line in read_registry("printed"):
        lines[line["set"]].append(line)
    printed: list[Row] = []
    described: list[Row] = []
    pools: dict[tuple[str, str], dict[str, Candidate]] = {}
    with progress.task("prediction sets", len(sets)) as step, warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        for name, wanted in sets.items():
            rows = _rows_or_reason(folder, wanted)
            printed += [_check_number(wanted, line, rows) for line in lines[name]]
            error = next((line for line in lines[name] if line["measure"] == "ece"), None)
            if isinstance(rows, Rows) and rows.are_probabilities:
                described.append(_describe(wanted, error, rows, seed, quick))
                if error is not None and wanted.pool:
                    pool = pools.setdefault((wanted.source, wanted.pool), {})
                    pool[name] = Candidate(error["printed"], error["convention"], rows)
            step()
        orders = (
            []
            if quick
            else [row for pool in pools for row in _implied_orders(pool, pools[pool], seed)]
        )
    return {
        "sources": _count_by_source(printed, orders),
        "causes": _count_by_cause(printed),
        "printed": printed,
        "sets": described,
        "orders": orders,
    }


def _rows_or_reason(folder: Path, wanted: PredictionSet) -> Rows | str:
    """The rows of a set, or why they are not at hand."""
    try:
        return read_rows(folder, wanted)
    except NotAtHand as reason:
        return str(reason)


def _check_number(wanted: PredictionSet, line: Mapping[str, str], rows: Rows | str) -> Row:
    """One printed number: what its predictions give, and whether that is what is printed."""
    row: Row = {
        "set": wanted.name,
        "measure": line["measure"],
        "printed": line["printed"],
        "digits": digits(line["printed"]),
        "measured": None,
        "verdict": NOT_AT_HAND,
        "convention": line["convention"],
        "comes out with": "",
        "why": "",
        "source": wanted.source,
        "printed in": line["where"],
    }
    if isinstance(rows, str):
        return {**row, "why": rows}
    row["measured"] = measured(line["measure"], line["convention"], rows)
    if agrees(line["printed"], row["measured"]):
        return {**row, "verdict": MET}
    mistake = line["explained_by"]
    if mistake and agrees(line["printed"], measured(line["measure"], mistake, rows)):
        return {**row, "verdict": WRONG, "comes out with": mistake, "why": line["why"]}
    found = search(line["measure"], line["convention"], line["printed"], rows)
    if found is not None:
        return {**row, "verdict": OTHER, "comes out with": found}
    return {**row, "verdict": WRONG if line["why"] else UNEXPLAINED, "why": line["why"]}


def _describe(
    wanted: PredictionSet, error: Mapping[str, str] | None, rows: Rows, seed: int, quick: bool
) -> Row:
    """What stands beside a printed ECE: noise floor, interval, and two errors without bins."""
    z, u = rows.of_top_label()
    u = np.clip(u, 0, 1)
    bins = error["convention"] if error else "15 bins"
    rule, groups = rule_of(bins, u), rows.clusters
    row: Row = {
        "set": wanted.name,
        "rows": u.size,
        "clusters": u.size if groups is None else len(np.unique(groups)),
        "bins": bins,
        "ECE": ece(z, u, bins=rule),
        "noise, 95 %": None,
        "low": None,
        "high": None,
        "LS-ECE": ls_ece(z, u),
        "smooth ECE": smooth_ece(z, u),
    }
    if not quick and row["clusters"] >= FEWEST:
        floor = noise_floor(z, u, bins=rule, groups=groups, seed=seed)
        limits = interval(z, u, bins=rule, groups=groups, seed=seed)
        row |= {"noise, 95 %": floor.upper, "low": limits.low, "high": limits.high}
    return row


def _implied_orders(pool: tuple[str, str], sets: Mapping[str, Candidate], seed: int) -> list[Row]:
    """Every order that printed ECEs of the same rows imply, and whether the rows bear it out."""
    sets = _same_rows(sets)
    if len(sets) < 2:
        return []
    names = sorted(sets, key=lambda name: float(sets[name].printed))
    first = sets[names[0]]
    tops = {name: sets[name].rows.of_top_label() for name in names}
    found = compare(
        {name: z for name, (z, _) in tops.items()},
        {name: np.clip(u, 0, 1) for name, (_, u) in tops.items()},
        measures=["ece"],
        bins=int(first.convention.split(" ")[0]),
        groups=first.rows.clusters,
        seed=seed,
    )
    rows = []
    for better, worse in combinations(names, 2):
        if float(sets[better].printed) < float(sets[worse].printed):
            gap = found.difference(better, worse)
            row = {"source": pool[0], "pool": pool[1]}
            for said, name in (("better", better), ("worse", worse)):
                row |= {said: name, f"printed of the {said}": sets[name].printed}
            verdict = CLEAR if gap.high < 0 else TURNED if gap.low > 0 else UNCLEAR
            rows.append({**row, "low": gap.low, "high": gap.high, "order": verdict})
    return rows


def _same_rows(sets: Mapping[str, Candidate]) -> dict[str, Candidate]:
    """The sets on the same rows as the first, sorted by their clusters if they have some."""
    ordered = {
        name: found._replace(rows=_sort_by_cluster(found.rows)) for name, found in sets.items()
    }
    first = next(iter(ordered.values())).rows
    return {
        name: found
        for name, found in ordered.items()
        if found.rows.outcomes.size == first.outcomes.size
        and bool(np.all(found.rows.clusters == first.clusters))
    }


def _sort_by_cluster(rows: Rows) -> Rows:
    """The rows in the order of their clusters, unchanged within a cluster."""
    if rows.clusters is None:
        return rows
    order = np.argsort(rows.clusters, kind="stable")
    return Rows(rows.predictions[order], rows.outcomes[order], rows.clusters[order])


def _count_by_source(printed: Iterable[Row], orders: Iterable[Row]) -> list[Row]:
    """Numbers by verdict and orders by outcome, a line for each source and one for all."""
    verdicts = {line["source"]: Counter[str]() for line in read_registry("sources")}
    borne = {source: Counter[str]() for source in verdicts}
    for row in printed:
        verdicts[row["source"]][row["verdict"]] += 1
    for row in orders:
        borne[row["source"]][row["order"]] += 1
    rows: list[Row] = [
        {
            "source": source.replace("+", "/"),
            "numbers": judged.total(),
            **{verdict: judged[verdict] for verdict in VERDICTS},
            "orders": borne[source].total(),
            **{outcome: borne[source][outcome] for outcome in (CLEAR, UNCLEAR, TURNED)},
        }
        for source, judged in verdicts.items()
    ]
    counted = ("numbers", *VERDICTS, "orders", CLEAR, UNCLEAR, TURNED)
    total = {name: sum(row[name] for row in rows) for name in counted}
    return [*rows, {"source": "all", **total}]


def _count_by_cause(printed: Iterable[Row]) -> list[Row]:
    """Why numbers do not come out, the most frequent cause first."""
    wrong = [row for row in printed if row["verdict"] in (WRONG, UNEXPLAINED)]
    causes = Counter(row["why"] or UNEXPLAINED for row in wrong)
    return [
        {
            "why": why,
            "numbers": n,
            "sources": len({row["source"] for row in wrong if row["why"] == why}),
            "come out with that mistake": sum(
                row["why"] == why and bool(row["comes out with"]) for row in wrong
            ),
        }
        for why, n in causes.most_common()
    ]


def _parse_numbers(lines: Iterable[Mapping[str, str]]) -> list[Row]:
    """Lines of a CSV table, with numbers as numbers and empty cells of them as None."""
    numeric = {"measured", "ECE", "noise, 95 %", "low", "high", "LS-ECE", "smooth ECE"}

    def cell(name: str, text: str) -> Any:
        if name in numeric:
            return float(text) if text else None
        return int(text) if text.isdigit() and not name.startswith("printed") else text

    return [{name: cell(name, text) for name, text in line.items()} for line in lines]


_CAPTIONS = {
    "sources": "Printed numbers by source, and the orders implied by printed ECEs.",
    "causes": "Why printed numbers differ, and how many match if that mistake is repeated.",
    "printed": "Every printed number.",
    "sets": "Every set of predictions: ECE, noise floor, 95 % interval, two errors without bins.",
    "orders": "Every order: 95 % interval of the better model's ECE minus the other's.",
}


def _table(name: str, rows: list[Row], *, on_page: bool = True, caption: str = "") -> Table:
    """A table of rows, which may be none."""
    columns = columns_of(rows) if rows else {}
    return Table(name, caption or _CAPTIONS[name], columns, on_page=on_page and bool(rows))


def _sections(tables: Mapping[str, list[Row]]) -> tuple[Section, ...]:
    """The sections of the page."""
    printed, orders = tables["printed"], tables["orders"]
    found = Counter(row["verdict"] for row in printed)
    sources = {row["source"] for row in printed if row["verdict"] != NOT_AT_HAND}
    others = [row for row in printed if row["verdict"] == OTHER]
    short = ("set", "measure", "printed", "measured", "convention", "comes out with")
    outcomes = Counter(row["order"] for row in orders)
    turned = [
        {name: row[name] for name in list(row)[2:-1]} for row in orders if row["order"] == TURNED
    ]
    beside = [row for row in tables["sets"] if row["low"] is not None]
    within = sum(row["ECE"] <= row["noise, 95 %"] for row in beside)
    return (
        Section(
            "Printed numbers",
            (
                f"{len(printed) - found[NOT_AT_HAND]} printed ECEs, Brier scores and AUROCs from "
                f"{len(sources)} sources: {found[MET]} are met, {found[OTHER]} are met under "
                f"another convention than the stated one, {found[WRONG]} are wrong for a known "
                f"reason, {found[UNEXPLAINED]} are unexplained; {found[NOT_AT_HAND]} are not at "
                "hand.",
                "A number is met if the predictions give its printed digits (at most six places). "
                "The files printed.csv, sets.csv and orders.csv hold all numbers.",
            ),
            (
                _table("sources", tables["sources"]),
                _table("causes", tables["causes"]),
                _table(
                    "others",
                    [{name: row[name] for name in short} for row in others],
                    caption="Numbers that match under another convention.",
                ),
                _table("printed", printed, on_page=False),
                _table(
                    "checkouts",
                    read_registry("sources"),
                    on_page=False,
                    caption="Where the predictions are: repository, commit, licence.",
                ),
            ),
        ),
        Section(
            "How precise is an ECE?",
            (
                f"{within} of {len(beside)} sets with at least {FEWEST} independent rows or "
                "clusters have an ECE below the noise floor, which calibrated predictions exceed "
                "in 5 % of samples.",
            ),
            (_table("sets", tables["sets"], on_page=False),),
        ),
        Section(
            "Which model is better calibrated?",
            (
                f"{outcomes[CLEAR]} of {len(orders)} orders are significant, {outcomes[UNCLEAR]} "
                f"are not significant, and {outcomes[TURNED]} are reversed.",
            ),
            (
                _table("orders", orders, on_page=False),
                _table("turned", turned, caption="Reversed orders."),
            ),
        ),
    )
