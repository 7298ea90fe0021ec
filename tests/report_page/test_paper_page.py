"""The page of a paper in a real browser: on a phone, in the dark, and printed."""

from __future__ import annotations

import pytest

from calibrant._research.papers.folder import Reproduction, Section, Table


@pytest.mark.parametrize("width", [400, 1000])
def test_tables_fit_screen_and_sheet(browser, tmp_path, width) -> None:
    """Captions are read without scrolling, and a printed table has all its columns."""
    wide = Table(
        "wide",
        "A caption of so many words that it is wider than a phone, which it must not be.",
        {f"column {i}": [0.123456, 1.5] for i in range(12)},
    )
    section = Section("A section", (), (wide,))
    path = tmp_path / "page.html"
    text = Reproduction("small", "A title", "A paper", (section,)).to_html()
    path.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media="screen", color_scheme="dark")
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    words = "r => { const t = document.createRange(); t.selectNodeContents(r); return t"
    right = page.eval_on_selector("caption", f"{words}.getBoundingClientRect().right }}")
    assert right <= width
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) != "rgb(255, 255, 255)"
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 718, "height": 900})  # an A4 sheet within its margins
    edge = "t => t.getBoundingClientRect().right"
    assert page.eval_on_selector("table", edge) <= 718
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.close()
