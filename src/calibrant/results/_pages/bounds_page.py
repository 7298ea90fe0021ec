"""The page of bounds over labels that are sets."""

from __future__ import annotations

from typing import Any

from calibrant.results._pages import charts
from calibrant.results._pages.page import render_page, table_columns
from calibrant.results._pages.provenance import checked_name, checked_source, versions
from calibrant.results._plots.diagram_parts import x_label_of


def bounds_page(bounds: Any, name: str | None, source: Any) -> str:
    """The page of bounds, as one HTML text: the diagram of the bins, and the measures' tables.

    `bounds` are `Bounds`, `name` is the title, and `source` says where the rows come from.
    """
    table, bins = bounds.reliability, bounds.reliability.display_columns()
    spec = charts.reliability_diagram(x_label_of(table.near.notion), "mean label")
    return render_page(
        "bounds.html",
        {"kind": "bounds", "bins": table_columns(table.bars(), 0.95), "specs": {"diagram": spec}},
        title=checked_name(name, "Bounds over sets of labels"),
        bounds=bounds,
        bins={"heads": list(bins), "rows": list(zip(*bins.values(), strict=True))},
        source=checked_source(source),
        versions=versions(),
    )
