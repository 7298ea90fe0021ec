"""How long the page that measures takes for a file of many rows, dropped on it in Chromium.

    python benchmarks/measure_page.py [--rows 1000000] [--times 5]

The file has labels and predictions with all digits, as Python writes them. The time is the page's
own: from the file's bytes to the last number and line of the diagram; beside it, for machines that
are shared, the processor's time in all scripts. It needs playwright and a Chromium, as tests do.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from calibrant._api.measure_page import write_measure_page


def write_rows(path: Path, n: int) -> None:
    """Write n rows of calibrated predictions."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, n)
    y = (rng.random(n) < p).astype(int)
    with path.open("w") as file:
        file.write("y,p\n")
        file.writelines(f"{a},{b!r}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True))


def main() -> None:
    """Print what the page says after each drop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        rows, page_file = Path(name, "rows.csv"), Path(name, "measure.html")
        write_rows(rows, options.rows)
        write_measure_page(page_file)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(options.times):
            page = browser.new_page()
            page.goto(page_file.as_uri())
            devtools = page.context.new_cdp_session(page)
            devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
            data = {"items": [], "files": [str(rows)], "dragOperationsMask": 1}
            for kind in ("dragEnter", "dragOver", "drop"):
                at = {"type": kind, "x": 300, "y": 200, "data": data}
                devtools.send("Input.dispatchDragEvent", at)
            page.wait_for_selector("html[data-measured]", timeout=120_000)
            metrics = devtools.send("Performance.getMetrics")["metrics"]
            busy = next(each["value"] for each in metrics if each["name"] == "ScriptDuration")
            print(f"{page.inner_text('#status')} Of a processor {busy:.2f} s.")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
