"""Every example in the guide to recalibration runs and prints what it says."""

import doctest
from pathlib import Path

from needs import need

GUIDE = Path(__file__).parents[2] / "docs" / "recalibration.md"


def test_guide_examples():
    need("sklearn")
    failures, tried = doctest.testfile(str(GUIDE), module_relative=False)
    assert tried > 20
    assert failures == 0
