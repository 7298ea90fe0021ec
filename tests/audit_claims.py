"""What is asked of an audit: of six measures in `make test`, of the catalogue in `make long`."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from pathlib import Path

import pytest

import calibrant as cal
from calibrant._research.audits.audit import PROPERTIES
from calibrant.results import Audit

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "research" / "audit.md"
KEPT = DOCS / "measures" / "audit.csv"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def hold_claims(audit: Audit, names: Collection[str]) -> None:
    """Every claim of these measures was tried and borne out, and nothing else was tried."""
    assert [repr(row) for row in audit.disagreements] == []
    tried = {(row.measure, row.shape, row.property) for row in audit.rows if row.agrees}
    for shape in ("binary", "multiclass"):
        for measure in cal.catalogue(shape):
            for name in PROPERTIES[:-1]:
                claimed = measure.name in names and getattr(measure.claims, name) is not None
                assert ((measure.name, shape, name) in tried) is claimed
    for row in audit.rows:
        assert row.sentence
        assert row.holds is not False or row.witness


def hold_witnesses(audit: Audit, name: str, least: int) -> None:
    """Each witness of the property, called again, has the numbers of its row."""
    rows = [row for row in audit.rows if row.property == name and row.witness]
    assert len(rows) >= least
    for row in rows:
        again = audit.replay(row)
        assert again == {key: pytest.approx(row.evidence[key], abs=1e-12) for key in again}
        assert len(again) >= 2


def hold_kept_rows(audit: Audit, folder: Path) -> int:
    """The audit's rows are those that the measures' pages show; how many there are."""
    saved = audit.save(folder / "now")
    kept, now = (
        {(row["measure"], row["shape"], row["property"]): row for row in _read(path)}
        for path in (KEPT, saved / "audit.csv")
    )
    for key, new in now.items():
        old = kept[key]
        old_said, new_said = old.pop("sentence"), new.pop("sentence")
        assert old == new
        assert NUMBER.sub("#", old_said) == NUMBER.sub("#", new_said)
        numbers = [[float(n) for n in NUMBER.findall(said)] for said in (old_said, new_said)]
        # Machines round differently, and a step that is left is a rounding.
        assert numbers[1] == pytest.approx(numbers[0], rel=0.02, abs=1e-3)
    return len(kept)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
