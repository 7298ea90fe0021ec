"""The pictures of the README and the first page, in light and dark, into docs/assets.

    .venv/bin/python docs/make/pictures.py

They are kept in the repository, because a README has no build. Chromium takes the report page,
matplotlib draws the diagram; both show the example that comes with the library.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant import examples

ASSETS = Path(__file__).parents[1] / "assets"
SCHEMES = ("light", "dark")
# What is light on paper, and what stands for it on a dark page.
DARK = {
    "#333333": "#d7dde3",
    "#8a8a8a": "#8b949e",
    "#b0b0b0": "#6e7681",
    "#e6e6e6": "#30363d",
    "#e8e8e8": "#30363d",
}
PAPER = {"light": "white", "dark": "#0d1117"}


def diagram(scheme: str) -> Any:
    """A network's predictions before and after recalibration."""
    shirt = examples.load("fashion-shirt")
    y, p = shirt.test_labels, shirt.test_proba
    scaler = cal.BetaCalibration().fit(shirt.val_labels, shirt.val_proba)
    display = cal.reliability(y, p, bins=10).plot(name="as trained")
    cal.reliability(y, scaler.transform(p), bins=10).plot(name="recalibrated", ax=display.ax_)
    figure = display.ax_.figure
    figure.set_facecolor(PAPER[scheme])
    if scheme == "dark":
        _darken(figure)
    return figure


def _darken(figure: Any) -> None:
    """Every colour of ink, grid and paper of a drawing, on a dark page."""
    from matplotlib.colors import to_hex

    dark = {**DARK, "#000000": "#e6edf3", "#ffffff": PAPER["dark"]}
    for thing in figure.findobj():
        for kind in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
            get, put = (getattr(thing, f"{verb}_{kind}", None) for verb in ("get", "set"))
            colour = get() if get and put else None
            if isinstance(colour, str) or (colour is not None and len(colour) in (3, 4)):
                shown = to_hex(colour, keep_alpha=True)
                if shown[:7] in dark and shown[7:] != "00":
                    put(dark[shown[:7]] + shown[7:])


def page(folder: Path) -> Path:
    """The report page of ten classes."""
    fashion = examples.load("fashion")
    made = cal.report(
        fashion.test_labels, fashion.test_proba, classes=fashion.class_names, name="Fashion-MNIST"
    )
    return Path(made.save(folder / "page.html"))


def photograph(browser: Any, path: Path, scheme: str) -> bytes:
    """The first screen of a page, as it is seen."""
    tab = browser.new_page(
        viewport={"width": 1120, "height": 1040}, device_scale_factor=1.25, color_scheme=scheme
    )
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready=yes]")
    taken: bytes = tab.screenshot()
    tab.close()
    return taken


def smaller(picture: bytes) -> bytes:
    """The same picture in 128 colours: a page has no more that matter."""
    from PIL import Image

    out = io.BytesIO()
    reduced = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    reduced.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    import matplotlib as mpl
    from playwright.sync_api import sync_playwright

    mpl.use("Agg")
    for scheme in SCHEMES:
        drawn = io.BytesIO()
        diagram(scheme).savefig(drawn, dpi=220, bbox_inches="tight", pad_inches=0.1)
        (ASSETS / f"diagram-{scheme}.png").write_bytes(smaller(drawn.getvalue()))
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    path = os.environ.get("CALIBRANT_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        made = page(Path(folder))
        for scheme in SCHEMES:
            taken = smaller(photograph(browser, made, scheme))
            (ASSETS / f"report-{scheme}.png").write_bytes(taken)
        browser.close()


if __name__ == "__main__":
    main()
