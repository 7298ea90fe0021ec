"""`calibrant monitor`: a state that files are added to, window by window, and what it says."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.options import READS_FILES, add_columns
from calibrant._cli.output import (
    Outcome,
    check_page_options,
    check_writable,
    print_status,
)
from calibrant._cli.parsing import Parser, at_least_one, distinct_names, replace_options
from calibrant._cli.states import load_state, lock_state
from calibrant._cli.terminal import print_wrapped, spinner
from calibrant._core.atomic_files import atomic_write
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of
from calibrant._data.readers.find import is_state

if TYPE_CHECKING:
    from calibrant._api.streaming.monitor import Monitor
    from calibrant._data.readers.read_rows import Rows
    from calibrant.results._windows import Windows

ALARMED = 1
DESCRIPTION = (
    "Add files to the saved state of a Monitor, and print its time "
    "windows: errors, the errors that "
    "chance alone would show, and evidence against calibration that may be looked at any number of "
    "times. A state that does not exist is created. It keeps sums and no rows, so a file that was "
    f"added before is an error. {READS_FILES}"
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant monitor` to its parser."""
    parser.add_argument("state", metavar="STATE", help="the file of the state")
    parser.option("--update FILE", "files, folders or patterns to add", nargs="+")
    parser.option("--again", "add files even if their content was added before")
    parser.option("--time COLUMN", "with --update: the column of times")
    parser.option(
        "--groups COLUMN",
        "the column that names the cluster of each row (patient, session); each cluster counts "
        "once, and its rows must be in one window and one file",
    )
    parser.option("-o --out PAGE", "also write a page with a time axis (.html)")
    parser.option("--metrics FILE", "also write the newest window as OpenMetrics text (.prom)")
    begun = parser.group("only when creating a new state")
    begun.option(
        "--every WIDTH",
        "the width of windows, such as 1d (default), 6h or 15m; 1w "
        "starts on Monday, 1w-sun on Sunday",
    )
    begun.option("--keep N", "the number of windows to keep; older ones are merged")
    begun.option(
        "--measures NAME,...", "the measures that windows will have, or all", type=_measures
    )
    begun.option(
        "--by COLUMN,...",
        "also keep windows for each value of these columns, with evidence and alarms of their own",
        type=distinct_names,
    )
    add_columns(parser)
    parser.option(
        "--bins BINS", "when creating a state: its bins, as in `calibrant report`; default 15"
    )
    parser.option(
        "--start TIME", "print windows from this start on; earlier ones still count as evidence"
    )
    parser.option(
        "--stop TIME",
        "print windows before this start; later ones are no evidence and raise no --alarm",
    )
    parser.option(
        "--baseline N|STATE|FIRST..LAST",
        "compare each window with the N windows before it, or with accepted rows: those of a saved "
        "state, or windows of this one from FIRST to LAST, both included. The error of accepted "
        "rows raises no alarm",
        type=_baseline,
    )
    parser.option(
        "--alarm",
        "end with exit code 1 if there is an alarm (with accepted rows: an alarm of a change)",
    )
    parser.option("--details", "print all windows with all columns, not the last 20 alone")
    parser.option("--title TITLE", "the title of the page")


def _measures(text: str) -> list[str] | str:
    """Parse the value of --measures: a list of names, or "all"."""
    measures = distinct_names(text)
    return "all" if measures == ["all"] else measures


def _baseline(text: str) -> int | str | tuple[str | None, str]:
    """Parse the value of --baseline: a number of windows, FIRST..LAST, or the name of a state."""
    if text.isdecimal():
        return at_least_one(text)
    start, dots, stop = text.partition("..")
    is_span = dots and not os.path.exists(text) and stop and "/" not in text
    return (start or None, stop) if is_span else text


def _read_baseline(given: int | str | tuple[str | None, str] | None, every: str) -> Any:
    """The baseline that --baseline names, with a saved state loaded; windows are `every` so long.

    The library takes a span of windows as all others: without the one that begins at its end.
    """
    if isinstance(given, tuple):
        from calibrant._api.streaming.spans import window_width
        from calibrant._data.times import moment, single

        first, last = given
        stop = single(last, "--baseline") + window_width(every).us
        return first, moment(stop).isoformat()
    if not isinstance(given, str):
        return given
    if not is_state(Path(given)):
        raise InputError(
            f"--baseline is {given!r}: give a number of windows, the file of a state with accepted "
            "rows, or FIRST..LAST of windows of this state"
        )
    return load_state(given)


def run(options: argparse.Namespace) -> Outcome:
    """Add files to the state if there are any, then evaluate its windows and write the page."""
    check_page_options(options.out, options.title)
    if options.again and options.update is None:
        raise InputError("--again needs --update FILE, the files to add")
    for path in (options.out, options.metrics):
        check_writable(path, [options.state, *(options.update or ())], options.format)
    monitor = _load_monitor(options) if options.update is None else _add_files(options)
    if not monitor.n_rows:
        raise InputError(f"{options.state} holds no rows yet: add some with --update FILE")
    baseline = _read_baseline(options.baseline, monitor.every)
    windows = monitor.evaluate(start=options.start, stop=options.stop, baseline=baseline)
    if options.out is not None:
        source = {"state": os.path.basename(options.state), "rows": f"{monitor.n_rows:,}"}
        windows.save(options.out, name=options.title, source=source)
        print_status(f"written: {options.out}")
    is_fixed = baseline is not None and not isinstance(baseline, int)
    if options.metrics is not None:
        _write_metrics(windows, options)
    alarm = windows.change_alarm if is_fixed else windows.alarm
    of_slices = windows.slices is not None and windows.slices.alarms
    code = ALARMED if options.alarm and (alarm is not None or of_slices) else 0
    title = f"{options.state}: {counted(monitor.n_rows, 'row')}"

    def show() -> None:
        """Print the notes and the windows."""
        from calibrant._cli.tables import print_windows

        print_windows(windows, title, details=options.details)
        if not options.details:
            print_wrapped("  --details prints all windows and columns")

    return Outcome(windows.to_dict, show, code)


def _write_metrics(windows: Windows, options: argparse.Namespace) -> None:
    """Write the newest window to the file of --metrics, at once: scrapes read whole files."""
    name = options.title or Path(options.state).stem
    with atomic_write(options.metrics) as beside:
        beside.write_text(windows.to_openmetrics(model=name), encoding="utf-8")
    print_status(f"written: {options.metrics}")


def _add_files(options: argparse.Namespace) -> Monitor:
    """Add files to the saved state, or begin a new one, and save it, all under a lock."""
    check_writable(options.state, options.update, options.format)
    with lock_state(options.state):
        begun = os.path.exists(options.state)
        monitor = _load_monitor(options) if begun else None
        before = (0, 0) if monitor is None else (monitor.n_rows, _n_dropped(monitor))
        monitor = _add_each_file(monitor, options)
        monitor.save(options.state)
    dropped = _n_dropped(monitor) - before[1]
    less = f", {dropped:,} dropped: something is missing in them" if dropped else ""
    print_status(
        f"written: {options.state}, {counted(monitor.n_rows - before[0], 'row')} added{less}"
    )
    return monitor


def _n_dropped(monitor: Monitor) -> int:
    """Count the rows of a monitor that were dropped for a missing value or time."""
    return monitor.n_missing + monitor.n_without_time


def _monitor_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Collect the options by which a new monitor is made, as arguments of `Monitor`.

    Options that the user did not give are left out.
    """
    given = {
        "every": options.every,
        "keep": options.keep,
        "bins": options.bins,
        "measures": options.measures,
        "from_logits": options.from_logits or None,
        "grouped": None if options.groups is None else True,
        "by": options.by,
    }
    return {name: value for name, value in given.items() if value is not None}


def _load_monitor(options: argparse.Namespace) -> Monitor:
    """Load the monitor; raise an error if options differ from those it was made with."""
    from calibrant._api.streaming.monitor import Monitor
    from calibrant._core.errors import StateError

    if not os.path.exists(options.state):
        raise InputError(
            f"there is no state {options.state!r} yet: create it with --update FILE --time COLUMN"
        )
    try:
        monitor = Monitor.load(options.state)
    except OSError as error:
        raise StateError(f"{options.state} cannot be read: {error.strerror}") from error
    if monitor.by is not None and options.by is None and options.update is not None:
        # A state knows its columns: who adds to it need not name them again.
        options.by = list(monitor.by)
    asked = Monitor(**_monitor_arguments(options))
    own, other = (
        {**each.recipe(), "bins": str(each.rule), "grouped": each.grouped}
        for each in (monitor, asked)
    )
    if monitor.grouped and options.update is not None and options.groups is None:
        raise InputError(
            f"{options.state} counts clusters: name their column with --groups, as when it was "
            "created"
        )
    if options.groups is not None and not monitor.grouped:
        raise _option_differs(options.state, "groups", "without clusters")
    for name in _monitor_arguments(options):
        if own.get(name) != other.get(name):
            before = "all" if name == "measures" and own[name] is None else own.get(name)
            raise _option_differs(options.state, name, f"with {before!r}")
    return monitor


def _option_differs(state: str, argument: str, how: str) -> InputError:
    """Make the error for an option that differs from the one a state was made with.

    `how` says how it was made: "without clusters", "with '1d'".
    """
    return InputError(
        f"{name_of(argument)}: {state} was created {how}, and sums "
        "cannot be changed: leave it out, "
        "or create another state"
    )


def _add_each_file(monitor: Monitor | None, options: argparse.Namespace) -> Monitor:
    """Add the rows of each file to the monitor, or to a new one for None, and return it.

    One file at a time is in memory. It is an error if a file was added before, unless --again is
    given.
    """
    from calibrant._api.streaming.added_files import AddedFiles
    from calibrant._api.streaming.monitor import Monitor
    from calibrant._data.readers.read_rows import read_rows
    from calibrant._data.readers.recognise import find_files

    if options.time is None:
        raise InputError("--update needs the times of the rows: --time COLUMN")
    own = replace_options(
        options, keep=None
    )  # --keep counts windows here; elsewhere it names columns
    if monitor is not None:
        missing = monitor.recipe()["missing"]
        if options.missing == "drop" and missing != "drop":
            raise _option_differs(options.state, "missing", f"with {missing!r}")
        own = replace_options(own, missing=missing)
    for file in find_files(options.update, options.format):
        if monitor is not None and own.classes is None:
            own = replace_options(own, classes=monitor.recipe()["classes"])
        with spinner(str(file.path)):
            seen = AddedFiles() if monitor is None or options.again else monitor.added
            added = seen.check_new(file)
            rows = read_rows(inputs.request_of(own, str(file.path)))
            if monitor is None:
                # All files get the class order of the first.
                classes = inputs.class_texts(rows)
                monitor = Monitor(
                    classes=classes, missing=options.missing, **_monitor_arguments(options)
                )
            _add_rows(monitor, rows, options, str(file.path))
            monitor.added.add([added])
    assert monitor is not None
    return monitor


def _add_rows(monitor: Monitor, rows: Rows, options: argparse.Namespace, path: str) -> None:
    """Add the rows of the file at `path` to the monitor.

    Rows that the reader dropped are added with NaN as predictions: the monitor drops them again,
    and counts them in their window.
    """
    import numpy as np

    from calibrant._data.slice_names import row_names

    classes, drops = monitor.recipe()["classes"], monitor.recipe()["missing"] == "drop"
    times = rows.others[options.time] if drops else rows.other("time", options.time)
    labels, predictions, weights = rows.y_true, rows.y_proba, rows.sample_weight
    clusters, slices = inputs.groups_of(rows, options.groups), inputs.slices_of(rows, options.by)
    if classes is not None and labels.ndim == 1 and labels.dtype.kind in "iu":
        labels = np.array(classes)[labels]
    if rows.n_missing:
        gone = rows.others_dropped
        times = np.concatenate([times, gone[options.time]])
        labels = np.concatenate([labels, np.repeat(labels[:1], rows.n_missing, axis=0)])
        empty = np.full((rows.n_missing, *predictions.shape[1:]), np.nan)
        predictions = np.concatenate([predictions, empty])
        weights = None if weights is None else np.append(weights, np.ones(rows.n_missing))
        if clusters is not None:
            clusters = np.concatenate([clusters, gone[options.groups].astype(str)])
        if slices is not None:
            more = row_names([gone[name] for name in options.by])
            slices = np.concatenate([slices, more])
    try:
        monitor.update(
            labels,
            predictions,
            time=_as_times(times),
            sample_weight=weights,
            groups=clusters,
            by=slices,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _as_times(values: Any) -> Any:
    """Convert a column into times: numbers are seconds since 1970, texts are ISO times.

    Texts that are all numbers are seconds too, unless one is a day such as 20240131. Missing times
    become None, or NaN among numbers.
    """
    import numpy as np

    if values.dtype.kind in "iuf":
        return values
    given = [None if value is None or value != value else value for value in values.tolist()]
    texts = [None if value is None else str(value) for value in given]
    if any(isinstance(value, str) and _DAY.fullmatch(value) for value in given):
        return texts
    try:
        return np.array([np.nan if text is None else float(text) for text in texts])
    except ValueError:
        return texts


# A day in ISO 8601 without hyphens. A text of these digits is a date, not seconds since 1970.
_DAY = re.compile(r"\s*(?:19|20)\d\d[01]\d[0-3]\d\s*")
