"""Node, and what the script of the page that measures finds in files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from calibrant._api.measure_page import measure_config

PAGES = Path(__file__).parents[2] / "src" / "calibrant" / "results" / "_pages"
DRIVER = Path(__file__).with_name("measure_files.js")


def program(name: str) -> str:
    """The path of a program; skip without it, or fail where every program must be there."""
    found = shutil.which(name)
    if found is None:
        give_up = pytest.fail if os.environ.get("CALIBRANT_REQUIRE_ALL") == "1" else pytest.skip
        give_up(f"{name} is not installed")
    return found


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function from files to what the script finds in each."""
    node = program("node")
    config = tmp_path_factory.mktemp("config") / "config.json"
    config.write_text(json.dumps(measure_config()))

    def measure(files: list[Path]) -> list[dict[str, Any]]:
        command = [node, DRIVER, PAGES / "measure.js", config, *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return measure
