"""A real Chromium for the tests that open pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from needs import need

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = [
    # Pages of our own, from disk: a sandbox inside a container would only fail to start.
    "--no-sandbox",
    # What drops down from the bar of addresses, drawn unseen, took a second of every start.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
]


def _found() -> str | None:
    told = os.environ.get("CALIBRANT_CHROMIUM")
    return told or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A started browser; skip without one, or fail where everything must be there.

    It runs on an event loop of the process, of which there can be one: start it for a module of
    tests, not for a session, or the next user of a loop fails.
    """
    api = need("playwright.sync_api")
    path = _found()
    if path is None:
        give_up = pytest.fail if os.environ.get("CALIBRANT_REQUIRE_ALL") == "1" else pytest.skip
        give_up("there is no Chromium to open pages with")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=_OPTIONS)
        yield started
        started.close()
