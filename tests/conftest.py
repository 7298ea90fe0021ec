"""What must be settled before any test imports anything, and which tests share a process."""

import os
from pathlib import Path

import pytest

# Without a GPU, Triton's kernels are run by its interpreter. It reads this when it is imported,
# which importing torch does.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

TESTS = Path(__file__).parent
# Folders whose tests share what is made once: pages, and the browser that opens them.
TOGETHER = ("report_page", "site")
# What takes a process longest comes first, so that at the end no process waits for another.
FIRST = ("inference/test_coverage.py", "audits/test_audit.py", "site/test_site.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file stay together, because of what it keeps; all of Spark shares one session."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=_rank)


def _group(item: pytest.Item) -> str:
    if "spark" in item.nodeid and "sparkline" not in item.nodeid:
        return "spark"
    if not item.path.is_relative_to(TESTS):
        return "doctests"
    name = item.path.relative_to(TESTS)
    return name.parts[0] if name.parts[0] in TOGETHER else name.as_posix()


def _rank(item: pytest.Item) -> int:
    group = _group(item)
    return FIRST.index(group) if group in FIRST else len(FIRST) + (group != "spark")
