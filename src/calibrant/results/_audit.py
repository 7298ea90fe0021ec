"""Audit: which properties measures have, with witnesses."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from calibrant._core.errors import InputError, counted
from calibrant.results._base import Record, TableOfRows
from calibrant.results._notebook import html_box, html_details, html_list, html_table
from calibrant.results._rendering import as_markdown, shown
from calibrant.results._text_tables import as_text

_WORDS = {True: "yes", False: "no", None: "?"}


@dataclass(frozen=True, eq=False)
class AuditVerdict(Record):
    """One property of one measure: whether it holds, what is claimed, and what shows it.

    Attributes
    ----------
    measure, shape, property : str
        What was tested, and for "binary" or "multiclass" predictions.
    holds : bool or None
        Whether the property holds; None where nothing could be decided.
    claim : bool or None
        What the catalogue claims.
    evidence : dict of str to float
        The numbers that decide.
    witness : dict or None
        Enough to compute the numbers again: see `Audit.replay`.
    sentence : str
        The finding in words.

    Examples
    --------
    >>> from calibrant.results import AuditVerdict
    >>> AuditVerdict("ece", "binary", "truthful", False, False, {}, None, "a bias pays").agrees
    True
    """

    _json_keys = "measure shape property holds claim agrees evidence witness sentence"

    measure: str
    shape: str
    property: str
    holds: bool | None
    claim: bool | None
    evidence: dict[str, float]
    witness: dict[str, Any] | None
    sentence: str

    @builtins.property
    def agrees(self) -> bool | None:
        """Whether the finding is what the catalogue claims; None where it claims nothing."""
        if self.claim is None:
            return None
        return self.holds is self.claim

    def __repr__(self) -> str:
        claim = "" if self.claim is None else f", claimed {_WORDS[self.claim]}"
        return (
            f"AuditVerdict({self.measure} ({self.shape}) {self.property}: "
            f"{_WORDS[self.holds]}{claim}; {self.sentence})"
        )


Replay = Callable[[AuditVerdict], dict[str, float]]


@dataclass(frozen=True, eq=False, repr=False)
class Audit(TableOfRows[AuditVerdict]):
    """Which properties measures have: a row per measure, shape and property.

    Made by `audit`. It is true if every claim is confirmed, so that ``assert audit("ece")`` can
    fail.

    Attributes
    ----------
    rows : tuple of AuditVerdict
        The findings.
    notes : tuple of str
        What to know about them.
    recipe : dict
        The options that give the same findings again.
    replay_fn : callable or None
        Computes the numbers of a row from its witness.

    Examples
    --------
    >>> from calibrant.results import Audit, AuditVerdict
    >>> row = AuditVerdict("ece", "binary", "truthful", False, False, {}, None, "a bias pays")
    >>> found = Audit((row,), (), {})
    >>> bool(found), found.table()["truthful"]
    (True, ['no'])
    """

    _json_keys = "rows borne_out notes recipe"
    _json_types: ClassVar = {"borne_out": bool}

    rows: tuple[AuditVerdict, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    replay_fn: Replay | None = None

    def __bool__(self) -> bool:
        """Whether every claim is confirmed."""
        return not self.disagreements

    def verdict(self, measure: str, property: str, shape: str | None = None) -> AuditVerdict:
        """Give one row.

        Parameters
        ----------
        measure : str
            Name of the measure.
        property : str
            Name of the property.
        shape : {"binary", "multiclass"}, optional
            Needed where the measure was audited for both.

        Returns
        -------
        AuditVerdict
            The finding.
        """
        matches = [
            row
            for row in self.rows
            if (row.measure, row.property) == (measure, property) and shape in (None, row.shape)
        ]
        if not matches:
            raise InputError(f"this audit has no row for {measure!r} and {property!r}")
        if len(matches) > 1:
            raise InputError(
                f"{measure!r} was audited for both shapes: say shape='binary' or 'multiclass'"
            )
        return matches[0]

    def replay(self, row: AuditVerdict) -> dict[str, float]:
        """Compute the numbers of a row again, from its witness alone.

        Parameters
        ----------
        row : AuditVerdict
            A row with a witness.

        Returns
        -------
        dict of str to float
            The numbers, as in its `evidence`.
        """
        if row.witness is None or self.replay_fn is None:
            raise InputError(f"there is no witness to replay: {row.sentence}")
        return self.replay_fn(row)

    @property
    def disagreements(self) -> tuple[AuditVerdict, ...]:
        """The rows that do not confirm what is claimed: refuted, or undecided."""
        return tuple(row for row in self.rows if row.agrees is False)

    @property
    def refuted(self) -> tuple[AuditVerdict, ...]:
        """The rows that show the opposite of what is claimed."""
        return tuple(row for row in self.disagreements if row.holds is not None)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per measure, shape and property.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        names = ("measure", "shape", "property", "holds", "claim", "agrees", "sentence")
        return {name: self._values(name) for name in names}

    def table(self) -> dict[str, list[Any]]:
        """Give a row per measure and shape, a column per property.

        Returns
        -------
        dict of str to list
            Columns of equal length; "!" marks what is claimed otherwise.
        """
        by_measure: dict[tuple[str, str], dict[str, str]] = {}
        for row in self.rows:
            by_measure.setdefault((row.measure, row.shape), {})[row.property] = _verdict_text(row)
        properties = list(dict.fromkeys(row.property for row in self.rows))
        out: dict[str, list[Any]] = {
            "measure": [measure for measure, _ in by_measure],
            "shape": [shape for _, shape in by_measure],
        }
        out.update({p: [cells.get(p, "-") for cells in by_measure.values()] for p in properties})
        return out

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in JSON; that of `borne_out` says if all claims hold."""
        return bool(self) if attribute == "borne_out" else super()._json_item(attribute)

    def to_markdown(self) -> str:
        """Give the table and the findings as Markdown.

        Returns
        -------
        str
            Two tables.
        """
        notes = [f"{note}\n" for note in self._messages()]
        findings = ["## Findings", "", as_markdown(self.columns()), ""]
        return "\n".join([f"# {self.title}", "", *notes, as_markdown(self.table()), "", *findings])

    def save(self, folder: Any) -> Path:
        """Write audit.csv, audit.json and audit.md to a folder, which is made if need be.

        Parameters
        ----------
        folder : str or path
            Where to write.

        Returns
        -------
        pathlib.Path
            The folder.
        """
        import csv

        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        with (where / "audit.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns())
            rows = zip(*self.columns().values(), strict=True)
            writer.writerows([[shown(cell) for cell in row] for row in rows])
        (where / "audit.json").write_text(self.to_json(), encoding="utf-8")
        (where / "audit.md").write_text(self.to_markdown(), encoding="utf-8")
        return where

    @property
    def title(self) -> str:
        """The number of measures, in one line."""
        n = len({(row.measure, row.shape) for row in self.rows})
        return f"Audit of {counted(n, 'measure', '')}"

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: how many claims hold, each that does not, and notes."""
        claimed = [row for row in self.rows if row.claim is not None]
        wrong = tuple(f"! {row!r}" for row in self.disagreements)
        if not claimed:
            return (*wrong, *self.notes)
        confirmed = sum(row.agrees is True for row in claimed)
        return (
            f"{confirmed} of {counted(len(claimed), 'claim', '')} confirmed",
            *wrong,
            *self.notes,
        )

    @property
    def _has_few(self) -> bool:
        """Whether it has so few measures that each finding is printed in words."""
        return len({(row.measure, row.shape) for row in self.rows}) <= 2

    def __repr__(self) -> str:
        messages = "".join(f"  {line}\n" for line in self._messages())
        text = f"{self.title}\n{messages}\n" + as_text(self.table(), indent="  ")
        if not self._has_few:
            return text
        lines = "\n".join(f"  {row.property}: {row.sentence}" for row in self.rows)
        return f"{text}\n\n{lines}"

    def _repr_html_(self) -> str:
        """The result as HTML, which notebooks show."""
        return html_box(
            html_table(self.table(), self.title),
            html_list(self._messages()),
            html_details("Findings", html_table(self.columns())),
        )


def _verdict_text(row: AuditVerdict) -> str:
    """The text of a row (a verdict on a property) in the table of properties.

    It is "yes", "no" or "?", with " !" where the claim is not confirmed. For the property
    `bin_sensitivity` it is the share `flips` of the evidence as a percentage.
    """
    if row.property == "bin_sensitivity":
        return f"{row.evidence['flips']:.0%}"
    return _WORDS[row.holds] + (" !" if row.agrees is False else "")
