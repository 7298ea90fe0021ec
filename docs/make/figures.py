"""Figures of the site, drawn by the library while the site is built: one for light, one for dark."""

from __future__ import annotations

import io
from collections.abc import Iterator

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen before it is loaded)

import calibrant as cal  # noqa: E402
from calibrant import examples  # noqa: E402

_DARK = {"axes.facecolor": "none", "grid.color": "#4a4f5c", "grid.linewidth": 0.5}
_STYLES = {"light": [], "dark": ["dark_background", _DARK]}
# What stands in a page, and what it is there for those who do not see it.
_SAID = {
    "before-and-after": "Reliability diagrams of the example, as trained and recalibrated: the "
    "points lie below the diagonal before, and on it after",
}


def files() -> Iterator[tuple[str, bytes]]:
    """Every figure: its path, and its content."""
    for name in _SAID:
        for scheme, style in _STYLES.items():
            with plt.style.context(["default", *style]):
                yield f"assets/{name}-{scheme}.svg", _before_and_after()


def placed(name: str) -> str:
    """A figure as Markdown, in the colours of the page."""
    return "\n".join(f"![{_SAID[name]}](assets/{name}-{s}.svg#only-{s})" for s in _STYLES)


def _before_and_after() -> bytes:
    shirt = examples.load("fashion-shirt")
    scaler = cal.BetaCalibration().fit(shirt.val_labels, shirt.val_proba)
    shown = {"as trained": shirt.test_proba, "recalibrated": scaler.transform(shirt.test_proba)}
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
    for ax, (name, p) in zip(axes, shown.items(), strict=True):
        cal.reliability(shirt.test_labels, p, bins=10).plot(ax=ax, name=name)
    figure.tight_layout()
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return drawn.getvalue()
