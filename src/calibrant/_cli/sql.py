"""`calibrant sql`: measures of a binary problem as SQL, for tables that stay where they are."""

from __future__ import annotations

import argparse
import re
from typing import Any

from calibrant._cli.output import Outcome
from calibrant._cli.parsing import Parser, at_least_one
from calibrant._core.errors import InputError

DESCRIPTION = (
    "Print SQL that measures predictions in a table: probabilities of class 1, with labels 0 and 1 "
    "or soft labels. For DuckDB it is macros, which take the table and its columns as arguments; "
    "with --table it is one query. For Spark it is a query, with a parameter for each name that no "
    "option gives."
)
_ERRORS = {"duckdb": "error", "spark": "raise_error"}
_QUOTES = {"duckdb": '"', "spark": "`"}

# Tables that are made one from another, of the same text for all engines. The user's comes first,
# as it may be called `levels` too. A product guesses the bin k; comparing u with the edges of that
# bin, quotients of doubles as in Python, corrects the guess. Where predictions have 32 bits
# (`single`), edges are rounded to as many.
_STEPS = {
    "calibrant_rows": """
  SELECT CAST({label} AS DOUBLE) AS z, CAST({proba} AS DOUBLE) AS p, CAST({weight} AS DOUBLE) AS w,
    lower(typeof({proba})) = 'float' AS single
  FROM {table}""",
    "valid": """
  SELECT z, w, single, CASE WHEN z BETWEEN 0 AND 1 AND p BETWEEN 0 AND 1 AND w BETWEEN 0 AND 1e300
    THEN p ELSE {error}('labels and predictions must lie in [0, 1], weights must not be negative, '
      || 'and none may be missing') END AS u
  FROM calibrant_rows""",
    "guessed": """
  SELECT u, w * (u - z) AS r, w, single, least(floor(u * {bins}), {bins} - 1) AS k FROM valid""",
    "edged": """
  SELECT *, CAST(k AS DOUBLE) / {bins} AS low, CAST(k + 1 AS DOUBLE) / {bins} AS high
  FROM guessed""",
    "binned": """
  SELECT r, w, k
    - CASE WHEN u < CASE WHEN single THEN CAST(low AS FLOAT) ELSE low END THEN 1 ELSE 0 END
    + CASE WHEN u >= CASE WHEN single THEN CAST(high AS FLOAT) ELSE high END AND k + 1 < {bins}
      THEN 1 ELSE 0 END AS bin
  FROM edged""",
    "fixed_bins": """
  SELECT sum(w) AS w, sum(r) AS r FROM binned GROUP BY bin""",
    "levels": """
  SELECT u, sum(w) AS w, sum(w * (u - z)) AS r FROM valid GROUP BY u""",
    "path": """
  SELECT u, w, r, sum(w) OVER so_far AS w_to, sum(r) OVER so_far AS r_to,
    lag(u) OVER (ORDER BY u) AS u_before, sum(w) OVER () AS w_all, sum(r) OVER () AS r_all
  FROM levels WINDOW so_far AS (ORDER BY u ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)""",
    "ranked": """
  SELECT w, r, ceil((2 * (w_to - w) + w) * {bins} / (2 * w_all) * (1 - 1e-12)) AS bin FROM path""",
    "equal_mass": """
  SELECT sum(w) AS w, sum(r) AS r FROM ranked GROUP BY least(greatest(bin, 1), {bins})""",
}
_ECE = "SELECT sum(abs(r)) / sum(w) FROM fixed_bins"
MEASURES = {
    "ece": _ECE,
    "soft_ece": _ECE,
    "brier": "SELECT sum(w * (u - z) * (u - z)) / sum(w) FROM valid",
    "log_loss": """SELECT -sum(w * (z * ln(greatest(u, 1e-12))
    + (1 - z) * ln(greatest(1 - u, 1e-12)))) / sum(w) FROM valid""",
    "ks_error": "SELECT max(abs(r_to)) / max(w_all) FROM path",
    "atb": """SELECT (sum((u - coalesce(u_before, 0))
      * ((r_to - r) * (r_to - r) + (r_all - r_to + r) * (r_all - r_to + r)))
    + (1 - max(u)) * max(r_all) * max(r_all)) / (max(w_all) * max(w_all)) FROM path""",
    "lin_ce": "SELECT sum(r * r) / (sum(w) * sum(w)) FROM equal_mass",
}


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant sql` to its parser."""
    parser.option("--dialect", "engine that runs it", choices=tuple(_ERRORS), required=True)
    parser.option("--table TABLE", "the table, as it stands after FROM")
    parser.option("--label COLUMN", "labels (y_true)")
    parser.option("--proba COLUMN", "predictions (y_proba)")
    parser.option("--weight COLUMN", "weight of each row")
    parser.option("--bins N", "number of bins; default 15", type=at_least_one, default=15)


def run(options: argparse.Namespace) -> Outcome:
    """Give the macros, or the query of one table."""
    text = _macros(options) if _has_macros(options) else f"{_query(options)}\n"
    return Outcome(lambda: {"dialect": options.dialect, "sql": text}, lambda: print(text, end=""))


def _has_macros(options: argparse.Namespace) -> bool:
    """Whether macros are asked for; an error if names of columns are, and their table is not."""
    if options.dialect != "duckdb":
        return False
    names = {"--table": options.table, "--label": options.label, "--proba": options.proba}
    lacking = [name for name, value in names.items() if value is None]
    if lacking and (len(lacking) < len(names) or options.weight is not None):
        raise InputError(
            f"a query of one table needs {' and '.join(lacking)} too; macros need none of "
            "--table, --label, --proba and --weight"
        )
    return bool(lacking)


def _query(options: argparse.Namespace) -> str:
    """The query of one table. A name that no option gives is a parameter, which Spark has."""
    quote = _QUOTES[options.dialect]

    def column(name: str) -> str:
        """The column that an option names, quoted, or the parameter in its place."""
        given = getattr(options, name)
        if given is None:
            return f"IDENTIFIER(:{name})"
        return quote + given.replace(quote, 2 * quote) + quote

    return _text(
        _ALL,
        table=options.table or "IDENTIFIER(:table)",
        label=column("label"),
        proba=column("proba"),
        weight="1" if options.weight is None else column("weight"),
        bins=options.bins,
        error=_ERRORS[options.dialect],
    )


_ALL = "SELECT\n  (SELECT count(u) FROM valid) AS n,\n  " + ",\n  ".join(
    f"({text}) AS {name}" for name, text in MEASURES.items()
)


def _text(select: str, **names: Any) -> str:
    """A query after the steps that it needs, with the names of the table and its columns."""
    steps, needed = [], select
    for name, step in reversed(_STEPS.items()):
        if re.search(rf"FROM {name}\b", needed):
            steps.append(f"{name} AS ({step}\n)")
            needed += step
    return f"WITH {', '.join(reversed(steps))}\n{select}".format_map(names)


def _macros(options: argparse.Namespace) -> str:
    """DuckDB's macros: `calibrant`, a row with all measures, and one for each measure."""
    names = {name: name for name in ("label", "proba", "weight", "bins")}
    names |= {"table": "query_table(tbl)", "error": _ERRORS["duckdb"]}
    given = f"(tbl, label, proba, weight := 1, bins := {options.bins}) AS"
    return f"CREATE OR REPLACE MACRO calibrant{given} TABLE\n{_text(_ALL, **names)};\n" + "".join(
        f"CREATE OR REPLACE MACRO calibrant_{name}{given} (\n{_text(select, **names)});\n"
        for name, select in MEASURES.items()
    )
