"""The parts of a reliability diagram: the empty square, the strip of counts, the legend."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.errors import InputError, one_of
from calibrant.results._plots.canvas import fill_band, frame_strip, style_frame
from calibrant.results._plots.legends import LegendOption, place_legend
from calibrant.results._plots.style import FULL_ROWS, GREY, Looks
from calibrant.results._plots.typing import CurveData, ReliabilityData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The mark (gid) of each curve that is drawn here: they are counted, so that a second curve on the
# same axes takes the next colour.
CURVE = "calibrant reliability"
# Prefix that marks the curve of the rows in a diagram of bins; the name of the method follows.
FITTED = "calibrant curve of the rows: "
# The mark and label of bins that lie outside the band of a smoothed curve and are drawn over it.
OUTSIDE = "bins outside its band"
# Prefix that marks the shaded interval of predictions; the text of the legend follows.
CUTOFF = "calibrant cutoff: "
# The mark of bins with few rows, which are drawn paler.
_FEW_ROWS = f"pale: < {FULL_ROWS} rows"
# The label of the shaded gaps of a diagram of bars.
GAPS = "gap"
# Bottom, width and height of the strip in units of the square.
_STRIP = (1.04, 1.0, 0.15)
# The label that marks the strip, for curves that are drawn later.
_COUNTS = "calibrant counts"
_DIAGONAL: Any = {"color": GREY, "linewidth": 1, "linestyle": (0, (4, 3))}


def fitted_curve(
    table: ReliabilityData, curve: str | None, level: float | None
) -> CurveData | None:
    """The curve fitted to the rows of a table by the method `curve`; None if `curve` is None.

    "default" is the isotonic curve, or None where no rows are in memory; "isotonic" and "local"
    then are an error. `level` is that of the curve's band; with None the curve has no band.
    """
    if curve is None:
        return None
    one_of("curve", curve, ("default", "isotonic", "local"))
    method = "isotonic" if curve == "default" else curve
    shown = {"band": False} if level is None else {"level": level}
    fitted = table.curve(method, **shown)
    if fitted is None and curve != "default":
        raise InputError(
            f"curve={curve!r} needs rows, and this table has none in memory: it is of a stream, a "
            "file read in parts or a lazy frame, or its arrays are gone. curve=None draws the bins"
        )
    return fitted


def bin_cells(table: ReliabilityData, level: float | None) -> tuple[dict[str, Any], Any]:
    """The columns of a table as arrays, (bins,) each, and a mask of the bins with positive weight.

    If `level` is not None, limits of the mean target, `low` and `high`, are among the columns.
    """
    columns = table.columns() if level is None else table.intervals(level)
    cells = {key: np.asarray(values, dtype=np.float64) for key, values in columns.items()}
    return cells, cells["weight"] > 0


def count_curves(ax: Axes) -> int:
    """The number of reliability curves already drawn on the axes."""
    return sum(line.get_gid() == CURVE for line in ax.get_lines())


def draw_empty_diagram(ax: Axes, x_label: str, y_label: str, ref_line: bool) -> int:
    """Draw an empty square diagram if the axes have no curve; return the number of curves.

    With `ref_line` it has the diagonal.
    """
    from matplotlib.ticker import MaxNLocator

    if count_curves(ax):
        return count_curves(ax)
    style_frame(ax, xlim=(0, 1), ylim=(0, 1), xlabel=x_label, ylabel=y_label)
    ax.set_box_aspect(1)
    for axis in (ax.xaxis, ax.yaxis):  # every 0.2, or on small axes every 0.5
        axis.set_major_locator(MaxNLocator(nbins="auto", steps=[2, 5, 10]))
    if ref_line:
        ax.plot([0, 1], [0, 1], zorder=2, **_DIAGONAL)
    return 0


def diagonal_entry() -> Any:
    """The legend's entry of the diagonal."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label="perfect calibration", **_DIAGONAL)


def draw_fitted(ax: Axes, curve: CurveData, looks: Mapping[str, Any]) -> Any:
    """Draw a curve that is fitted to the rows over the bins of a diagram, and return its line.

    `looks` are options of `Axes.plot`.
    """
    points = curve.columns()
    own: Looks = {**looks, "marker": "none", "zorder": 2.8, "gid": FITTED + curve.called}
    (line,) = ax.plot(points["prediction"], points["mean_target"], **own)
    return line


def draw_band(ax: Axes, curve: CurveData, colour: Any) -> Any:
    """Shade a curve's band, and return the artist.

    A band of kind "consistency", where calibrated predictions would lie, is about the diagonal and
    grey. The other kinds are about the curve, in its colour.
    """
    points = curve.columns()
    level = percent(curve.level)
    words = {
        "consistency": f"{level} band if calibrated",
        "confidence": f"{level} interval, simultaneous",
        "pointwise": f"{level} interval, pointwise",
    }
    looks = {"color": GREY, "alpha": 0.25} if curve.band == "consistency" else {"color": colour}
    ends = (points[name] for name in ("prediction", "low", "high"))
    return fill_band(ax, *ends, gid=words[str(curve.band)], **looks)


def _band_entry(ax: Axes, label: str) -> Any:
    """The legend's entry for the bands with this label.

    It has the colour of the bands, or is grey if curves of several colours have such a band.
    """
    from matplotlib.patches import Patch

    faces: list[Any] = [each.get_facecolor() for each in ax.collections if each.get_gid() == label]
    colours: set[Any] = {tuple(face[0]) for face in faces if len(face)}
    if len(colours) == 1:
        return Patch(facecolor=colours.pop(), linewidth=0, label=label)
    return Patch(facecolor=GREY, alpha=0.35, linewidth=0, label=label)


def pale_bins(ax: Axes, line: Any, opacity: Any) -> None:
    """Make the markers of bins with few rows paler.

    `opacity` has the opacity of each point of `line`: a point below 1 gets a new marker of that
    opacity in place of the line's.
    """
    few = opacity < 1.0
    if not few.any() or line.get_marker() in (None, "", " ", "None", "none"):
        return
    line.set_markevery(np.flatnonzero(~few).tolist())
    ax.scatter(
        line.get_xdata()[few],
        line.get_ydata()[few],
        s=line.get_markersize() ** 2,
        marker=line.get_marker(),
        color=line.get_color(),
        edgecolors=line.get_markeredgecolor(),
        linewidths=line.get_markeredgewidth(),
        alpha=opacity[few],
        zorder=line.get_zorder(),
        clip_on=line.get_clip_on(),
        gid=_FEW_ROWS,
    )


def prediction_label(notion: str) -> str:
    """The label of the axis of single predictions.

    With the `notion` "confidence" predictions are those of the top label; otherwise they are
    probabilities.
    """
    return "confidence" if notion == "confidence" else "predicted probability"


def x_label_of(notion: str) -> str:
    """The label of the axis of bins' mean predictions.

    With the `notion` "confidence" predictions are those of the top label; otherwise they are
    probabilities.
    """
    return "mean confidence" if notion == "confidence" else "mean predicted probability"


def y_label_of(notion: str, is_hard: bool) -> str:
    """The label of the axis of bins' mean targets.

    With the `notion` "confidence" targets say whether the top label is right. `is_hard` says that
    all targets are 0 or 1, and none is a soft label.
    """
    if not is_hard:
        return "mean soft label" + (" of the top class" if notion == "confidence" else "")
    return "accuracy" if notion == "confidence" else "observed frequency"


def draw_legend(ax: Axes, legend: LegendOption = True) -> None:
    """Draw the legend of the diagram; `legend` says whether there is one, and where."""
    place_legend(ax, [*predictor_entries(ax), *mark_entries(ax)], legend)


def predictor_entries(ax: Axes) -> list[Any]:
    """The legend's entries of the curves on the axes, which are found by their ids (`gid`)."""
    fitted = {
        line.get_label(): line for line in ax.get_lines() if str(line.get_gid()).startswith(FITTED)
    }
    bars: dict[Any, Any] = {each.get_label(): each for each in ax.containers}
    return [
        bars.get(line.get_label()) or _predictor_entry(line, fitted.get(line.get_label()))
        for line in ax.get_lines()
        if line.get_gid() == CURVE
    ]


def mark_entries(ax: Axes) -> list[Any]:
    """The legend's entries of intervals, bands, gaps and the shaded interval on the axes.

    They are found by the ids (`gid`) of the artists.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [line for line in ax.get_lines() if line.get_gid() == OUTSIDE][:1]
    known = (str(each.get_gid()) for each in ax.collections)
    for label in sorted({gid for gid in known if "interval" in gid or "band" in gid}):
        if label.endswith(("pointwise", "simultaneous", "calibrated")):
            handles.append(_band_entry(ax, label))
        else:
            bar: Looks = {"marker": "|", "markersize": 8, "markeredgewidth": 1.6, "alpha": 0.7}
            handles.append(Line2D([], [], color=GREY, linestyle="none", label=label, **bar))
    shaded = {str(each.get_gid()): each for each in ax.patches}
    handles += [
        Patch(color=patch.get_facecolor(), linewidth=0, label=gid.removeprefix(CUTOFF))
        for gid, patch in shaded.items()
        if gid.startswith(CUTOFF)
    ]
    return handles + [each for each in ax.containers if each.get_label() == GAPS][:1]


def _predictor_entry(bins: Any, fitted: Any) -> Any:
    """The legend's entry of a predictor: the marker of its bins, on the line of its fitted curve.

    If `fitted` is None, the line of the bins, `bins`, is the entry.
    """
    if fitted is None:
        return bins
    from matplotlib.lines import Line2D

    handle = Line2D([], [])
    handle.update_from(bins)
    handle.set(linestyle=fitted.get_linestyle(), linewidth=fitted.get_linewidth(), markevery=None)
    handle.set_label(bins.get_label())
    return handle


def draw_row_strip(ax: Axes, cells: Mapping[str, Any], colour: Any) -> Any:
    """Draw the share of rows in each bin as a strip over the diagram; return the strip's axes.

    `cells` are the columns of `bin_cells`. Several tables on the same axes share one strip.
    """
    rows = np.array_equal(cells["weight"], cells["n"])
    over = strip_axes(ax, "rows" if rows else "weight")
    share = cells["weight"] / cells["weight"].sum()
    width = cells["upper"] - cells["lower"]
    if np.ptp(width) < 1e-9 < width[0]:
        edges = np.append(cells["lower"], cells["upper"][-1])
        over.stairs(share, edges, fill=True, color=colour, alpha=0.2)
        over.stairs(share, edges, color=colour, linewidth=1, clip_on=False)
    else:  # bins of several widths: a line at each mean prediction
        width, alpha = (0.2, 0.4) if share.size > 60 else (2, 0.6)
        looks: Looks = {"color": colour, "linewidth": width, "alpha": alpha, "clip_on": False}
        over.vlines(cells["mean_predicted"], 0, share, **looks)
    peak = max(over.get_ylim()[1], float(share.max()))
    over.set(ylim=(0, peak), yticks=[peak], yticklabels=[_percent(peak)])
    return over


def _percent(share: float) -> str:
    """A share in percent: whole, or below 1% with one significant digit."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


def strip_axes(ax: Axes, label: str) -> Any:
    """The axes of the strip (a low plot) over a diagram, made with this label by the first call."""
    known = (child for child in ax.child_axes if child.get_label() == _COUNTS)
    over: Any = next(known, None)
    if over is None:
        over = ax.inset_axes((0, *_STRIP), label=_COUNTS)
        over.set(xlim=(0, 1), xticks=[], ylim=(0, 1e-9))
        frame_strip(over, label)
    return over


def cutoff_interval(cutoff: Any) -> tuple[float, float] | None:
    """The interval of predictions to shade, (lower, upper); None if `cutoff` is None.

    `cutoff` is the result of `cutoff_test`, or a pair of predictions. Anything else is an error.
    """
    if cutoff is None:
        return None
    pair = getattr(cutoff, "where", cutoff)
    if hasattr(cutoff, "where") and pair is None:
        raise InputError(
            f"cutoff must be the result of cutoff_test, which has an interval; that of the "
            f"{getattr(cutoff, 'name', 'test')} has none"
        )
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(map(_is_probability, pair)):
        raise InputError(
            "cutoff must be the result of cutoff_test, or two predictions from 0 to 1, the lower "
            f"first; got {cutoff!r}"
        )
    lower, upper = float(pair[0]), float(pair[1])
    if lower > upper:
        raise InputError(f"cutoff must have the lower prediction first; got {cutoff!r}")
    return lower, upper


def _is_probability(value: Any) -> bool:
    """Whether a value is a real number, not a bool, from 0 to 1."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return number and 0.0 <= float(value) <= 1.0


def cutoff_words(lower: float, upper: float) -> str:
    """The legend's words for the shaded interval of predictions."""
    return f"largest accumulated gap: {lower:.3g} to {upper:.3g}"


def draw_cutoff(ax: Axes, interval: tuple[float, float], colour: Any) -> Any:
    """Shade an interval of predictions, (lower, upper), and return the artist.

    Both edges are lines, so that an interval of a single prediction is visible too.
    """
    lower, upper = interval
    for edge in sorted({lower, upper}):
        ax.axvline(edge, color=colour, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1.2)
    looks: Looks = {"color": colour, "alpha": 0.12, "linewidth": 0, "zorder": 1.1}
    return ax.axvspan(lower, upper, gid=CUTOFF + cutoff_words(lower, upper), **looks)
