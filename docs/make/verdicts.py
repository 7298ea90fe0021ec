"""What the audit found, as it is kept beside the guides; a test holds it to the audit itself."""

from __future__ import annotations

import csv
from pathlib import Path

from calibrant._measures.catalogue import Measure

AUDIT = Path(__file__).parents[1] / "measures" / "audit.csv"
PROPERTIES = ("truthful", "continuous", "complete", "sound")
WORDS = {True: "yes", False: "no", None: "-"}
# What a page says of a claim that `audit.csv` has no row for.
NOT_AUDITED = {"sentence": "not audited yet"}
# (measure, shape of predictions, property) -> the row.
Verdicts = dict[tuple[str, str, str], dict[str, str]]


def verdicts() -> Verdicts:
    with AUDIT.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["measure"], row["shape"], row["property"]): row for row in rows}


def found(measure: Measure, shape: str, name: str, known: Verdicts) -> str:
    """What was found, marked where the catalogue claims otherwise; "-" where it claims nothing."""
    claim = getattr(measure.claims, name)
    row = known.get((measure.name, shape, name))
    if claim is None or row is None:
        return "-"
    return row["holds"] if row["holds"] == WORDS[claim] else f"{row['holds']} !"
