"""Reliability tables: the bins of one problem, and of each class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable, ratio
from calibrant._core.binning import CellCuts, Cuts, FixedRule, LevelSets, Rule, outer_edges
from calibrant._core.errors import InputError, nearest, one_of
from calibrant._core.validation import check_level
from calibrant._measures.binned import binned_error
from calibrant._measures.decision_loss import calibration_decision_loss
from calibrant._measures.proportions import is_hard, mean_target_limits
from calibrant.results._base import MOST_LINES, Result
from calibrant.results._notebook import Drawing, html_box, html_list, html_table, side_by_side
from calibrant.results._reliability_curve import ReliabilityCurve
from calibrant.results._rendering import as_frame, json_value, percent
from calibrant.results._schema import COLUMNS
from calibrant.results._sketch import reliability_sketch
from calibrant.results._text_tables import as_text

if TYPE_CHECKING:
    from calibrant.results._plots.classwise import ClasswiseDisplay
    from calibrant.results._plots.reliability import ReliabilityDisplay
    from calibrant.results._uncertainty import CalibrationTest


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityTable(Result):
    """One row per bin, empty bins included: edges, rows, mean prediction, mean target, gap.

    Made by `reliability` and by `evaluate`.

    Attributes
    ----------
    table : BinTable
        The sums of each bin.
    rule : EqualWidth, Quantile, Edges or LevelSets
        The rule that made the bins.
    cuts : Cuts
        The inner edges.
    notion : str
        What is measured: "binary", or "confidence" for the top label.
    design : ndarray of shape (m,) or None
        For clusters: how many rows of each bin carry as much information as one independent row.
    fit : callable or None
        The rows that `curve` fits to; None if rows are not in memory: streams, files read in parts,
        lazy frames.
    note : str
        Remarks, such as which of two columns was used.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    ReliabilityTable (binary, 2 equal-width bins, left-closed)
      bin   lower   upper  n  mean_predicted  mean_target      gap
        0  0.0000  0.5000  2          0.3000       0.0000   0.3000
        1  0.5000  1.0000  2          0.8000       1.0000  -0.2000
    """

    _json_keys = "rule notion n_dropped bins note"
    _json_types: ClassVar = {"rule": str, "bins": COLUMNS}

    table: BinTable
    rule: Rule
    cuts: Cuts
    notion: str
    design: NDArray[np.float64] | None = None
    fit: Callable[..., ReliabilityCurve | None] | None = None
    note: str = ""

    @property
    def n_dropped(self) -> int:
        """Rows in no bin (0 except with ``drop_one``)."""
        return self.table.n_dropped

    @property
    def n(self) -> int:
        """Rows in bins."""
        return int(self.table.n.sum())

    @property
    def ece(self) -> float:
        """The expected calibration error in these bins."""
        return binned_error(self.table)

    @property
    def is_hard(self) -> bool:
        """Whether all targets are 0 or 1."""
        return is_hard(self.table)

    def _edges(self) -> tuple[list[float], list[float]]:
        """The lower and the upper edges of the bins, two lists.

        With `LevelSets` a bin is one distinct prediction, which is both of its edges.
        """
        m = self.table.n_bins
        if isinstance(self.rule, FixedRule):
            edges = outer_edges(self.rule)
        elif isinstance(self.rule, LevelSets):
            values = self.table.mean_u[0]
            return values.tolist(), values.tolist()
        else:
            edges = np.concatenate([[0.0], np.minimum(self.cuts.inner, 1.0), [1.0]])
        return edges[:m].tolist(), edges[1 : m + 1].tolist()

    def columns(self) -> dict[str, list[Any]]:
        """Give the table as named columns.

        Returns
        -------
        dict of str to list
            `bin`, `lower`, `upper` (or `cell`, for given cells), `n`, `weight`, `mean_predicted`,
            `mean_target` and `gap`; NaN where a bin is empty.
        """
        table = self.table
        mean_u, mean_z = table.mean_u[0], table.mean_z[0]
        if isinstance(self.cuts, CellCuts):
            where: dict[str, list[Any]] = {"cell": list(self.cuts.labels)}
        else:
            lower, upper = self._edges()
            where = {"bin": list(range(table.n_bins)), "lower": lower, "upper": upper}
        return {
            **where,
            "n": table.n[0].tolist(),
            "weight": table.sum_w[0].tolist(),
            "mean_predicted": mean_u.tolist(),
            "mean_target": mean_z.tolist(),
            "gap": ratio(table.residual[0], table.sum_w[0]).tolist(),
        }

    def intervals(self, level: float = 0.95, method: str | None = None) -> dict[str, list[Any]]:
        """Give the columns with the confidence interval of each bin's mean target.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            Level of the intervals.
        method : str, optional
            For hard labels "wilson" (default) or "clopper-pearson"; for soft ones "beta" (default)
            or "normal", from the scatter of the labels themselves.

        Returns
        -------
        dict of str to list
            `columns`, `low` and `high`; with clusters (`groups`) also `n_effective`, the number of
            independent rows that a bin is equivalent to, to one decimal.

        Examples
        --------
        >>> import calibrant as cal
        >>> table = cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
        >>> [round(low, 3) for low in table.intervals()["low"]]
        [0.0, 0.342]
        """
        low, high = mean_target_limits(self.table, level, method, self.design)
        effective = {}
        if self.design is not None:
            table = self.table
            rows = ratio(table.sum_w[0] ** 2, table.sum_w2[0]) / self.design
            effective = {"n_effective": np.round(rows, 1).tolist()}
        return {**self.columns(), **effective, "low": low.tolist(), "high": high.tolist()}

    def curve(
        self, method: str = "isotonic", *, level: float = 0.95, band: bool = True
    ) -> ReliabilityCurve | None:
        """Fit a curve to the rows behind the table, as `reliability_curve` does.

        A table keeps its rows up to four million numbers. Above that, a curve can be fitted only
        while the arrays of rows exist.

        Parameters
        ----------
        method : {"isotonic", "local"}, default "isotonic"
            How the curve is fitted.
        level : float in (0, 1), default 0.95
            Level of the band.
        band : bool, default True
            Whether to compute the band too, which takes longer.

        Returns
        -------
        ReliabilityCurve or None
            The curve; None if rows are not in memory: streams, files read in parts, lazy frames.

        Examples
        --------
        >>> import calibrant as cal
        >>> table = cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
        >>> table.curve().at([0.3, 0.8]).tolist()
        [0.0, 1.0]
        """
        one_of("method", method, ("isotonic", "local"))
        check_level(level)
        return None if self.fit is None else self.fit(method, level, band=band)

    def decision_loss(self) -> float:
        """Give the calibration decision loss of the bins, exactly.

        It is the largest gain, in any decision with payoffs in [0, 1] and any number of actions,
        from knowing each bin's mean target instead of its mean prediction. It is at most twice the
        ECE. With ``bins=LevelSets()`` it is that of the predictions themselves. With few rows per
        bin it is mostly noise, like other errors in small bins.

        Returns
        -------
        float
            The loss, in [0, 1].

        References
        ----------
        Hu and Wu (2024), arXiv:2404.13503.

        Examples
        --------
        >>> import calibrant as cal
        >>> table = cal.reliability([1, 1, 1, 0], [0.25] * 4, bins=cal.LevelSets())
        >>> round(table.decision_loss(), 3), table.ece
        (0.667, 0.5)
        """
        table = self.table
        return calibration_decision_loss(table.mean_u[0], table.mean_z[0], table.sum_w[0])

    def words(self, level: float | None) -> tuple[str, str]:
        """Give the legend of a diagram of the table.

        Parameters
        ----------
        level : float or None
            Level of the intervals.

        Returns
        -------
        tuple of two str
            The error of the bins, and what their bars are.
        """
        return f"ECE {self.ece:.3f}", f"{percent(level or 0)} interval"

    def _columns(self, level: float | None) -> dict[str, list[Any]]:
        """The columns of the table, by name; with a level, also `low` and `high` of `intervals`."""
        return self.columns() if level is None else self.intervals(level)

    def to_frame(self, backend: str | None = None, *, level: float | None = None) -> Any:
        """Give the table as a frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default, the first of them that is installed.
        level : float in (0, 1), optional
            Level of the confidence intervals of the mean targets; by default, there are none.

        Returns
        -------
        frame
            A row per bin.
        """
        return as_frame(self._columns(level), backend)

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        level: float | None = 0.95,
        curve: str | None = "default",
        cutoff: CalibrationTest | tuple[float, float] | None = None,
        style: str = "points",
        counts: bool = True,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram: a curve of the rows, and the bins. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        level : float or None, default 0.95
            Level of the intervals and of the curve's band; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        cutoff : CalibrationTest or tuple of two floats, optional
            The interval of predictions to shade: the result of `cutoff_test`, or two predictions.
        style : {"points", "bars"}, default "points"
            How bins are drawn: as points with a curve of the rows, or as bars with the gap to the
            mean prediction shaded.
        counts : bool, default True
            Whether to draw the strip that shows the share of rows in each bin.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        ReliabilityDisplay
            The diagram; its `save` writes it to a file.
        """
        self._check_order()
        from calibrant.results._plots.reliability import ReliabilityDisplay

        return ReliabilityDisplay(self, name=name).plot(
            ax=ax,
            level=level,
            curve=curve,
            cutoff=cutoff,
            style=style,
            counts=counts,
            legend=legend,
            size=size,
        )

    def chart(
        self,
        *,
        level: float = 0.95,
        curve: str | None = "default",
        cutoff: CalibrationTest | tuple[float, float] | None = None,
    ) -> Any:
        """Draw an interactive reliability diagram, for notebooks. Needs Altair.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            Level of the intervals and of the curve's band.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows, as in `plot`.
        cutoff : CalibrationTest or tuple of two floats, optional
            The interval of predictions to shade: the result of `cutoff_test`, or two predictions.

        Returns
        -------
        altair.Chart
            The diagram.
        """
        self._check_order()
        from calibrant.results._plots.notebook_charts import reliability_chart

        return reliability_chart(self, level=level, curve=curve, cutoff=cutoff)

    def _check_order(self) -> None:
        """Raise an InputError for given cells, whose predictions overlap."""
        if isinstance(self.cuts, CellCuts):
            raise InputError(
                "a reliability diagram needs bins of predictions, but given cells overlap: draw "
                "reliability(..., bins=15), or read the table of cells"
            )

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Give the table as for JSON.

        Parameters
        ----------
        level : float in (0, 1), optional
            Level of the confidence intervals of the mean targets; by default, there are none.

        Returns
        -------
        dict
            `$schema`, `version`, `rule`, `notion`, `n_dropped` and the columns as `bins`; `note`
            where there is one.
        """
        return {**self._header(), **self._content(level)}

    def _content(self, level: float | None = None) -> dict[str, Any]:
        """The JSON of the table without its header."""
        return {
            "rule": str(self.rule),
            "notion": self.notion,
            "n_dropped": self.n_dropped,
            "bins": json_value(self._columns(level)),
            **({"note": self.note} if self.note else {}),
        }

    @property
    def title(self) -> str:
        """What is measured (`notion`), the rule that made the bins, and rows in no bin."""
        rows = "row" if self.n_dropped == 1 else "rows"
        dropped = f"; {self.n_dropped} {rows} in no bin" if self.n_dropped else ""
        return f"{self.notion}, {self.rule}{dropped}"

    def display_columns(self, level: float | None = None) -> dict[str, list[Any]]:
        """Give the columns for display: no weights if they only repeat the rows.

        Parameters
        ----------
        level : float in (0, 1), optional
            Level of the confidence intervals of the mean targets; by default, there are none.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        columns = self._columns(level)
        if columns["weight"] == columns["n"]:
            del columns["weight"]
        if "low" in columns:
            columns["gap"] = columns.pop("gap")
        return columns

    def __repr__(self) -> str:
        table = as_text(self.display_columns(), indent="  ", most=MOST_LINES)
        note = f"\n  {self.note}" if self.note else ""
        return f"ReliabilityTable ({self.title}){note}\n{table}"

    def sketch(self, level: float | None = 0.95) -> Drawing:
        """Draw the reliability diagram as a small SVG, which needs no package.

        Its line is the isotonic curve, if rows are in memory.

        Parameters
        ----------
        level : float or None, default 0.95
            Level of the intervals; None draws none.

        Returns
        -------
        str
            The drawing as SVG.
        """
        top = self.notion == "confidence"
        soft = "mean soft label" if not self.is_hard else ""
        names = (
            "mean confidence" if top else "mean prediction",
            soft or ("accuracy" if top else "observed frequency"),
        )
        curve = self.curve(band=False)
        line = None if curve is None else curve.columns()
        return reliability_sketch(self._columns(level), names, line)

    def _repr_html_(self) -> str:
        """The diagram and the table with 95% intervals as HTML, for notebooks."""
        level = 0.95
        shown = html_table(self.display_columns(level), f"Reliability: {self.title}")
        return html_box(
            side_by_side(self.sketch(level), shown), html_list(filter(None, [self.note]))
        )


@dataclass(frozen=True, eq=False, repr=False)
class ClasswiseReliability(Result):
    """A `ReliabilityTable` for each class against the rest, the largest error first.

    Made by `classwise_reliability`. Look a table up by the name of its class: ``tables["Shirt"]``.

    Attributes
    ----------
    names : tuple of str
        The classes.
    tables : tuple of ReliabilityTable
        The table of each class.

    Examples
    --------
    >>> import calibrant as cal
    >>> rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]]
    >>> cal.classwise_reliability([0, 1, 2, 1], rows, bins=2)
    Reliability of 3 classes, worst first; 2 equal-width bins, left-closed
      class  mean_predicted  mean_target     ece
      1              0.5000       0.5000  0.2500
      0              0.3000       0.2500  0.2000
      2              0.2000       0.2500  0.0500
    """

    _json_keys = "rule classes bins"
    _json_types: ClassVar = {"rule": str, "classes": COLUMNS, "bins": COLUMNS}

    names: tuple[str, ...]
    tables: tuple[ReliabilityTable, ...]

    def __getitem__(self, name: Any) -> ReliabilityTable:
        """Give the table of the class of this name; an error if there is none."""
        if str(name) not in self.names:
            raise InputError(f"no class is called {name!r}: {nearest(name, self.names)}")
        return self.tables[self.names.index(str(name))]

    def __iter__(self) -> Iterator[tuple[str, ReliabilityTable]]:
        """Iterate over the classes: the name and the table of each, worst first."""
        return iter(zip(self.names, self.tables, strict=True))

    def __len__(self) -> int:
        return len(self.names)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per class.

        Returns
        -------
        dict of str to list
            `class`, `mean_predicted`, `mean_target` and `ece`.
        """
        sums = [table.table for table in self.tables]
        weight = [float(t.sum_w.sum()) for t in sums]
        return {
            "class": list(self.names),
            "mean_predicted": [
                float(t.sum_wu.sum()) / w for t, w in zip(sums, weight, strict=True)
            ],
            "mean_target": [float(t.sum_wz.sum()) / w for t, w in zip(sums, weight, strict=True)],
            "ece": [table.ece for table in self.tables],
        }

    def bins(self, level: float | None = None) -> dict[str, list[Any]]:
        """Give a row per class and bin.

        Parameters
        ----------
        level : float in (0, 1), optional
            Level of the confidence intervals of the mean targets; by default, there are none.

        Returns
        -------
        dict of str to list
            `class` and the columns of each table.
        """
        out: dict[str, list[Any]] = {}
        for name, table in self:
            columns = table.columns() if level is None else table.intervals(level)
            out.setdefault("class", []).extend([name] * len(columns["bin"]))
            for key, values in columns.items():
                out.setdefault(key, []).extend(values)
        return out

    def to_frame(self, backend: str | None = None, *, level: float | None = None) -> Any:
        """Give a row per class and bin, as a frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default, the first of them that is installed.
        level : float in (0, 1), optional
            Level of the confidence intervals of the mean targets; by default, there are none.

        Returns
        -------
        frame
            The columns of `bins`.
        """
        return as_frame(self.bins(level), backend)

    def _content(self) -> dict[str, Any]:
        """The JSON of the tables: a row per class, and a row per class and bin."""
        return {
            "rule": str(self.tables[0].rule),
            "classes": json_value(self.columns()),
            "bins": json_value(self.bins()),
        }

    def plot(
        self,
        *,
        ax: Any = None,
        cap: int = 12,
        level: float | None = 0.95,
        curve: str | None = "default",
        counts: bool = True,
        size: str | tuple[float, float] | None = None,
    ) -> ClasswiseDisplay:
        """Draw a small diagram for each of the worst classes. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to replace by the diagrams; by default, a new figure.
        cap : int, default 12
            The largest number of classes shown.
        level : float or None, default 0.95
            Level of the intervals; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        counts : bool, default True
            Whether to draw columns that show the share of rows in each bin.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        ClasswiseDisplay
            The diagrams; its `save` writes them to a file.
        """
        from calibrant.results._plots.classwise import ClasswiseDisplay

        return ClasswiseDisplay(self).plot(
            ax=ax, cap=cap, level=level, curve=curve, counts=counts, size=size
        )

    @property
    def title(self) -> str:
        """The number of classes and the rule, in one line."""
        return f"Reliability of {len(self)} classes, worst first; {self.tables[0].rule}"
