"""The moving picture of the README: a terminal, and the page that its command writes.

    .venv/bin/python docs/make/moving_picture.py

The commands are run in a terminal of their own, on the example's files; what they print is shown as
they print it. Chromium draws the terminal and the page. The picture is kept as docs/assets.
"""

from __future__ import annotations

import html
import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).parents[1] / "assets" / "five-minutes.webp"
WIDTH, HEIGHT = 960, 600
COLUMNS, ROWS = 100, 26
# The commands of docs/start/five-minutes.md.
LOOK = "calibrant report predictions.csv -o page.html"
FIX = "calibrant scale --fit validation.csv --apply predictions.csv -o corrected.csv"
CHECK = "calibrant check corrected.csv --max ece=0.05"

_SCREEN = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #0d1117; color: #d7dde3; overflow: hidden; }
div { height: 30px; background: #21262d; font: 13px/30px sans-serif; color: #8b949e; }
div::before { content: "● ● ●"; padding: 0 12px; letter-spacing: 2px; }
pre { margin: 0; padding: 10px 14px; font: 15px/21px "DejaVu Sans Mono", monospace; }
b { color: white; } .green { color: #56d364; } .red { color: #ff7b72; } .yellow { color: #e3b341; }
i { background: #d7dde3; }
</style><div>Terminal</div><pre>%s</pre>"""
_FRAME = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #0d1117; overflow: hidden; }
div { height: 30px; background: #d0d7de; font: 13px/30px sans-serif; color: #57606a; }
div::before { content: "● ● ●"; padding: 0 12px; letter-spacing: 2px; }
iframe { border: 0; width: 960px; height: 570px; background: white; }
</style><div>page.html</div><iframe src="page.html"></iframe>"""
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_COLOURS = {"1": "<b>", "31": '<span class="red">', "32": '<span class="green">',
            "33": '<span class="yellow">'}  # fmt: skip


def printed(command: str, folder: str) -> list[str]:
    """What a command prints in a terminal, line by line, as HTML; progress is not shown."""
    words = [sys.executable, "-m", *command.split()]
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": str(COLUMNS - 1), "LINES": str(ROWS), "TERM": "xterm-256color"}
    silent = subprocess.DEVNULL
    with subprocess.Popen(words, cwd=folder, env=env, stdout=theirs, stderr=silent) as running:
        os.close(theirs)
        text = b"".join(_read(ours)).decode()
    if running.returncode:
        raise RuntimeError(f"{command} ended with {running.returncode}:\n{text}")
    return [_as_html(line) for line in text.replace("\r\n", "\n").rstrip("\n").split("\n")]


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            yield os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return


def _as_html(line: str) -> str:
    """A line of a terminal: of what was written over, only the last."""
    line = re.split(r"\r|\x1b\[2K", line)[-1]
    parts = _SGR.split(line)
    shown, opened = [], []
    for number, part in enumerate(parts):
        if number % 2 == 0:
            shown.append(html.escape(re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", part)))
            continue
        for code in part.split(";"):
            if code in ("", "0"):
                shown += [f"</{tag[1:].split(' ')[0].rstrip('>')}>" for tag in reversed(opened)]
                opened = []
            elif code in _COLOURS:
                shown.append(_COLOURS[code])
                opened.append(_COLOURS[code])
    return "".join(shown)


class Film:
    """Pictures of a browser's tab, and how long each is shown, in milliseconds."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.pictures: list[Any] = []
        self.times: list[int] = []

    def take(self, time: int) -> None:
        from PIL import Image

        self.pictures.append(Image.open(io.BytesIO(self.tab.screenshot())).convert("RGB"))
        self.times.append(time)

    def type(self, above: list[str], command: str) -> None:
        """A command is typed below what is on the screen."""
        for end in [*range(0, len(command), 4), len(command)]:
            line = f'<span class="green">$</span> {html.escape(command[:end])}<i> </i>'
            self.screen([*above, line], 70 if end < len(command) else 500)

    def screen(self, lines: list[str], time: int) -> None:
        self.tab.set_content(_SCREEN % "\n".join(lines[:ROWS]))
        self.take(time)

    def page(self, folder: Path) -> None:
        """The page from its top to its diagram."""
        (folder / "frame.html").write_text(_FRAME, encoding="utf-8")
        self.tab.goto((folder / "frame.html").as_uri())
        frame = self.tab.frames[-1]
        frame.wait_for_selector("html[data-ready=yes]")
        self.take(3000)
        for top in range(0, 901, 60):
            frame.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
            self.take(60)
        self.times[-1] = 2500

    def save(self, path: Path) -> None:
        first, *others = self.pictures
        first.save(
            path, "WEBP", save_all=True, append_images=others, duration=self.times, loop=0,
            quality=70, method=6, minimize_size=False,
        )  # fmt: skip


def _prompt(command: str) -> str:
    return f'<span class="green">$</span> {html.escape(command)}'


def shoot(film: Film, folder: Path) -> None:
    """Look, fix and check, as the page on five minutes does."""
    film.type([], LOOK)
    film.screen([_prompt(LOOK), *printed(LOOK, str(folder))], 4000)
    film.page(folder)
    film.type([], FIX)
    printed(FIX, str(folder))
    film.type([_prompt(FIX), "..."], CHECK)
    done = [_prompt(FIX), "...", _prompt(CHECK), *printed(CHECK, str(folder))]
    film.screen(done, 4000)


def main() -> None:
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    path = os.environ.get("CALIBRANT_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        printed("calibrant demo -o .", name)
        (folder / "test.csv").rename(folder / "predictions.csv")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        film = Film(browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}))
        shoot(film, folder)
        film.save(PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
