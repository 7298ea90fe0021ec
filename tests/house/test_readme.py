"""Every example in the README runs and prints what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_readme_examples():
    pytest.importorskip("pandas")
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 10
    assert failures == 0
