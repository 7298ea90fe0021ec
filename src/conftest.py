"""Which source files are read for examples: each of them is imported in every process of a run."""

import re
from pathlib import Path

PROMPT = re.compile(r"^ *>>> (?!.*# doctest: \+SKIP)", re.MULTILINE)
# What imports a heavy package that few tests need has its examples run by its own tests.
RUN_ELSEWHERE = {"integrations/evaluate_metric.py", "integrations/torchmetrics.py"}
PACKAGE = Path(__file__).parent / "calibrant"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.suffix != ".py":
        return None
    if any(collection_path == PACKAGE / name for name in RUN_ELSEWHERE):
        return True
    return PROMPT.search(collection_path.read_text(encoding="utf-8")) is None or None
