"""What the renderers read of a result, as Protocols.

Diagrams and pages lie below the result classes: they import none of them, and anything with these
members can be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Columns = dict[str, list[Any]]


class DiagramData(Protocol):
    """Points or bins of a diagram of predictions and targets.

    `notion` is "confidence" if the predictions are those of the top label, else "binary".
    `is_hard` says whether all targets are 0 or 1, and none is a soft label. `columns` gives a list
    for each column, by name, with an entry for each point or bin.
    """

    @property
    def notion(self) -> str: ...
    @property
    def is_hard(self) -> bool: ...
    def columns(self) -> Columns: ...


class ReliabilityData(DiagramData, Protocol):
    """Bins with their means and limits: a `ReliabilityTable`.

    `intervals` gives the columns with limits of each bin's mean target, `low` and `high`. `curve`
    fits a curve to the rows themselves, and gives None where these are not in memory.
    """

    @property
    def ece(self) -> float: ...
    @property
    def title(self) -> str: ...
    def intervals(self, level: float = ..., method: str | None = ...) -> Columns: ...
    def curve(
        self, method: str = ..., *, level: float = ..., band: bool = ...
    ) -> CurveData | None: ...


class ClasswiseData(Protocol):
    """A table for each class, the largest error first: a `ClasswiseReliability`.

    `names` are the classes, in the order of `tables`.
    """

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def tables(self) -> Sequence[ReliabilityData]: ...
    def __len__(self) -> int: ...


class SmoothData(DiagramData, Protocol):
    """Points of a smoothed curve: a `SmoothCurve`.

    `points` has arrays by name: `prediction`, `mean_target`, `density` and others. `kind` is
    "unit" if predictions were smoothed and "logit" if their logits were, with the bandwidth
    `sigma`. Each point has an effective number of rows, `n_effective` (None for soft labels), and
    a number of rows within about a bandwidth, `n_near`. `outside` are bins of the same rows that
    lie outside the curve's band.
    """

    @property
    def points(self) -> Mapping[str, Any]: ...
    @property
    def kind(self) -> str: ...
    @property
    def sigma(self) -> float: ...
    @property
    def n_effective(self) -> Any: ...
    @property
    def n_near(self) -> Any: ...
    @property
    def outside(self) -> Sequence[Any]: ...
    def intervals(self, level: float = ...) -> Columns: ...


class CurveData(DiagramData, Protocol):
    """Points of a curve that follows the rows: a `ReliabilityCurve`.

    `band` is the kind of its band, "consistency", "confidence" or "pointwise" (None without one),
    at the `level`. `called` is the method in words. `shares` are the shares of rows in bins of
    equal width.
    """

    @property
    def level(self) -> float: ...
    @property
    def band(self) -> str | None: ...
    @property
    def called(self) -> str: ...
    @property
    def shares(self) -> Any: ...


class DecisionData(Protocol):
    """Net benefits by threshold: a `DecisionCurve`.

    `benefits` holds a `NetBenefit` for each of the `models`, for acting on "all" and on "none", at
    the `thresholds`. `prevalence` is the mean outcome.
    """

    @property
    def models(self) -> tuple[str, ...]: ...
    @property
    def thresholds(self) -> Any: ...
    @property
    def benefits(self) -> Mapping[str, Any]: ...
    @property
    def prevalence(self) -> float: ...


class RiskCoverageData(DiagramData, Protocol):
    """Points of a risk-coverage curve: a `RiskCoverage`.

    `aurc` is the area under the curve, and `level` that of the limits.
    """

    @property
    def aurc(self) -> float: ...
    @property
    def level(self) -> float: ...


class SensitivityData(Protocol):
    """Measures at several numbers of bins: a `BinSensitivity`.

    `values` has a value of each measure for each number of `bins`; ``sensitivity[measure]`` gives
    those of one. Measures with the same text in `scales` can share an axis.
    """

    @property
    def bins(self) -> tuple[int, ...]: ...
    @property
    def measures(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> Mapping[str, tuple[float, ...]]: ...
    @property
    def scales(self) -> Mapping[str, str]: ...
    def __getitem__(self, measure: str, /) -> tuple[float, ...]: ...


class ComparisonData(Protocol):
    """Predictors with values, ranks and differences: a `Comparison`.

    `order` gives the names from the best to the worst, `tied` those not significantly different
    from the best, `leaders` those that tables print in bold, and `sentence` the result in words.
    `ranking` and `intervals` are tables by column, best first. `tables` has the bins of each
    predictor. `robustness`, `slices` and `ceiling` are None where they were not computed.
    """

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def measures(self) -> tuple[str, ...]: ...
    @property
    def level(self) -> float: ...
    @property
    def tables(self) -> Sequence[ReliabilityData]: ...
    @property
    def higher_is_better(self) -> Sequence[bool]: ...
    @property
    def robustness(self) -> Any: ...
    @property
    def slices(self) -> Any: ...
    @property
    def ceiling(self) -> Any: ...
    def order(self, measure: str = ...) -> list[str]: ...
    def ranking(self, measure: str = ...) -> Columns: ...
    def intervals(self, measure: str = ...) -> Columns: ...
    def differences(self, measure: str = ...) -> Sequence[Any]: ...
    def tied(self, measure: str = ...) -> list[str]: ...
    def leaders(self, measure: str = ...) -> list[str]: ...
    def sentence(self, measure: str = ...) -> str: ...


class NamedRowsData(Protocol):
    """Rows with names, each drawn as a dot: `Slices` or `Annotators`.

    `by` is the column of the names, `measure` that of the values, and `level` that of the limits.
    """

    @property
    def level(self) -> float: ...
    @property
    def by(self) -> str: ...
    @property
    def measure(self) -> str: ...
    def columns(self) -> Columns: ...
    def __len__(self) -> int: ...


class RobustnessData(Protocol):
    """Rank correlations: a `RankRobustness`; `select` gives those with one kind of `relation`."""

    def select(self, *, relation: Any = ...) -> Sequence[Any]: ...


class WindowsData(Protocol):
    """Windows in the order of time: a `Windows`.

    `measure` is the one with noise floors, or None; `every` is the width of a window; `shown` are
    the measures that are printed; `alarm` is the first window that gives an alarm, or None.
    """

    @property
    def measure(self) -> str | None: ...
    @property
    def every(self) -> str: ...
    @property
    def shown(self) -> tuple[str, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def alarm(self) -> Any: ...
    def columns(self) -> Columns: ...
    def display_columns(self) -> Columns: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...


class VoteProfileData(Protocol):
    """Predictions beside votes: a `VoteProfile`.

    Each table has what was seen and what right predictions would show: `bins` of predictions,
    `distances` between predictions and votes, `entropies` by the entropy of the predictions, and
    `bands` by the entropy of the votes. `level` is that of their limits.
    """

    @property
    def bins(self) -> Columns: ...
    @property
    def distances(self) -> Columns: ...
    @property
    def entropies(self) -> Columns: ...
    @property
    def bands(self) -> Columns: ...
    @property
    def notion(self) -> str: ...
    @property
    def level(self) -> float: ...


class ReportData(Protocol):
    """Everything on the report page: a `Report`, whose docstring describes the attributes."""

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> float: ...
    @property
    def evaluation(self) -> Any: ...
    @property
    def headlines(self) -> Sequence[str]: ...
    @property
    def groups(self) -> Sequence[tuple[str, str, Sequence[str]]]: ...
    @property
    def views(self) -> Sequence[Any]: ...
    @property
    def sensitivity(self) -> Sequence[Any]: ...
    @property
    def before_after(self) -> Any: ...
    @property
    def recalibrations(self) -> Sequence[Any]: ...
    @property
    def risk(self) -> Any: ...
    @property
    def decisions(self) -> Any: ...
    @property
    def histogram(self) -> Any: ...
    @property
    def votes(self) -> Any: ...
    @property
    def annotators(self) -> Any: ...
    @property
    def glossary(self) -> Sequence[Any]: ...
    @property
    def recipe(self) -> Mapping[str, Any]: ...
