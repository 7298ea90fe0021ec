"""Where a figure is drawn: on the caller's axes, or on a new figure in the house style."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant.results._plots.figure_cells import fill_cell
from calibrant.results._plots.style import COLUMN, COLUMN_STYLE, GREY, Looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Fonts for writing systems that DejaVu Sans lacks; those that are installed are used.
_MORE_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "IPAexGothic",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
)
# The mark (gid) of axes that were made here: later curves on them get the same style. The second is
# that of axes on a figure whose size was chosen, which is kept.
_OURS = "calibrant axes"
_OF_CHOSEN_SIZE = "calibrant axes, chosen size"
# The size of a figure that fits into one column of a paper, in inches.
_COLUMN_SIZE = (COLUMN, 2.6)
# The size of a figure: None for the usual one, "column", or (width, height) in inches.
Size = str | tuple[float, float] | None


class Drawn:
    """What is common to every Display: the figure it is on, and how to save it.

    Attributes
    ----------
    figure_ : matplotlib Figure or SubFigure
        Where it is drawn.
    """

    figure_: Any
    ax_: Axes
    axes_: list[Axes]
    # The sentences of the caption, set by `plot`; empty ones are left out.
    _sentences: list[str]

    if not TYPE_CHECKING:  # else a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with a hint for names that Matplotlib users look for."""
            hint = f": {_HINTS[name]}" if name in _HINTS else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def caption(self) -> str:
        """Explain the figure in sentences, to be printed under it.

        Returns
        -------
        str
            What the marks, intervals, bins, bands and colors of the figure are.
        """
        if getattr(self, "figure_", None) is None:
            raise InputError("nothing has been drawn yet: call plot() first")
        return " ".join(sentence for sentence in self._sentences if sentence)

    def save(self, path: Any, *, dpi: float = 300) -> Path:
        """Write the figure to a file.

        No date goes into the file: the same program makes the same bytes.

        Parameters
        ----------
        path : str or path
            The file; its ending is the format: .pdf and .svg are vectors, .png has pixels.
        dpi : float, default 300
            Dots per inch, for .png.

        Returns
        -------
        pathlib.Path
            The file.
        """
        if getattr(self, "figure_", None) is None:
            raise InputError("nothing has been drawn yet: call plot() first")
        where = Path(path)
        dates: dict[str, Any] = {".pdf": "CreationDate", ".svg": "Date", ".ps": "CreationDate"}
        key = dates.get(where.suffix.lower())
        figure = self.figure_.figure  # the whole figure, of a subfigure too
        # A layout that makes room keeps the figure's size.
        box = None if figure.get_layout_engine() is not None else "tight"
        no_date = None if key is None else {key: None}
        with _pyplot().rc_context(_style()):
            figure.savefig(where, dpi=dpi, metadata=no_date, bbox_inches=box)
        return where

    @contextmanager
    def _canvas(
        self, ax: Axes | None, usual: tuple[float, float], size: Size = None
    ) -> Iterator[Axes]:
        """Yield the axes of a Display with one diagram, and keep them as `ax_` and `figure_`.

        They are the caller's `ax`, or if that is None, new ones. The new figure has the `size` that
        was chosen, or else the `usual` one, (width, height) in inches.
        """
        with canvas(ax, usual, size) as axes:
            self.ax_, self.figure_ = axes, axes.figure
            yield axes

    @contextmanager
    def _panels(
        self,
        ax: Axes | None,
        shape: tuple[int, int],
        usual: tuple[float, float],
        size: Size = None,
        **shared: bool,
    ) -> Iterator[list[Axes]]:
        """Yield the axes of a Display with several diagrams, kept as `axes_` and `figure_`.

        `shape` is (rows, columns) of the grid of diagrams. A single diagram is drawn on `ax`
        itself; several replace it. If `ax` is None, a new figure is made, of the `size` that was
        chosen, or else of the `usual` one. `shared` are `sharex` and `sharey`, as for `panels`.
        """
        if shape == (1, 1):
            with canvas(ax, usual, size) as axes:
                self.axes_, self.figure_ = [axes], axes.figure
                yield self.axes_
            return
        with panels(ax, *shape, usual, size, **shared) as (figure, grid):
            self.axes_, self.figure_ = list(grid.flat), figure
            yield self.axes_


class DrawnFromPredictions(Drawn):
    """A Display with constructors for predictions and for classifiers, in scikit-learn's style.

    They compute the result that is drawn, and so they live above the results: `calibrant.plots`
    adds them, with every option in the signature.
    """

    @classmethod
    def from_predictions(cls, y_true: Any, y_proba: Any, **options: Any) -> Self:
        """Draw the diagram of labels and predictions.

        Here it raises an error that names `calibrant.plots`, which puts the working one in its
        place.
        """
        raise InputError(f"use calibrant.plots.{cls.__name__}.from_predictions")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:  # noqa: N803
        """Draw the diagram of a fitted classifier.

        Here it raises an error that names `calibrant.plots`, which puts the working one in its
        place.
        """
        raise InputError(f"use calibrant.plots.{cls.__name__}.from_estimator")


# Hints for attributes that Matplotlib users look for.
_HINTS = {
    "savefig": "save(path) writes the figure",
    "to_file": "save(path) writes the figure",
    "show": "matplotlib.pyplot.show() shows it, and notebooks do by themselves",
    "fig": "figure_ is the Matplotlib figure",
    "figure": "figure_ is the Matplotlib figure",
    "ax": "ax_ or axes_ is what it is drawn on",
    "axes": "ax_ or axes_ is what it is drawn on",
}


def _pyplot() -> Any:
    """Import `matplotlib.pyplot`; where it is not installed, an error says how to install it."""
    return need("matplotlib.pyplot", "drawing a diagram")


@contextmanager
def canvas(ax: Axes | None, usual: tuple[float, float], size: Size = None) -> Iterator[Axes]:
    """Yield the axes to draw one diagram on, in a context with the style they were made in.

    They are the caller's `ax`, or if that is None, those of a new figure of the `size` that was
    chosen, or else of the `usual` one.
    """
    inches = figure_size(ax, usual, size)
    if ax is not None:
        with style_context(ax):
            yield ax
        return
    pyplot = _pyplot()
    with pyplot.rc_context(_style()):
        _, new = pyplot.subplots(figsize=inches, layout="constrained")
        new.set_gid(_OURS if size is None else _OF_CHOSEN_SIZE)
        yield new


def figure_size(ax: Axes | None, usual: tuple[float, float], size: Size) -> tuple[float, float]:
    """The width and height in inches of a new figure: the `size` that was chosen, or the `usual`.

    A size beside the caller's `ax` is an error, and so is one that is neither "column" nor two
    positive numbers.
    """
    if size is None:
        return usual
    if ax is not None:
        raise InputError("give size= or ax=, not both: axes are as large as their figure has them")
    if size == "column":
        return _COLUMN_SIZE
    pair = None if isinstance(size, str) else tuple(size)
    if pair is None or len(pair) != 2 or not all(each > 0 for each in pair):
        raise InputError(
            f"size must be 'column' ({COLUMN} x {_COLUMN_SIZE[1]} inches) or (width, height) in "
            f"inches; got {size!r}"
        )
    return float(pair[0]), float(pair[1])


@contextmanager
def panels(
    ax: Axes | None,
    rows: int,
    columns: int,
    usual: tuple[float, float],
    size: Size = None,
    **shared: bool,
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure for several diagrams, and an array of axes on it of shape (rows, columns).

    If `ax` is None, the figure is a new one of the `size` that was chosen, or else of the `usual`
    one. Otherwise it is a subfigure that replaces `ax`; axes that are in no grid of subplots are an
    error. With ``sharex=True`` or ``sharey=True`` in `shared`, the axes have that axis in common.
    """
    inches = figure_size(ax, usual, size)
    if ax is None:
        pyplot = _pyplot()
        with pyplot.rc_context(_style()):
            figure = pyplot.figure(figsize=inches, layout="constrained")
            axes = figure.subplots(rows, columns, squeeze=False, **shared)
            for each in axes.flat:
                each.set_gid(_OURS if size is None else _OF_CHOSEN_SIZE)
            yield figure, axes
        return
    spec = ax.get_subplotspec()
    if spec is None:
        raise InputError(
            "ax must be one of plt.subplots(): several diagrams are drawn in its place, and axes "
            "that were placed by hand have no cell"
        )
    ax.set_axis_off()
    subfigure: Any = ax.figure.add_subfigure(spec)
    if ax.figure.figure.get_layout_engine() is None:
        fill_cell(subfigure, ax)
    with style_context(ax):
        yield subfigure, subfigure.subplots(rows, columns, squeeze=False, **shared)


def style_frame(ax: Axes, *, grid: Literal["both", "x", "y"] = "both", **settings: Any) -> None:
    """Style the frame of a diagram: spines on the left and below, and a pale grid behind the data.

    `grid` says which axis has grid lines. `settings` are those of `Axes.set`: limits, labels and
    the like.
    """
    ax.set(**settings)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(color=GREY, linewidth=0.8)
    ax.grid(True, axis=grid, color="#e8e8e8", linewidth=0.6)
    ax.set_axisbelow(True)


def frame_strip(over: Axes, label: str) -> None:
    """Style the axes of a strip (a low plot over a diagram): a line below, small labels, no grid.

    `over` are the axes of the strip, and `label` is that of its vertical axis.
    """
    over.spines[["left", "right", "top"]].set_visible(False)
    over.spines["bottom"].set(color=GREY, linewidth=0.8)
    over.tick_params(labelsize="small", length=0)
    over.grid(False)
    looks: Looks = {"rotation": 0, "ha": "right", "va": "center"} if "\n" in label else {}
    over.set_ylabel(label, fontsize="small", **looks)


def fill_band(ax: Axes, x: Any, low: Any, high: Any, color: Any, **looks: Any) -> Any:
    """Shade the band from `low` to `high` along `x`, behind the curve, and return the artist.

    `looks` are options of `Axes.fill_between`; they replace the usual ones.
    """
    usual: Looks = {"color": color, "alpha": 0.2, "linewidth": 0, "zorder": 1.5}
    return ax.fill_between(x, low, high, **{**usual, **looks})


def is_new_figure(ax: Axes) -> bool:
    """Whether the axes are on a figure that Calibrant made, and are not the caller's."""
    return ax.get_gid() in (_OURS, _OF_CHOSEN_SIZE)


def has_chosen_size(ax: Axes) -> bool:
    """Whether the axes are on a figure of Calibrant whose size was chosen and is kept."""
    return bool(ax.get_gid() == _OF_CHOSEN_SIZE)


def style_context(ax: Axes) -> Any:
    """A context manager with the style for drawing on the axes.

    Axes that Calibrant made get the house style; the caller's axes keep theirs.
    """
    if is_new_figure(ax):
        return _pyplot().rc_context(_style())
    return nullcontext()


def fit_height(ax: Axes) -> None:
    """Fit the height of a figure that Calibrant made to its content; its width stays.

    The height of a square diagram with a strip over it and a legend under it is known after drawing
    only. Diagrams beside one another are fitted together. A figure of the caller and one of a
    chosen size are not changed.
    """
    if not is_new_figure(ax) or has_chosen_size(ax):
        return
    figure: Any = ax.figure
    for each in figure.axes:
        each.set_anchor("N")  # keeps the strip next to the square
    figure.set_figheight(3 * figure.get_figwidth())
    # Lay the figure out without drawing it, which would take as long again.
    figure.get_layout_engine().execute(figure)
    figure.set_figheight(figure.get_tightbbox().height + 0.08)


def _style() -> dict[str, Any]:
    """The matplotlib settings of the house style, with the installed fonts of `_MORE_FONTS`."""
    from matplotlib import font_manager

    installed = set(font_manager.fontManager.get_font_names())
    more = [name for name in _MORE_FONTS if name in installed]
    return {**COLUMN_STYLE, "font.family": ["DejaVu Sans", *more]}
