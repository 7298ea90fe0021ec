"""Check: whether measures pass their limits, in a word, a sentence and an exit code."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from calibrant._core.errors import CheckFailed, counted
from calibrant._core.messages import setting
from calibrant._measures.gap_scale import GapScale
from calibrant.results._base import Record, TableOfRows
from calibrant.results._rendering import distinct_numbers, in_full, json_value, percent
from calibrant.results._uncertainty import Interval, interval_words

Verdict = Literal["pass", "fail", "undecided"]
# How undecided slices count.
Policy = Literal["undecided", "warn", "fail"]
POLICIES: tuple[Policy, ...] = ("undecided", "warn", "fail")
CODES: dict[Verdict, int] = {"pass": 0, "fail": 1, "undecided": 2}
# If more rows than this would be needed, no number is recommended.
MOST_ROWS = 1e12
# At the estimated number of rows only half of all samples decide; with twice as many, most do.
MARGIN = 2.0
# Below this number of rows, resampling underestimates the uncertainty.
FEWEST_ROWS = 30


Kind = Literal["max", "min", "max_increase", "max_decrease"]
_WRITTEN: dict[Kind, str] = {
    "max": "<=",
    "min": ">=",
    "max_increase": "increase <=",
    "max_decrease": "decrease <=",
}


@dataclass(frozen=True)
class Limit:
    """The largest or the smallest value that a measure may have, or the largest change of it.

    Attributes
    ----------
    measure : str
        The measure.
    kind : {"max", "min", "max_increase", "max_decrease"}
        Whether `value` is the largest or the smallest value allowed, or the largest increase or
        decrease from a baseline.
    value : float
        The limit.

    Examples
    --------
    >>> from calibrant.results import Limit
    >>> str(Limit("ece", "max", 0.05)), str(Limit("ece", "max_increase", 0.005))
    ('ece <= 0.05', 'ece increase <= 0.005')
    """

    measure: str
    kind: Kind
    value: float

    def __str__(self) -> str:
        return f"{self.measure} {_WRITTEN[self.kind]} {in_full(self.value)}"

    @property
    def of_change(self) -> bool:
        """Whether it limits the change from a baseline, and not the value."""
        return self.kind in ("max_increase", "max_decrease")

    @property
    def is_upper(self) -> bool:
        """Whether what is limited (the value, or the change) may not lie above `bound`."""
        return self.kind in ("max", "max_increase")

    @property
    def bound(self) -> float:
        """The number that the value, or the change, is compared with.

        For a largest decrease it is minus `value`, since a decrease is a change below 0.
        """
        return -self.value if self.kind == "max_decrease" else self.value

    def kept_by(self, low: float, high: float) -> Verdict:
        """Decide whether all values of an interval satisfy the limit, none does, or only some do.

        Parameters
        ----------
        low, high : float
            The interval; NaN is undecided.

        Returns
        -------
        {"pass", "fail", "undecided"}
            The decision.
        """
        worst, best = (high, low) if self.is_upper else (-low, -high)
        limit = self.bound if self.is_upper else -self.bound
        if worst <= limit:
            return "pass"
        return "fail" if best > limit else "undecided"


@dataclass(frozen=True)
class LimitCheck(Record):
    """One limit, checked on all rows or on a slice.

    Attributes
    ----------
    limit : Limit
        The limit.
    where : str or None
        The slice; None for all rows.
    n : int
        Number of rows.
    value : float
        The measure's value.
    interval : Interval or None
        Its confidence interval; None where the value alone decides, or `reason` says why there is
        nothing to check.
    reason : str
        Why no interval could be computed.
    effective_n : float
        The number of independent rows of equal weight that these rows are equivalent to.
    n_to_pass : int
        How many of those a pass needs.
    scale : GapScale
        Turns values into gaps.
    joint : Interval or None
        With several limits or slices, the wider interval that a fail also needs. It keeps the
        chance of any false fail as low as for one limit.
    n_clusters : int or None
        Clusters, where rows come in clusters.
    centre : float or None
        The gap that `rows_needed` takes for the true one; None takes the estimate's.
    reach : float
        How far up an interval of as many rows usually reaches; 0 takes this one's.
    baseline : float or None
        The measure's value on the baseline, for limits of a change: `interval` is then that of the
        change.
    n_baseline : int or None
        Number of rows of the baseline.
    same : bool
        Whether the predictions are those of the baseline, so that no number of rows shows a change.
    bounds : tuple of two floats, or None
        The part of the interval that any number of rows leaves, where a few votes per row identify
        a distance only in part.
    votes : str
        The number of votes per row, such as "5" or "3 to 7", where there are `bounds`.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> cal.check(y, p, at_most={"ece": 0.5}, bins=5).rows[0].verdict
    'pass'
    """

    _json_keys = (
        "measure slice n value baseline change interval verdict joint_interval=joint rows_needed "
        "clusters_needed sentence max min max_increase max_decrease"
    )
    _json_optional = "max min max_increase max_decrease"
    _json_types: ClassVar = {
        "measure": str,
        "slice": str | None,
        "change": float | None,
        **dict.fromkeys(_json_optional.split(), float),
    }

    limit: Limit
    where: str | None
    n: int
    value: float
    interval: Interval | None
    reason: str = ""
    effective_n: float = math.inf
    n_to_pass: int = 0
    scale: GapScale = field(default_factory=GapScale)
    joint: Interval | None = None
    n_clusters: int | None = None
    centre: float | None = None
    reach: float = 0.0
    baseline: float | None = None
    n_baseline: int | None = None
    same: bool = False
    bounds: tuple[float, float] | None = None
    votes: str = ""

    def _content(self) -> dict[str, Any]:
        """The JSON of the limit, which stands under its kind, and of its verdict."""
        out = {
            "measure": self.limit.measure,
            self.limit.kind: self.limit.value,
            "slice": self.where,
            "n": self.n,
            "value": self.value,
            "baseline": self.baseline,
            "change": self.compared if self.limit.of_change else None,
            "interval": self.interval,
            "verdict": self.verdict,
            "joint_interval": self.joint,
            "rows_needed": self.rows_needed,
            "clusters_needed": self.clusters_needed,
            "sentence": self.sentence,
        }
        return {key: json_value(value) for key, value in out.items()}

    @property
    def compared(self) -> float:
        """What the limit is compared with: the value, or its change from the baseline."""
        return self.value if self.baseline is None else self.value - self.baseline

    @property
    def too_few(self) -> bool:
        """Whether there are too few rows to rely on the interval.

        They are fewer than 30 independent ones, or fewer than a pass needs where the interval
        passes.
        """
        return (
            self.interval is not None
            and not self.same
            and (
                self.effective_n < FEWEST_ROWS
                or (self.effective_n < self.n_to_pass and self._decide(self.interval) == "pass")
            )
        )

    @property
    def units_are(self) -> str:
        """The number of rows, or of clusters, with its verb: "12 rows are".

        Where weights or sizes differ, it also says how many equal ones they are equivalent to.
        """
        effective = f"{self.effective_n:,.0f}"
        if self.n_clusters is None:
            n, unit, whose, alike = f"{self._smaller_n:,}", "row", self._sample_name, "weight"
        else:
            # The number of clusters in a baseline of other rows is not known here.
            n = effective if self.n_baseline is not None else f"{self.n_clusters:,}"
            unit, whose, alike = "cluster", "", "size"
        less = "" if effective in (n, "inf") else f" (equivalent to {effective} of equal {alike})"
        one = n == "1"
        return f"{n} {unit}{'' if one else 's'}{whose}{less} {'is' if one else 'are'}"

    @property
    def verdict(self) -> Verdict:
        """Whether the limit passes: "pass", "fail" or "undecided"."""
        if self.reason or math.isnan(self.compared) or self.too_few:
            return "undecided"
        if self.interval is None:
            return self.limit.kept_by(self.compared, self.compared)
        return self._decide(self.interval)

    @property
    def deciding(self) -> Interval | None:
        """The interval that decides: `joint` where `interval` alone would fail, else `interval`."""
        own = self.interval
        if own is None or self.joint is None:
            return own
        return self.joint if self.limit.kept_by(own.low, own.high) == "fail" else own

    def _decide(self, interval: Interval) -> Verdict:
        """The verdict of an interval on the limit, whatever the number of rows.

        With several limits or slices, a fail also needs the wider `joint` interval to fail;
        otherwise the limit is undecided.
        """
        decision = self.limit.kept_by(interval.low, interval.high)
        if decision == "fail" and self.joint is not None:
            together = self.limit.kept_by(self.joint.low, self.joint.high)
            return "fail" if together == "fail" else "undecided"
        return decision

    @property
    def needs_votes(self) -> bool:
        """Whether no number of rows can decide, but more votes per row can."""
        return self.bounds is not None and self.bounds[0] < self.limit.bound < self.bounds[1]

    @property
    def votes_text(self) -> str:
        """That no number of rows decides, in words; the interval's note says what can."""
        one = "vote" if self.votes == "1" else "votes"
        return f"no number of rows can decide this with {self.votes} {one} per row"

    @property
    def _growth_to_decide(self) -> float | None:
        """The factor by which rows must grow to decide an undecided limit; None if it is not known.

        Values are compared as gaps: `scale` turns a value into the gap between prediction and
        target that, in every bin, gives it. The interval of a gap shrinks with the root of the
        number of rows, also for squared measures. Where the interval reaches 0, it shrinks at the
        measure's own rate.
        """
        interval = self.interval
        if interval is None or self.verdict != "undecided" or self.needs_votes:
            return None
        if self.too_few and self._decide(interval) != "undecided":
            return self._growth_to_rely
        interval = self.deciding or interval
        gap = self.scale.gap
        low, high, limit = gap(interval.low), gap(interval.high), gap(self.limit.bound)
        centre = gap(interval.estimate) if self.centre is None else self.centre
        if self.bounds is not None:  # more rows narrow the interval to its bounds
            centre = gap(self.bounds[1 if limit > gap(self.bounds[0]) else 0])
        far = limit - centre
        end = max(high, self.reach) if far > 0 else low
        rate = self.scale.rate if low <= 0 else 0.5
        growth = MARGIN * ((end - centre) / far) ** (1.0 / rate) if far else math.inf
        if (far > 0) == self.limit.is_upper:
            growth = max(growth, self.n_to_pass / self.effective_n)
        growth = max(growth, self._growth_to_rely)
        return growth if growth > 1 and growth * self.n < MOST_ROWS else None

    @property
    def _growth_to_rely(self) -> float:
        """The factor by which rows must grow before the interval is reliable; 0 if it is."""
        return max(FEWEST_ROWS, self.n_to_pass) / self.effective_n if self.too_few else 0.0

    @property
    def rows_needed(self) -> int | None:
        """About how many rows, of the baseline if it has fewer, would decide in most samples."""
        return self._n_needed(self._smaller_n)

    @property
    def _smaller_n(self) -> int:
        """The number of rows of the smaller sample: these rows or the baseline."""
        return self.n if self.n_baseline is None else min(self.n, self.n_baseline)

    @property
    def _sample_name(self) -> str:
        """The words " of the baseline" if the baseline has fewer rows, else an empty text."""
        return " of the baseline" if self._smaller_n < self.n else ""

    @property
    def clusters_needed(self) -> int | None:
        """As `rows_needed`, in clusters like these; None where rows are not in clusters."""
        return None if self.n_clusters is None else self._n_needed(self.n_clusters)

    def _n_needed(self, n: int) -> int | None:
        """The number of rows (or clusters) that would decide, n being there now; None if not known.

        An estimate is rounded up to two digits. The fewest rows on which the interval is reliable
        are an exact number.
        """
        growth = self._growth_to_decide
        if growth is None:
            return None
        needed = growth * n
        if growth == self._growth_to_rely:
            return math.ceil(needed * (1 - 1e-12))
        # The estimate is good to two digits.
        step = int(10 ** (int(math.log10(needed)) - 1)) or 1
        return step * math.ceil(needed / step)

    @property
    def sentence(self) -> str:
        """The verdict with its reasons."""
        about = f"{self.where}: " if self.where else ""
        return f"{about}{self.verdict}, {self.limit}: {self._reason_text()}"

    def _reason_text(self) -> str:
        """The reason of the verdict in words: value, interval, and the rows that would decide."""
        if self.reason or math.isnan(self.compared):
            return self.reason or "it cannot be computed"
        if self.same:
            return f"the predictions equal the baseline's on all {self.n:,} rows"
        interval = self.deciding
        if interval is None:
            value = distinct_numbers((self.compared,), (self.limit.bound,))[0]
            return f"{self._value_text(value)}; no interval was computed"
        text = self._interval_text(interval)
        if self.verdict != "undecided":
            return text
        if self.needs_votes:
            return f"{text}; {self.votes_text}"
        needed = self.needed_text
        if self.too_few:
            more = f" ({needed} would be needed)" if needed else ""
            return f"{text}; but {self.units_are} too few to decide{more}"
        more = f" (about {needed} would be needed)" if needed else ""
        return f"{text}; there is not enough data to decide{more}"

    def _interval_text(self, interval: Interval) -> str:
        """The value, or its change from the baseline, with its interval, in words.

        The sample value is added where it differs from the bias-corrected estimate.
        """
        number, low, high, sample = interval_words(interval, beside=(self.limit.bound,))
        text = f"{self._value_text(number, corrected=bool(sample))}, "
        text += f"{percent(interval.level)} CI {low} to {high}"
        if interval is self.joint:
            text += ", corrected for the number of limits and slices"
        if self.baseline is not None:  # the text has both sample values already
            sample = interval.bias
        return "; ".join(filter(None, [text, sample, interval.note]))

    def _value_text(self, number: str, *, corrected: bool = False) -> str:
        """The value and the number of rows, in words; with a baseline, both values and the change.

        `number` is the value or the change as text; `corrected` says that it is bias-corrected.
        """
        if self.baseline is None:
            it = "the bias-corrected estimate" if corrected else "it"
            return f"{it} is {number} on {self.n:,} rows"
        old, new = distinct_numbers((self.baseline, self.value))
        rows = f"{self.n:,}" if self.n_baseline is None else f"{self.n_baseline:,} and {self.n:,}"
        sign = "" if number.startswith("-") or number == "0" else "+"
        change = "; the bias-corrected change is" if corrected else ", a change of"
        return f"from {old} to {new} (sample values) on {rows} rows{change} {sign}{number}"

    @property
    def needed_text(self) -> str:
        """How much data would decide, in words; empty where that cannot be estimated."""
        rows, clusters = self.rows_needed, self.clusters_needed
        if rows is None:
            return ""
        more = f" in {clusters:,} clusters like these" if clusters else ""
        of_slice = " of this slice" if self.where and not self._sample_name else ""
        return f"{rows:,} rows{self._sample_name}{of_slice}{more}"


@dataclass(frozen=True, eq=False, repr=False)
class Check(TableOfRows[LimitCheck]):
    """Whether all limits pass: "pass", "fail" or "undecided".

    Made by `check`. Only a pass is true, so that ``assert check(...)`` fails on a fail and on an
    undecided check.

    Attributes
    ----------
    rows : tuple of LimitCheck
        Each limit, on all rows and on each slice.
    n, n_missing : int
        Rows, and rows that were dropped because of a missing value.
    level : float or None
        Level of the intervals.
    point : bool
        Whether values alone decide, without intervals.
    notes : tuple of str
        What to know about the rows, and how baseline rows were matched.
    undecided_slices : {"undecided", "warn", "fail"}
        How undecided slices count.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
    >>> found = cal.check(y, p, at_most={"ece": 0.05}, bins=5)
    >>> found.verdict, found.code, bool(found)
    ('fail', 1, False)
    """

    _json_keys = "verdict code n n_missing level point undecided_slices notes limits=rows"

    rows: tuple[LimitCheck, ...]
    n: int
    n_missing: int
    level: float | None
    point: bool
    notes: tuple[str, ...] = ()
    undecided_slices: Policy = "undecided"

    @property
    def verdict(self) -> Verdict:
        """Fail if a limit fails, pass if all pass, else undecided."""
        of_undecided: dict[Policy, Verdict] = {"warn": "pass", "fail": "fail"}
        own: Verdict = of_undecided.get(self.undecided_slices, "undecided")
        verdicts = {own if _is_undecided_slice(row) else row.verdict for row in self.rows}
        if "fail" in verdicts:
            return "fail"
        return "pass" if verdicts == {"pass"} else "undecided"

    @property
    def code(self) -> int:
        """The exit code: 0 pass, 1 fail, 2 undecided."""
        return CODES[self.verdict]

    def __bool__(self) -> bool:
        """Whether the verdict is a pass: an undecided check is false."""
        return self.verdict == "pass"

    def assert_passed(self) -> None:
        """Raise an error unless every limit passes.

        Raises
        ------
        CheckFailed
            An `AssertionError` whose message has a sentence for each limit that fails or is
            undecided.

        Examples
        --------
        >>> import calibrant as cal
        >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
        >>> cal.check(y, p, at_most={"brier": 0.2}).assert_passed()
        """
        if self:
            return
        missed = [row.sentence for row in self.rows if row.verdict != "pass"]
        lines = "".join(f"\n  {line}" for line in (*missed, *self.notes))
        raise CheckFailed(
            f"calibration check: {self.verdict}, {len(missed)} of {len(self.rows)} limits did not "
            f"pass{lines}"
        )

    def to_junit(self, *, name: str = "calibrant check") -> str:
        """Give the check as JUnit XML for build servers.

        A limit that fails is a failure, an undecided one an error.

        Parameters
        ----------
        name : str, default "calibrant check"
            The name of the test suite.

        Returns
        -------
        str
            An XML document with a test case for each limit.
        """
        from calibrant.results._build_servers import junit_xml

        return junit_xml(self, name)

    def to_github(self, *, name: str = "calibrant check") -> tuple[str, str]:
        """Give the check in the format of GitHub Actions.

        Parameters
        ----------
        name : str, default "calibrant check"
            The heading of the summary, and the title of the annotations.

        Returns
        -------
        tuple of str
            Markdown for the file that ``GITHUB_STEP_SUMMARY`` names, and workflow commands, a line
            for each limit that does not pass, to be printed.
        """
        from calibrant.results._build_servers import github_annotations, github_summary

        return github_summary(self, name), github_annotations(self, name)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per limit, and per slice.

        Returns
        -------
        dict of str to list
            `limit`, `n`, `value`, `verdict`; with slices `rows of`, with a baseline `baseline` and
            `change`, with intervals `estimate`, `low` and `high` of what is limited.
        """
        rows, nan = self.rows, math.nan
        out: dict[str, list[Any]] = {"limit": [str(row.limit) for row in rows]}
        if any(row.where for row in rows):
            out["rows of"] = [row.where or "all" for row in rows]
        out |= {"n": [row.n for row in rows], "value": [row.value for row in rows]}
        if any(row.limit.of_change for row in rows):
            out["baseline"] = [nan if row.baseline is None else row.baseline for row in rows]
            out["change"] = [nan if row.baseline is None else row.compared for row in rows]
        if not self.point:
            for end in ("estimate", "low", "high"):
                out[end] = [getattr(row.interval, end) if row.interval else nan for row in rows]
        return {**out, "verdict": [row.verdict for row in rows]}

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display: the limits of the intervals that decide, with their level.

        Returns
        -------
        dict of str to list
            As `columns`; `level` too, where the number of limits and slices changes it.
        """
        out = self.columns()
        deciding = [row.deciding for row in self.rows]
        if any(row.joint is not None and row.deciding is row.joint for row in self.rows):
            for end in ("low", "high", "level"):
                out[end] = [getattr(each, end) if each else math.nan for each in deciding]
            out["level"] = [percent(each) if each == each else "" for each in out["level"]]
            out["verdict"] = out.pop("verdict")
        return out

    @property
    def title(self) -> str:
        """The verdict, in one line."""
        return f"Check: {self.verdict}"


def _is_undecided_slice(row: LimitCheck) -> bool:
    """Whether a limit is that of a slice that is undecided."""
    return row.where is not None and row.verdict == "undecided"


def with_policy(check: Check, policy: Policy) -> Check:
    """The check with undecided slices counted by `policy`, with a note if there are any."""
    n = sum(map(_is_undecided_slice, check.rows))
    if policy == "undecided" or not n:
        return replace(check, undecided_slices=policy)
    count = {
        "warn": "is undecided and does not count" if n == 1 else "are undecided and do not count",
        "fail": "is undecided and counts as failed"
        if n == 1
        else "are undecided and count as failed",
    }[policy]
    note = f"{counted(n, 'limit')} of slices {count} ({setting('undecided_slices', policy)})"
    return replace(check, undecided_slices=policy, notes=(*check.notes, note))
