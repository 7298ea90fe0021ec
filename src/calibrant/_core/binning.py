"""Binning rules, and the one interval rule that every engine is held to.

A rule never looks at targets. Whatever the rule, it comes down to *inner edges*, doubles in
increasing order, and the bin of a prediction is

    bin(u) = the number of inner edges e with e <= u

A bin closed on the right is the same thing with the edge moved up by one ulp. There is no other
place where an interval is decided.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_counts import BY_ROWS, RowCount, bins_by_rows, is_by_rows
from calibrant._core.errors import InputError, nearest, one_of
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array, Index

# Sums of weights may be rounded up or down. A rank that is this close to the border of a bin, as a
# share of itself, counts as on it: far above rounding, far below half a row of any sample that fits
# into memory.
ROUNDING = 1e-12

# Far more than rows can fill; the sums of many more would not fit into memory.
MOST_BINS = 1_000_000

Closed: TypeAlias = Literal["left", "right"]


def _bin_count(m: object) -> int:
    """A number of bins m as an int; raise InputError unless it is a whole number from 1 to
    MOST_BINS.
    """
    if isinstance(m, bool) or not isinstance(m, numbers.Integral):
        raise InputError(f"bins must be a whole number of bins, at least 1; got {m!r}")
    count = int(m)
    if count < 1:
        raise InputError(f"bins must be at least 1; got {count}")
    if count > MOST_BINS:
        raise InputError(f"bins must be at most {MOST_BINS:,}; got {count:,}")
    return count


class BinningRule:
    """The properties that every binning rule has, so that callers need not ask for its class."""

    # Whether the edges are known before any prediction is seen.
    is_fixed: ClassVar[bool] = False

    @property
    def drops_one(self) -> bool:
        """Whether the rule leaves predictions of exactly 1 out of every bin."""
        return False


@dataclass(frozen=True)
class EqualWidth(BinningRule):
    """Equal-width bins on [0, 1].

    ``closed="left"``: ``[(j-1)/m, j/m)``, the last one closed at 1 too. ``closed="right"``:
    ``((j-1)/m, j/m]``, with 0 in the first.

    Parameters
    ----------
    m : int
        Number of bins.
    closed : {"left", "right"}, default "left"
        The side on which a bin holds its edge.
    drop_one : bool, default False
        Whether a prediction of exactly 1.0 is in no bin, as in the formula of Leznik (2026); the
        dropped predictions are counted.

    References
    ----------
    Leznik (2026), arXiv:2603.14092, for `drop_one`.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0], [0.2, 0.5, 0.9, 0.4]
    >>> round(cal.ece(y, p, bins=cal.EqualWidth(2)), 4)
    0.3
    >>> round(cal.ece(y, p, bins=cal.EqualWidth(2, closed="right")), 4)
    0.05
    """

    m: int
    closed: Closed = "left"
    drop_one: bool = False
    # Where the number comes from, if it follows from the number of rows.
    origin: str = field(default="", init=False, repr=False, compare=False)

    is_fixed: ClassVar[bool] = True

    @property
    def drops_one(self) -> bool:
        """Whether the rule leaves predictions of exactly 1 out of every bin."""
        return self.drop_one

    def __post_init__(self) -> None:
        """Check the number of bins and the closed side."""
        object.__setattr__(self, "m", _bin_count(self.m))
        one_of("closed", self.closed, ("left", "right"))

    def __str__(self) -> str:
        dropped = ", 1 dropped" if self.drop_one else ""
        return f"{self.m} equal-width bins{_origin_text(self)}, {self.closed}-closed{dropped}"


@dataclass(frozen=True)
class Quantile(BinningRule):
    """Bins of equal mass.

    ``ties="together"``: equal predictions share the bin that holds the middle of their ranks; ranks
    are cumulative weights, so an integer weight counts as repeated rows, and the order of rows does
    not matter. ``ties="rank"``: bin j holds the ranks ``(j-1)n/m < i <= jn/m`` of a stable sort.

    Parameters
    ----------
    m : int
        Number of bins.
    ties : {"together", "rank"}, default "together"
        Whether equal predictions share a bin, or are separated in the order of the rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=cal.Quantile(2)).columns()["n"]
    [2, 2]
    """

    m: int
    ties: Literal["together", "rank"] = "together"
    origin: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the number of bins and the treatment of ties."""
        object.__setattr__(self, "m", _bin_count(self.m))
        one_of("ties", self.ties, ("together", "rank"))

    def __str__(self) -> str:
        return f"{self.m} quantile bins{_origin_text(self)}, " + (
            "ties together" if self.ties == "together" else "by rank"
        )


@dataclass(frozen=True)
class Edges(BinningRule):
    """Bins between given edges.

    Parameters
    ----------
    edges : sequence of float
        Edges in increasing order, from 0 (or less) to 1 (or more).
    closed : {"left", "right"}, default "left"
        The side on which a bin holds its edge.

    Raises
    ------
    InputError
        If the edges do not increase strictly or do not cover [0, 1].

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=cal.Edges([0, 0.3, 1]))
    0.05
    """

    edges: tuple[float, ...]
    closed: Closed = "left"

    is_fixed: ClassVar[bool] = True

    def __init__(self, edges: Sequence[float], closed: Closed = "left") -> None:
        try:
            values = tuple(float(edge) for edge in np.atleast_1d(edges))
        except (TypeError, ValueError) as error:
            raise InputError(f"edges must be numbers; got {edges!r}") from error
        object.__setattr__(self, "edges", values)
        object.__setattr__(self, "closed", one_of("closed", closed, ("left", "right")))
        if len(values) < 2:
            raise InputError(f"edges must hold at least two numbers, 0 and 1; got {len(values)}")
        for i, (low, high) in enumerate(pairwise(values)):
            if not low < high:
                kind = "are equal" if low == high else "do not increase"
                raise InputError(
                    f"edges must increase strictly; edges[{i}]={low!r} and "
                    f"edges[{i + 1}]={high!r} {kind}"
                )
        if not (values[0] <= 0.0 and values[-1] >= 1.0):
            raise InputError(
                f"edges must cover [0, 1]; they run from {values[0]!r} to {values[-1]!r}. Add 0 "
                "and 1, so that every prediction has a bin"
            )

    @property
    def m(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    def __str__(self) -> str:
        return f"{self.m} bins between given edges, {self.closed}-closed"


@dataclass(frozen=True)
class LevelSets(BinningRule):
    """One bin per distinct prediction: the level sets of the predictor.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece([0, 1, 1, 0], [0.25, 0.75, 0.75, 0.25], bins=cal.LevelSets())
    0.25
    """

    def __str__(self) -> str:
        return "exact level sets"


FixedRule: TypeAlias = EqualWidth | Edges
Rule: TypeAlias = FixedRule | Quantile | LevelSets | Cells
Bins: TypeAlias = Rule | int | str | Sequence[float]


def _origin_text(rule: EqualWidth | Quantile) -> str:
    """The origin of the rule's number of bins in parentheses, " (cube root of 1,000 rows)"; "" if
    the user gave the number.
    """
    return f" ({rule.origin})" if rule.origin else ""


Counted = TypeVar("Counted", bound=EqualWidth | Quantile)


def _note_origin(rule: Counted, origin: str) -> Counted:
    """Store in a rule the origin of its number of bins ("cube root of 1,000 rows"), which the
    rule's text repeats. Returns the rule.
    """
    object.__setattr__(rule, "origin", origin)
    return rule


_NAMED: dict[str, Rule] = {
    "uniform": EqualWidth(15),
    "quantile": Quantile(15),
    "level-sets": LevelSets(),
}


def as_rule(
    bins: Bins,
    *,
    default: type[EqualWidth] | type[Quantile] = EqualWidth,
    n: RowCount | None = None,
    cells: bool = False,
) -> Rule:
    """The binning rule that the option `bins` means, which may be a rule, a number of bins (for the
    class `default`), a name, or edges; and with `cells`, given cells.

    The names "cbrt" and "auto" mean numbers of bins that follow from the number of rows `n`.
    """
    if isinstance(bins, Cells) and not cells:
        raise InputError(
            "bins=Cells(...) needs one value for each row, in the order of the rows. It is for "
            "errors over bins (ece, lin_ce, interval, evaluate, compare, ...) without by= or "
            "ids=. Here bins are ranges of predictions: give a number or edges"
        )
    if isinstance(bins, Rule):
        return bins
    if isinstance(bins, str):
        if bins in _NAMED:
            return _NAMED[bins]
        if is_by_rows(bins):
            count, origin = bins_by_rows(bins, n)
            rule: EqualWidth | Quantile = default(count)
            return _note_origin(rule, origin)
        raise InputError(f"bins={bins!r} is not a known rule: {nearest(bins, [*_NAMED, *BY_ROWS])}")
    if isinstance(bins, numbers.Integral):
        return default(_bin_count(bins))
    if isinstance(bins, Sequence | np.ndarray) and np.ndim(bins) > 0:
        try:
            return Edges(bins)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"bins: {error}") from None
    raise InputError(
        "bins must be a count, a rule such as calibrant.Quantile(15), or increasing edges; "
        f"got {bins!r}"
    )


@dataclass(frozen=True, eq=False)
class Cuts:
    """The inner edges of bins, in increasing order, with a look-up table that finds the bin of a
    prediction without a binary search.

    The table divides [0, 1] into 2^j cells of equal width. It gives the bin at the left end of the
    cell that holds a prediction; from there one walks up along the edges.
    """

    inner: Array

    @property
    def m(self) -> int:
        """The number of bins."""
        return self.inner.size + 1

    @cached_property
    def guarded(self) -> Array:
        """The inner edges and infinity after the last one, so that a walk along the edges always
        stops.
        """
        return np.append(self.inner, np.inf)

    @property
    def start(self) -> NDArray[np.int32]:
        """The look-up table: for each of 2^j cells (intervals of equal width) of [0, 1] the bin of
        its left end, which is at most the bin of any prediction in the cell.
        """
        return self._lookup[0]

    @property
    def crowded(self) -> bool:
        """Whether some cell of the look-up table holds five edges or more, so that a walk along
        them would be slower than a binary search.
        """
        return self._lookup[1]

    @cached_property
    def _lookup(self) -> tuple[NDArray[np.int32], bool]:
        """The values of `start` (the look-up table) and of `crowded`. The table has about 64 times
        as many cells as there are bins, and more where edges lie close together.
        """
        cells = min(1 << 17, max(1024, 1 << math.ceil(math.log2(64 * self.m))))
        first = self._first_cells(cells)
        if cells < 1 << 14 and _share_a_cell(first, 3):  # edges lie close together: finer cells
            closer = self._first_cells(1 << 14)
            # Equal edges, as few distinct predictions make them, share any cell: then the finer
            # cells separate no more edges, and the coarser ones stay.
            if not np.array_equal(closer[1:] == closer[:-1], first[1:] == first[:-1]):
                cells, first = 1 << 14, closer
        # One cell for u = 1 and one more, so that a cell's end can be read without a check.
        start = np.bincount(first, minlength=cells + 2).cumsum().astype(np.int32)
        return start, _share_a_cell(first, 5)

    def _first_cells(self, cells: int) -> Index:
        """The cell at which each inner edge starts to count: of `cells` equal cells of [0, 1], the
        first whose left end is at or above the edge.
        """
        # The product is exact, because the number of cells is a power of two.
        first = np.minimum(np.maximum(np.ceil(self.inner * cells), 0), cells + 1)
        return first.astype(np.intp)

    def find(self, predictions: NDArray[np.floating[Any]]) -> Index:
        """The bin of each prediction: the number of inner edges at or below it."""
        return np.searchsorted(self.inner, np.asarray(predictions, dtype=np.float64), side="right")


@dataclass(frozen=True, eq=False)
class CellCuts(Cuts):
    """In place of cuts, the names of given cells, and the cell of each row where rows are known."""

    labels: tuple[str, ...] = ()
    rows: Index | None = None

    @classmethod
    def of(cls, labels: Sequence[str], rows: Index | None = None) -> CellCuts:
        """The names of cells in the order of a table's bins."""
        return cls(np.empty(0), tuple(labels), rows)

    def find(self, predictions: NDArray[np.floating[Any]]) -> Index:
        """The cell of each row, which does not follow from its prediction."""
        if self.rows is None or self.rows.size != predictions.size:
            raise InputError(
                "given cells are not ranges of predictions: this function needs the rows"
            )
        return self.rows


def _share_a_cell(first: Index, n: int) -> bool:
    """Whether some cell of the look-up table holds n or more edges. `first` is the cell of each
    edge, in increasing order, from `Cuts._first_cells`; edges at 0 or below count for no cell.
    """
    last = first[n - 1 :]
    return bool(((last == first[: last.size]) & (last > 0)).any())


def outer_edges(rule: FixedRule) -> Array:
    """All edges of a fixed rule with m bins, the outer ones included, (m + 1,)."""
    if isinstance(rule, EqualWidth):
        # j / m is correctly rounded; multiples of 1/m (np.linspace) are not.
        return np.arange(rule.m + 1) / rule.m
    return np.asarray(rule.edges)


@lru_cache(maxsize=16)
def fixed_cuts(rule: FixedRule, precision: np.dtype[Any]) -> Cuts:
    """The inner edges of a fixed rule for predictions of one precision.

    An edge is a double. A float32 prediction is compared with that double rounded to float32, so
    that the prediction 0.7 and the edge 7/10 are the same number in both precisions.
    """
    inner = outer_edges(rule)[1:-1]
    if precision.itemsize < 8:
        inner = inner.astype(precision).astype(np.float64)
    if rule.closed == "right":
        inner = np.nextafter(inner, np.inf)
    if rule.drops_one:
        inner = np.append(inner, 1.0)  # 1.0 gets a bin of its own, which the caller removes
    inner.flags.writeable = False  # the cache gives the same array to every caller
    return Cuts(inner)


def edges_at(cuts: Cuts) -> Edges:
    """The `Edges` rule with the inner edges of `cuts` that lie in (0, 1]. Its last edge is 2, so
    that an inner edge at 1 gives predictions of exactly 1 their own bin.
    """
    inner = np.unique(cuts.inner)
    return Edges([0.0, *inner[(inner > 0.0) & (inner <= 1.0)], 2.0])


def rank_bins(n: int, m: int) -> Index:
    """The bin of each of n ranks, (n,): bin j of 1 to m holds the ranks (j-1)n/m < i <= jn/m. Bins
    are numbered from 0 in the result.
    """
    ranks = np.arange(1, n + 1, dtype=np.int64)
    return ((ranks * m + n - 1) // n - 1).astype(np.intp)


def middle_rank_bins(mass: Array, m: int) -> Index:
    """The bin, from 0, of each distinct prediction in m bins of equal mass. `mass` is the weight at
    each distinct prediction in increasing order.

    A prediction of weight T with weight L below it occupies the ranks (L, L + T]. It goes to the
    bin j of 1 to m with ``(j-1) W/m < L + T/2 <= j W/m``, where W is the total weight. For
    whole-number weights all of this is exact.
    """
    bins = np.ceil(MiddleRanks.from_mass(mass).middle_ranks(slice(None), m)) - 1
    return np.clip(bins, 0, m - 1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class MiddleRanks:
    """The bins of `middle_rank_bins` for any number of bins, found without a pass
    over all predictions.

    `mass` is the weight at each distinct prediction in increasing order, and
    `through` its cumulative sum.
    """

    mass: Array
    through: Array

    @classmethod
    def from_mass(cls, mass: Array) -> MiddleRanks:
        """Make the object from the weight at each distinct prediction in increasing order."""
        return cls(mass, np.cumsum(mass))

    @property
    def total(self) -> float:
        """The total weight."""
        return float(self.through[-1])

    def firsts(self, m: int) -> Index:
        """The position, among the distinct predictions, at which each of m bins begins, and as a
        last entry the number of distinct predictions: (m + 1,). An empty bin begins where the next
        bin does.
        """
        out = np.zeros(m + 1, dtype=np.intp)
        out[1:-1] = self.begins(np.arange(1, m, dtype=np.float64), float(m))
        out[-1] = self.mass.size
        return out

    def begins(self, j: Array, m: float | Array) -> Index:
        """The position, among the distinct predictions, at which bin j of m begins; bins are
        counted from 0, and j is at least 1.

        A search guesses the position and the formula of `middle_rank_bins` corrects it, so that the
        bins are the same.
        """
        last = self.mass.size - 1
        at = np.searchsorted(self.through, j * self.total / m)
        while True:
            back = (at > 0) & (self.middle_ranks(np.maximum(at - 1, 0), m) > j)
            on = (at <= last) & (self.middle_ranks(np.minimum(at, last), m) <= j)
            if not (back.any() or on.any()):
                return at
            at = at - back + on

    def middle_ranks(self, at: Index | slice, m: float | Array) -> Array:
        """The middle rank of each distinct prediction at the positions `at`, in units of a bin: a
        value from j - 1 to j means bin j of 1 to m.
        """
        mass = self.mass[at]
        doubled_middle = 2.0 * (self.through[at] - mass) + mass
        return doubled_middle * m / (2.0 * self.total) * (1 - ROUNDING)


def equal_mass_rule(rule: Rule) -> Quantile:
    """The rule for measures that are defined by bins of equal mass (`ace`, `tace`), from the rule
    for the other measures: a `Quantile` stays, any other rule becomes as many quantile bins, and
    level sets become 15.
    """
    if isinstance(rule, Quantile):
        return rule
    return Quantile(15 if isinstance(rule, LevelSets | Cells) else rule.m)


def both_rules(bins: Bins, n: RowCount | None = None, *, cells: bool = False) -> tuple[Rule, Rule]:
    """The binning rules that `bins` means for ordinary and for truthful measures. A number of bins
    means equal-width bins for ordinary and quantile bins for truthful measures; any other `bins`
    means one rule for both. `n` is the number of rows, for "cbrt" and "auto"; `cells` says whether
    `bins` may be given cells.
    """
    fixed = as_rule(bins, n=n, cells=cells)
    if not isinstance(bins, Rule) and isinstance(fixed, EqualWidth):
        return fixed, _note_origin(Quantile(fixed.m), fixed.origin)
    return fixed, fixed
