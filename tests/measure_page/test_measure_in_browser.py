"""The page that measures in a real Chromium: files dropped on it, and nothing asked for."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest
from page_files import write_files

import calibrant as cal
from calibrant._cli.command import run
from chromium import chromium

DROP = ("dragEnter", "dragOver", "drop")
MEASURES = {
    "ATB": "atb",
    "Brier score": "brier",
    "Log loss": "log_loss",
    "AUROC": "auroc",
}


class Opened:
    """The page in the browser, with what it said and what it asked for."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.said, self.asked = page, [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        self.devtools = page.context.new_cdp_session(page)
        self.n_measured = 0

    def measured(self) -> None:
        """Wait until what was given last is measured."""
        self.n_measured += 1
        self.page.wait_for_selector(f"html[data-measured='{self.n_measured}']")

    def drop(self, path: Any) -> None:
        """Drop a file on the page, as a hand does."""
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in DROP:
            at = {"type": kind, "x": 300, "y": 200, "data": data}
            self.devtools.send("Input.dispatchDragEvent", at)
        self.measured()

    def values(self) -> dict[str, float]:
        """The values in the table of measures, with all of their digits."""
        rows = self.page.locator("#measure-table tbody tr")
        return {
            rows.nth(i).locator("th").inner_text(): float(
                rows.nth(i).locator("td.number").get_attribute("title").replace("NaN", "nan")
            )
            for i in range(rows.count())
        }


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "measure.html"
    assert run(["page", "-o", str(path)]) == 0
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser, address):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    opened = Opened(page, address)
    yield opened
    assert opened.said == [] and opened.asked == [address]
    page.close()


def test_dropped_files_have_the_values_of_python(opened, tmp_path):
    for file in write_files(tmp_path, 12):
        opened.drop(file.path)
        there = cal.evaluate_file(file.path, uncertainty=False)
        here = opened.values()
        here["ece"] = here.pop("SMECE" if "SMECE" in here else "ECE")
        for name, value in here.items():
            name = MEASURES.get(name, name)
            if name in there:
                assert value == pytest.approx(there[name], abs=1e-12, nan_ok=True), name
        slope = cal.cox_calibration(file.y, file.p).slope
        assert here["Calibration slope"] == pytest.approx(slope, rel=1e-12, nan_ok=True)


def test_reversed_predictions_are_called_so_as_in_python(opened, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < 1.0 - p).astype(int)
    path = tmp_path / "reversed.csv"
    path.write_text("y,p\n" + "".join(f"{a},{b}\n" for a, b in zip(y, p, strict=True)))
    opened.drop(path)
    reason = "Predictions are ranked in reverse: the slope is below 0."
    assert opened.page.inner_text("#sentence").startswith(reason)
    assert reason in cal.report(y, p).to_html()


def test_a_fault_is_shown_and_columns_can_be_chosen(opened, tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("y,label,p\n1,0,.7\n0,1,.2\n1,0,.9\n")
    opened.drop(path)
    page = opened.page
    fault = "y_true could be the column 'y' or the column 'label' of two.csv: name one of them"
    assert page.inner_text("#fault") == fault and not page.is_visible("#results")
    page.select_option("#y_true", "y")
    opened.measured()
    assert not page.is_visible("#fault")
    assert opened.values()["ECE"] == pytest.approx(cal.ece([1, 0, 1], [0.7, 0.2, 0.9]), abs=1e-12)


def test_pasted_rows_are_text_whatever_they_hold(opened):
    page = opened.page
    page.click("summary")
    page.fill("#text", "<img src=x onerror=alert(1)>,y,p\nhttps://example.org,1,.7\nb,0,.2\n")
    page.click("#paste")
    opened.measured()
    assert page.inner_text("#of-file") == "pasted rows"
    assert page.locator("main img").count() == 0


def test_downloads_are_the_diagram_and_the_bins(opened):
    page = opened.page
    page.click("#example")
    opened.measured()
    assert page.inner_text("#verdict-word") == "Miscalibrated"
    with page.expect_download() as got:
        page.click("#csv")
    rows = list(csv.DictReader(got.value.path().read_text().splitlines()))
    assert got.value.suggested_filename == "example-calibration.csv" and len(rows) == 15
    assert sum(int(row["n"]) for row in rows) == 2000
    with page.expect_download() as got:
        page.click("#png")
    content = got.value.path().read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_both_colours(opened, scheme):
    page = opened.page
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.click("#example")
    opened.measured()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    dot = page.get_attribute("#chart circle", "fill")
    assert dot == page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--one').trim()"
    )


def test_the_policy_forbids_every_request(browser, address):
    page = browser.new_page()
    page.goto(address)
    broken = page.evaluate(
        """async () => {
          const broken = [];
          addEventListener("securitypolicyviolation", (e) => broken.push(e.effectiveDirective));
          await fetch("https://example.org/").catch(() => 0);
          const image = new Image();
          image.src = "https://example.org/x.png";
          document.head.append(Object.assign(document.createElement("script"), { text: "1" }));
          await new Promise((done) => setTimeout(done, 200));
          return broken;
        }"""
    )
    assert sorted(broken) == ["connect-src", "img-src", "script-src-elem"]
    page.close()
