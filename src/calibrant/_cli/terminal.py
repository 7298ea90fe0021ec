"""The terminal: its width, a reliability diagram in letters, colours where they can be seen.

Colours come from rich, which keeps to NO_COLOR; without it, or into a pipe, text is plain.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from calibrant._core.lines import wrapped

if TYPE_CHECKING:
    from calibrant.results._reliability import ReliabilityTable

# Columns of a line at most, and of a pipe, which does not say how wide it is.
MOST_COLUMNS, FEWEST_COLUMNS = 100, 40
# Letters are about twice as high as wide, so this is a square.
WIDTH, HEIGHT = 61, 25
PLAIN, WARNING, GOOD, BAD, FAINT = "", "yellow", "green", "red", "dim"
# A text and its style, as rich names it.
Styled = tuple[str, str]


@dataclass(frozen=True)
class Signs:
    """The characters that a diagram is drawn with.

    `inside` marks a bin whose interval contains its mean prediction, `outside` one whose interval
    does not. `limit` draws the intervals; `wall`, `floor`, `tick` and `corner` the axes. `heights`
    are bars for the numbers of rows, from none to the most.
    """

    inside: str
    outside: str
    limit: str
    diagonal: str
    curve: str
    wall: str
    floor: str
    tick: str
    corner: str
    heights: str


FANCY = Signs("●", "✕", "│", "·", "∿", "│", "─", "┤", "└", " ▁▂▃▄▅▆▇█")
ASCII = Signs("o", "x", "|", ".", "~", "|", "-", "+", "+", " .:-=+*%#@")


def visible(text: str) -> str:
    """Escape control characters, which could move the cursor: texts may come from files."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def columns_of(file: TextIO) -> int:
    """The columns that a line may have: those of COLUMNS, else of the terminal, 100 at most."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), FEWEST_COLUMNS)
    try:
        own = os.get_terminal_size(file.fileno()).columns or MOST_COLUMNS
    except (OSError, ValueError, AttributeError):  # a pipe or a file
        own = MOST_COLUMNS
    return min(max(own, FEWEST_COLUMNS), MOST_COLUMNS)


def print_wrapped(text: str, *, file: TextIO | None = None, hanging: str = "") -> None:
    """Print a sentence in lines that fit the terminal, with control signs escaped."""
    file = sys.stdout if file is None else file
    for line in wrapped(visible(text), columns_of(file), hanging=hanging):
        print(line, file=file)


def console_of(file: TextIO) -> Any:
    """Make a rich console; None if text must be plain: no terminal, or rich is not installed."""
    if not file.isatty() or importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console

    return Console(file=file, highlight=False)


def print_styled(text: str, style: str = PLAIN, *, hanging: str = "") -> None:
    """Print a sentence in lines that fit, in a style of rich (a colour, bold) if there are any."""
    console = console_of(sys.stdout)
    if console is None or not style:
        print_wrapped(text, hanging=hanging)
        return
    from rich.text import Text

    for line in wrapped(visible(text), columns_of(sys.stdout), hanging=hanging):
        console.print(Text(line, style=style), soft_wrap=True)


def print_diagram(table: ReliabilityTable, *, level: float, file: TextIO) -> None:
    """Print the reliability diagram of a table, in colour if the terminal has it."""
    console = console_of(file)
    for line in diagram(table, level=level, signs=_signs(file)):
        if console is None:
            print("".join(text for text, _ in line).rstrip(), file=file)
        else:
            from rich.text import Text

            console.print(Text.assemble(*line), no_wrap=True, crop=True)


def _signs(file: TextIO) -> Signs:
    """Choose the characters of a diagram: plain ASCII if the file's encoding lacks the others."""
    try:
        "●✕│·∿┤└─▁█".encode(file.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return FANCY


def diagram(table: ReliabilityTable, *, level: float, signs: Signs = FANCY) -> list[list[Styled]]:
    """Draw the reliability diagram, mean target against mean prediction, in characters.

    It has a point and an interval at this level for each bin, the number of rows below, and the
    isotonic curve if the rows are in memory. Returns lines of styled texts.
    """
    cells: dict[tuple[int, int], Styled] = {
        (_line_from_top(x / (WIDTH - 1)), x): (signs.diagonal, FAINT) for x in range(WIDTH)
    }
    curve = table.curve(band=False)
    if curve is not None:
        ends = curve.points["prediction"][[0, -1]]
        for x in range(_letter_column(ends[0]), _letter_column(ends[1]) + 1):
            height = float(curve.at(min(max(x / (WIDTH - 1), ends[0]), ends[1])))
            cells[_line_from_top(height), x] = (signs.curve, "cyan")
    bins = table.intervals(level)
    columns = (bins[name] for name in ("mean_predicted", "mean_target", "low", "high"))
    for prediction, target, low, high in zip(*columns, strict=True):
        if prediction != prediction:  # NaN: an empty bin
            continue
        inside = low <= prediction <= high
        x, style = _letter_column(prediction), GOOD if inside else BAD
        for y in range(_line_from_top(high), _line_from_top(low) + 1):
            cells[y, x] = (signs.limit, style)
        sign = signs.inside if inside else signs.outside
        cells[_line_from_top(target), x] = (sign, f"bold {style}")
    lines: list[list[Styled]] = [[("mean target", FAINT)]]
    for y in range(HEIGHT):
        mark = {0: "1.0", HEIGHT // 2: "0.5", HEIGHT - 1: "0.0"}.get(y)
        edge = f"{mark} {signs.tick}" if mark else f"    {signs.wall}"
        lines.append([(edge, FAINT), *(cells.get((y, x), (" ", PLAIN)) for x in range(WIDTH))])
    middle = WIDTH // 2
    axis = f"0.0{' ' * (middle - 3)}0.5{' ' * (middle - 3)}1.0"
    lines.append([(f"    {signs.corner}{signs.floor * WIDTH}", FAINT)])
    lines.append([(f"    {axis} mean prediction", FAINT)])
    lines.append([("rows ", FAINT), (_draw_row_counts(bins, signs.heights), "cyan")])
    caption = f"{level:.0%} intervals of a bin's mean target"
    inside, outside = (f"{signs.inside} holds", GOOD), (f"{signs.outside} misses", BAD)
    fitted = [] if curve is None else [(f"{signs.curve} isotonic curve; ", "cyan")]
    marks = [inside, (", ", FAINT), outside, (" its mean prediction", FAINT)]
    lines.append([*fitted, (f"{caption}: ", FAINT), *marks])
    return lines


def _letter_column(value: float) -> int:
    """The column of the diagram, counted from the left, for a prediction in [0, 1]."""
    return round(min(max(value, 0.0), 1.0) * (WIDTH - 1))


def _line_from_top(value: float) -> int:
    """The line of the diagram, counted from the top, for a target in [0, 1]."""
    return HEIGHT - 1 - round(min(max(value, 0.0), 1.0) * (HEIGHT - 1))


def _draw_row_counts(bins: dict[str, list[Any]], signs: str) -> str:
    """Draw the number of rows of each bin as a bar of `signs`; a single row is still visible."""
    largest = max(bins["n"])
    out = [" "] * WIDTH
    for n, lower, upper in zip(bins["n"], bins["lower"], bins["upper"], strict=True):
        height = -(-n * (len(signs) - 1) // largest) if largest else 0
        start = _letter_column(lower)
        for x in range(start, max(_letter_column(upper), start + 1)):
            out[min(x, WIDTH - 1)] = signs[height]
    return "".join(out)


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner with this text on standard error, if a terminal, while the body runs."""
    console = console_of(sys.stderr)
    if console is None:
        yield
        return
    with console.status(text):
        yield
