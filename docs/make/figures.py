"""Figures of the site, drawn by the library while the site is built."""

from __future__ import annotations

import io

import diagram_figures
from matplotlib.figure import Figure

import calibrant as cal
from calibrant import examples


def files() -> dict[str, bytes]:
    """Every figure: its path, and its content."""
    return {"assets/before-and-after.svg": _before_and_after(), **diagram_figures.files()}


def placed(name: str) -> str:
    """A figure as Markdown, with what it shows for those who do not see it."""
    return f"![{_SAID[name]}](assets/{name}.svg)"


_SAID = {
    "before-and-after": "Reliability diagrams of the example, as trained and recalibrated: the "
    "points lie below the diagonal before, and on it after",
    **diagram_figures.SAID,
}


def _before_and_after() -> bytes:
    shirt = examples.load("fashion-shirt")
    scaler = cal.BetaCalibration().fit(shirt.val_labels, shirt.val_proba)
    shown = {"as trained": shirt.test_proba, "recalibrated": scaler.transform(shirt.test_proba)}
    figure = Figure(figsize=(9, 4.4), layout="tight")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (name, p) in zip(axes, shown.items(), strict=True):
        cal.reliability(shirt.test_labels, p, bins=10).plot(ax=ax, name=name)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
