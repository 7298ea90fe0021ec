"""Figures and tables of a page as files, made by a click in a real browser."""

from __future__ import annotations

import csv
import io
import struct

import pytest

import calibrant as cal
from printed import printed


def saved_by(page, button):
    """The name and the bytes of the file that a click on a button writes."""
    with page.expect_download() as waiting:
        button.click()
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def button(page, after, kind):
    return page.locator(f"{after} + .take button", has_text=kind)


@pytest.fixture
def dark(look, fashion):
    """The page in the dark: pictures of it are in the light."""
    opened = look(fashion.path, scheme="dark")
    yield opened.page
    assert opened.said == []
    # Nothing from a network, and nothing but the page itself, and what it wrote, from elsewhere.
    assert [url for url in opened.asked if not url.startswith(("data:", "blob:"))] == [
        fashion.path.as_uri()
    ]


def test_every_figure_and_table_has_its_buttons(dark):
    charts, tables = dark.locator(".chart").count(), dark.locator("table").count()
    # The diagram and its counts are one figure.
    assert dark.locator(".take").count() == charts - 1 + tables
    names = dark.eval_on_selector_all(".take button", "all => all.map(b => b.ariaLabel)")
    assert len(names) == 3 * (charts - 1) + tables and len(set(names)) == len(names)


def test_numbers_of_the_diagram(dark, fashion):
    name, content = saved_by(dark, button(dark, "#counts", "CSV"))
    assert name == "fashion-reliability-diagram.csv"
    columns = cal.reliability(fashion.y, fashion.p).intervals(0.95)
    rows = rows_of(content)
    assert [int(row["n"]) for row in rows] == columns["n"]
    for key in ("mean_predicted", "mean_target", "gap", "low", "high"):
        for row, wanted in zip(rows, columns[key], strict=True):
            assert row[key] == "" or float(row[key]) == pytest.approx(wanted, rel=1e-7, abs=1e-12)
            assert (row[key] == "") == (wanted != wanted)


def test_a_drawing_is_whole_and_light(dark):
    name, content = saved_by(dark, button(dark, "#counts", "SVG"))
    text = content.decode()
    assert name == "fashion-reliability-diagram.svg" and text.startswith("<svg xmlns=")
    assert "var(" not in text and 'fill="#ffffff"' in text and "#0a65a8" in text
    assert "mean confidence" in text and "share of rows" in text
    assert dark.evaluate("document.documentElement.dataset.theme") is None


def test_a_picture_is_a_png_of_three_dots_a_point(dark):
    name, content = saved_by(dark, button(dark, "#counts", "PNG"))
    assert name == "fashion-reliability-diagram.png" and content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    box = dark.locator("#diagram svg").bounding_box()
    assert width == pytest.approx(3 * box["width"], abs=6) and height > width
    # Not empty: the first pixels of an empty canvas would compress to next to nothing.
    assert len(content) > 20_000


def test_tables_have_numbers_and_limits_in_columns(dark, fashion):
    table = dark.locator("table.measures").first
    name, content = saved_by(
        dark, dark.locator(".table-box:has(table.measures) + .take button").first
    )
    rows = rows_of(content)
    assert (
        name == "fashion-headline-measures.csv" and len(rows) == table.locator("tbody tr").count()
    )
    for row in rows:
        estimate = fashion.report.evaluation.estimate(row["measure"])
        assert float(row["estimate"]) == estimate.estimate and row["title"] == estimate.title
        assert float(row["sample value"]) == estimate.value
        assert row["95% interval low"] == printed(estimate.interval.low)
        assert row["95% interval high"] == printed(estimate.interval.high)


def test_names_that_would_be_code_are_text(look, nasty):
    page = look(nasty.path).page
    _, content = saved_by(page, page.locator(".table-box:has(#class-table) + .take button"))
    assert {row["class"] for row in rows_of(content)} == {
        " ".join(name.split()) for name in nasty.report.evaluation.classes["class"]
    }


FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-a", "@SUM(A1)", "＝1")


def test_names_that_would_be_formulas_are_text(look, fashion, tmp_path):
    y, p = fashion.y[:400], fashion.p[:400]
    right = (p.argmax(axis=1) == y).astype(int)
    models = {name: p.max(axis=1) ** (1 + i) for i, name in enumerate(FORMULAS)}
    found = cal.compare(right, models, measures=["brier"], n_resamples=50)
    page = look(found.save(tmp_path / "formulas.html")).page
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    _, content = saved_by(page, button(page, "#ranks", "CSV"))
    rows = rows_of(content)
    assert {row["predictor"] for row in rows} == {f"'{name}" for name in FORMULAS}
    _, content = saved_by(page, button(page, "#differences", "CSV"))
    cells = [cell for row in rows_of(content) for cell in row.values()]
    numbers = [cell for cell in cells if cell.startswith("-")]
    assert numbers and all(float(cell) < 0 for cell in numbers)  # these stay numbers
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def test_a_drawing_of_curves_names_them(look, compared):
    page = look(compared.path).page
    _, content = saved_by(page, button(page, "#curves", "SVG"))
    text = content.decode()
    assert text.count("as is") == 1 and "&#60;script&#62;" in text and "<script" not in text
    page.uncheck("input[name=series] >> nth=0")
    _, content = saved_by(page, button(page, "#curves", "CSV"))
    assert {row["predictor"] for row in rows_of(content)} == set(compared.p) - {"as is"}
    page.check("input[name=series] >> nth=0")
    page.select_option("#measure", label="ece")
    _, content = saved_by(page, button(page, "#ranks", "CSV"))
    assert [row["predictor"] for row in rows_of(content)] == compared.report.order("ece")


def test_no_two_tables_have_one_name(look, pair):
    page = look(pair.path).page
    names = []
    for table in page.locator("table[data-what^='slices of']").all():
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        at = table.locator(
            "xpath=ancestor::*[contains(@class, 'table-box')]/following-sibling::*[1]"
        )
        names.append(saved_by(page, at.locator("button"))[0])
    assert len(names) == 2 and names[1] == names[0].replace(".csv", "-2.csv")


def test_what_is_cut_is_shaded_at_the_edge(look, fashion):
    boxes = look(fashion.path, width=400).page.locator(".table-box")
    looks = boxes.evaluate_all("all => all.map(b => getComputedStyle(b).backgroundAttachment)")
    assert set(looks) == {"local, local, scroll, scroll"}
