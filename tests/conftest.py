"""What must be settled before any test imports anything, and which tests share a process."""

import gc
import os
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

from group_scheduler import GroupScheduling
from limits import set_limits as set_limits

# Without a GPU, Triton's kernels are run by its interpreter. It reads this when it is imported,
# which importing torch does.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Side by side, each process has one core: threads of BLAS and torch would only wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# Drawings open no window.
os.environ.setdefault("MPLBACKEND", "Agg")

# Read already: no module of examples.
collect_ignore = ["conftest.py"]

# Whether nothing has been compiled here that could be read again.
FRESH = not (sys.dont_write_bytecode or (Path(__file__).parent / "laws" / "__pycache__").exists())

# Folders whose tests share what is made once: pages, and the browser that opens them.
TOGETHER = ("report_page", "site")
# Packages that take a process seconds to import; all of Spark shares one session, too.
HEAVY = ("spark", "mlflow", "evaluate_metric")
# What takes a process longest comes first, so that at the end no process waits for another.
FIRST = ("golden/test_golden.py", "site", "report_page", "spark")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `engine_name` runs on every engine, unless its mark names some."""
    marked = any(
        "engine_name" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")
    )
    if "engine_name" in metafunc.fixturenames and not marked:
        from every_engine import ENGINES

        metafunc.parametrize("engine_name", ENGINES)


@pytest.fixture(autouse=True)
def _long_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are looked for whole: how they are broken into lines has tests of its own."""
    monkeypatch.setenv("COLUMNS", "2000")


def pytest_runtest_teardown() -> None:
    """Twenty open figures are a warning, and so a failure of whichever test opens the next one."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a fresh checkout one process imports first, and the others what it has compiled.

    (Compiling and rewriting takes twice as long as all else; mypy has the other core meanwhile.)
    """
    gc.disable()
    if FRESH and _worker(session) not in ("", "gw0"):
        until = time.monotonic() + 300
        while not _collected(session).exists() and time.monotonic() < until:
            time.sleep(0.2)


def pytest_collection_finish(session: pytest.Session) -> None:
    # Modules and tests stay to the end: looking for what is not used any more passes them over, and
    # is not begun again for each thousand objects, of which one drawing makes more.
    gc.freeze()
    gc.set_threshold(5_000, 10, 20)
    gc.enable()
    if FRESH and _worker(session) == "gw0":
        _collected(session).touch()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _worker(session):
        gc.freeze()  # what tests have left goes with the process
    else:
        gc.unfreeze()  # what libraries then say of what is left is of no use
    if FRESH and _worker(session) == "gw0":
        _collected(session).unlink(missing_ok=True)


def _worker(session: pytest.Session) -> str:
    return getattr(session.config, "workerinput", {}).get("workerid", "")


def _collected(session: pytest.Session) -> Path:
    run = session.config.workerinput["testrunuid"]
    return Path(tempfile.gettempdir()) / f"calibrant-collected-{run}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> GroupScheduling | None:
    if config.getoption("dist") != "loadgroup":
        return None
    return GroupScheduling(len(config.getoption("tx")), _group)


@cache
def _group(nodeid: str) -> str:
    """Tests of a file stay together, because of what it keeps, and those of a heavy package."""
    for package in HEAVY:
        if package in nodeid.replace("sparkline", ""):
            return package
    _, _, name = nodeid.split("::")[0].partition("/")
    room = name.split("/")[0]
    return room if room in TOGETHER else name


def _rank(nodeid: str) -> int:
    group = _group(nodeid)
    return FIRST.index(group) if group in FIRST else len(FIRST)
