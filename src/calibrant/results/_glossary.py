"""Entry: what the catalogue says of a measure, for whoever reads a result."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._measures.catalogue import Shape, find


@dataclass(frozen=True)
class Entry:
    """A measure in the glossary of a page."""

    name: str
    title: str
    formula: str
    range: str
    better: str
    claims: dict[str, bool | None]
    reference: str
    function: str


def entry(name: str, shape: Shape) -> Entry:
    """The entry of a catalogued measure."""
    measure = find(name, shape)
    better = "higher is better" if measure.higher_is_better else "lower is better"
    return Entry(
        measure.name, measure.title, measure.formula, measure.range, better,
        dict(vars(measure.claims)), measure.reference, measure.function,
    )  # fmt: skip
