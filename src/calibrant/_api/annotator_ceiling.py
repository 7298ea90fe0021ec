"""annotator_ceiling(): how well annotators predict each other, in one table with models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.evaluate_samples import choose_measures
from calibrant._core.binning import EqualWidth, Quantile, Rule
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._core.typing import Array
from calibrant._core.validation import check_count, check_level, check_seed, public
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._data.vote_rows import read_vote_rows
from calibrant._engines.protocol import Findings
from calibrant._inference.means import (
    distribution_rows,
    influences,
    mean_limits,
    row_values,
)
from calibrant._inference.vote_splits import Split, grown, halves, one_against_rest
from calibrant._inference.voted_rows import whole_counts
from calibrant._measures.catalogue import Measure, Shape, listed
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.samples import Summary
from calibrant.results._annotator_ceiling import AnnotatorCeiling, Predictor

ONE, HALF, AGAIN = "one annotator", "half of the votes", "as many annotators again"
# The number of splits into halves if the lines are added to a comparison, whose measures may be
# slow.
_SPLITS_BESIDE = 5
_WHAT = (
    f"{ONE}: one vote, taken as a certain prediction, against the shares of the item's other votes",
    f"{HALF}: shares of half of the votes, as predictions, against shares of the other half",
    f"{AGAIN}: shares of all votes against shares of as many new votes: the line above, "
    "extrapolated by a Dirichlet model that is fitted to the votes",
)


@public
def annotator_ceiling(
    y_true: ArrayLike,
    y_proba: Mapping[str, ArrayLike] | ArrayLike | None = None,
    *,
    measures: Iterable[str] | None = None,
    votes: ArrayLike | None = None,
    n_splits: int = 20,
    level: float = 0.95,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
) -> AnnotatorCeiling:
    """How well annotators predict each other: the standard for a model of people.

    Votes are used as predictions in three ways. *One annotator*: every vote, as a certain
    prediction, against the shares of the item's other votes. *Half of the votes*: shares of half of
    an item's votes against shares of the other half. *As many annotators again*: shares of all
    votes against shares of as many new votes. It is extrapolated from the halves, which are
    noisier, by a Dirichlet model with the same mean and the same agreement of two votes. Models are
    scored against the shares of all votes, in the same table.

    Parameters
    ----------
    y_true : array-like of shape (n, k) or (n,)
        Counts of votes, a column for each class; or shares, with `votes`. (n,): of class 1.
    y_proba : mapping of str to array-like, or array-like, optional
        Predicted probabilities of models by name, or of one; (n, k), or (n,) as P(y = 1).
    measures
        Names of `catalogue()`; by default those that compare distributions, and losses.
    votes : int or array-like of shape (n,), optional
        Number of votes behind each row of shares; counts need none.
    n_splits : int, default 20
        How often votes are split into halves.
    level
    seed
        Seed of the splits.
    classes
        Names of the classes in the order of the columns.

    Returns
    -------
    AnnotatorCeiling
        A table: a line for each of the three, and for each model; measures as columns. Measures
        that are means of rows have intervals of the items (`columns`, `to_frame`).

    Raises
    ------
    InputError
        If `y_true` does not hold votes, if no item has two, or if a measure or a model does not
        fit.

    Notes
    -----
    A certain prediction that is wrong has infinite `kl` and `log_loss`; predictions are clipped to
    1e-12, as everywhere, so the value for single votes means little. One annotator is nearly always
    worse than a good model, because a single vote is certain even if people disagree.

    References
    ----------
    Nie, Zhou and Bansal (2020), arXiv:2010.03532; Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet([0.5, 0.5, 0.5], 500)
    >>> counts = rng.multinomial(10, truth)
    >>> table = cal.annotator_ceiling(counts, {"the truth": truth}, measures=["dist_ce"])
    >>> for line in table:
    ...     print(line.name, round(line.values["dist_ce"], 2))
    one annotator 0.41
    half of the votes 0.23
    as many annotators again 0.17
    the truth 0.13
    """
    level, seed = check_level(level), check_seed(seed)
    check_count("n_splits", n_splits, 1)
    rows = read_vote_rows(y_true, votes)
    if rows.votes is None:
        raise InputError(
            f"y_true holds shares of an unknown number of votes: give counts, or {setting('votes')}"
        )
    several = rows.votes > 1
    if not several.any():
        raise InputError(
            "y_true has one vote per row, but 2 or more votes on some items are needed"
        )
    given = given_as(from_logits, from_logprobs)
    models = _samples_of_models(y_true, y_proba, votes, given, classes)
    binary = rows.binary or any(not each.multiclass for each in models.values())
    shape: Shape = "binary" if binary else "multiclass"
    chosen = listed("ceiling", shape) if measures is None else choose_measures(measures, shape)
    scorer = _Scorer(chosen, binary, level, len(rows.shares))
    found = _ceiling(rows.counts, scorer, n_splits, seed)
    lines = tuple(scorer.model_line(name, each) for name, each in models.items())
    return replace(found, rows=(*found.rows, *lines))


def ceiling_of_models(
    models: Mapping[str, Samples],
    measures: tuple[Measure, ...],
    rules: tuple[Rule, Rule],
    level: float,
    seed: int,
) -> AnnotatorCeiling:
    """How well annotators predict each other, as a table for the rows of compared models.

    The models share their labels, which must be votes. `rules` are the fixed bins and the quantile
    bins in which the measures are computed, `seed` that of the random splits of votes.
    """
    _check_names(models)
    samples = next(iter(models.values()))
    if samples.votes is None:
        raise InputError(
            f"{setting('ceiling', True)} compares votes with votes: give vote counts as y_true, or "
            f"vote shares with {setting('votes')}"
        )
    if samples.weights is not None:
        raise InputError(
            "ceiling=True does not support weights: drop sample_weight, or drop ceiling"
        )
    z = distribution_rows(samples)[1]
    counts = whole_counts(z, np.broadcast_to(samples.votes, (samples.n,)).astype(np.int64))
    if counts is None:
        raise InputError(
            "ceiling=True needs votes, but the labels are not shares of the given numbers of votes"
        )
    if not (counts.sum(axis=1) > 1).any():
        raise InputError("ceiling=True needs items with two or more votes, but every row has one")
    scorer = _Scorer(measures, not samples.multiclass, level, samples.n, rules)
    return _ceiling(counts, scorer, _SPLITS_BESIDE, seed)


def _ceiling(
    counts: NDArray[np.int64], scorer: _Scorer, n_splits: int, seed: int
) -> AnnotatorCeiling:
    """The table with its annotators' lines and notes, but without models.

    `counts` are votes, (items, classes). A line holds the value of each measure of `scorer` for one
    way to predict votes by other votes; random halves are averaged over `n_splits` splits.
    """
    votes = counts.sum(axis=1)
    one = int(np.count_nonzero(votes < 2))
    have, are = ("has", "is") if one == 1 else ("have", "are")
    items = counted(one, "item", "")
    dropped = f"{items} {have} one vote and {are} not used in the annotators' lines"
    kept = votes[votes > 1]
    return AnnotatorCeiling(
        rows=tuple(_annotator_lines(counts, scorer, n_splits, seed)),
        measures={
            m.name: f"{m.title}, {'higher' if m.higher_is_better else 'lower'} is better"
            for m in scorer.measures
        },
        n=len(kept),
        votes=(int(kept.min()), int(kept.max())),
        level=scorer.level,
        notes=(*_WHAT, *([dropped] if one else [])),
    )


def _samples_of_models(
    y_true: Any, y_proba: Any, votes: Any, given: Any, classes: Any
) -> dict[str, Samples]:
    """The validated samples of each model by name; {} without predictions.

    `y_proba` maps names to predictions, or is one model's. `given` says whether they are logits.
    """
    if y_proba is None:
        return {}
    named = y_proba if isinstance(y_proba, Mapping) else {"model": y_proba}
    _check_names(str(name) for name in named)
    return {
        str(name): to_samples(y_true, each, None, given, classes, votes=votes)
        for name, each in named.items()
    }


def _check_names(names: Iterable[str]) -> None:
    """Raise an InputError if a model is named like one of the table's annotator lines."""
    clash = next((name for name in names if name in (ONE, HALF, AGAIN)), None)
    if clash is not None:
        raise InputError(
            f"y_proba names a model {clash!r}, which is already a line of the table: rename the "
            "model"
        )


@dataclass(frozen=True, eq=False)
class _Scorer:
    """Computes measures of votes that predict other votes, and of models that predict votes.

    With `binary`, only the share of class 1 is measured; `n_items` is the number of items.
    """

    measures: tuple[Measure, ...]
    binary: bool
    level: float
    n_items: int
    # The rule of the ordinary bins, of fixed width, and that of the quantile bins.
    rules: tuple[Rule, Rule] = (EqualWidth(15), Quantile(15))

    def _samples_of_split(self, split: Split) -> Samples:
        """A split of the votes as samples: shares of some votes predict those of the others."""
        p, q = split.predicted, split.target
        if self.binary:
            p, q = p[:, 1], q[:, 1]
        return to_samples(q, p, split.weight)

    def model_line(self, name: str, samples: Samples) -> Predictor:
        """The line of a model in the table: its measures against all votes, with limits.

        Only measures that are means over rows have limits.
        """
        summary = Summary(samples, *self.rules)
        values = {m.name: m.compute(summary) for m in self.measures}
        rows = _row_values(samples, self.measures)
        limits = {
            each: _limits_of_mean(values[each], own, self.level) for each, own in rows.items()
        }
        return Predictor(name, "model", values, limits)

    def split_values(self, split: Split) -> dict[str, float]:
        """The value of every measure, by name, where one part of the votes predicts the other."""
        # A vote predicts 0 or 1, which would be taken for swapped arguments without these findings.
        summary = Summary(self._samples_of_split(split), *self.rules, findings=Findings(soft=True))
        return {m.name: m.compute(summary) for m in self.measures}

    def annotators_line(self, name: str, splits: list[Split]) -> Predictor:
        """The line `name` of the table: each measure's mean over some splits of the votes.

        Measures that are means over rows also have confidence intervals, from the variation between
        items.
        """
        drawn = [self.split_values(split) for split in splits]
        values = {m.name: float(np.mean([one[m.name] for one in drawn])) for m in self.measures}
        limits = {}
        for each, per_item in self._item_means(splits).items():
            some = ~np.isnan(per_item)
            limits[each] = _limits_of_mean(values[each], per_item[some], self.level)
        return Predictor(name, "annotators", values, limits)

    def _item_means(self, splits: list[Split]) -> dict[str, Array]:
        """The mean value of each item over the splits, (n_items,), by row-wise measure.

        It is NaN for an item that is in no split.
        """
        sums: dict[str, Array] = {}
        mass = np.zeros(self.n_items)
        for split in splits:
            mass += np.bincount(split.row, split.weight, self.n_items)
            for name, values in _row_values(self._samples_of_split(split), self.measures).items():
                part = np.bincount(split.row, split.weight * values, self.n_items)
                sums[name] = sums.get(name, np.zeros(self.n_items)) + part
        nothing = np.full(self.n_items, np.nan)
        return {
            name: np.divide(part, mass, out=nothing.copy(), where=mass > 0)
            for name, part in sums.items()
        }


def _row_values(samples: Samples, measures: tuple[Measure, ...]) -> dict[str, Array]:
    """The value of every row, (n,), by measure; only measures that are means over rows."""
    out: dict[str, Array] = {}
    for distribution in (False, True):
        statistic = "distribution" if distribution else "losses"
        wanted = [m for m in measures if m.statistic == statistic]
        if wanted:
            rows = row_values(samples, distribution=distribution)
            out |= {m.name: rows[m.loss] for m in wanted}
    return out


def _limits_of_mean(value: float, rows: Array, level: float) -> tuple[float, float]:
    """The confidence interval of the mean `value` of the values `rows`, (n,)."""
    low, high, _ = mean_limits(influences(rows, None, None), level)
    return value + low, value + high


def _annotator_lines(
    counts: NDArray[np.int64], scorer: _Scorer, n_splits: int, seed: int
) -> Iterable[Predictor]:
    """The three annotator lines: one annotator, half of the votes, as many annotators again.

    "As many again" is what all votes of an item would reach against as many other votes.
    """
    yield scorer.annotators_line(ONE, [one_against_rest(counts)])
    rng = np.random.default_rng(seed)
    half = scorer.annotators_line(HALF, [halves(counts, rng) for _ in range(n_splits)])
    yield half
    yield _corrected_for_halves(half, scorer, counts, seed)


def _corrected_for_halves(
    half: Predictor, scorer: _Scorer, counts: NDArray[np.int64], seed: int
) -> Predictor:
    """The line "as many annotators again": `half`, shifted by what twice as many votes change.

    The shift of a measure is its mean change from half to all votes, in a simulated population like
    the votes `counts`, (items, classes).
    """
    changes: dict[str, list[float]] = {m.name: [] for m in scorer.measures}
    # Each kind of measure has its own draws, so that a value does not depend on the others asked.
    for means, own in ((True, (seed, 1)), (False, (seed, 2))):
        alike = [m for m in scorer.measures if (STATISTICS[m.statistic].problem == "rows") is means]
        if not alike:
            continue
        some = replace(scorer, measures=tuple(alike))
        for few, many in grown(counts, np.random.default_rng(own), means=means):
            before, after = some.split_values(few), some.split_values(many)
            for measure in alike:
                changes[measure.name].append(after[measure.name] - before[measure.name])
    values, limits = {}, {}
    for measure in scorer.measures:
        name = measure.name
        known = (half.values[name], *half.intervals.get(name, ()))
        shifted = np.add(known, float(np.mean(changes[name])))
        values[name], *ends = np.clip(shifted, measure.low, measure.high).tolist()
        if ends:
            limits[name] = (ends[0], ends[1])
    return Predictor(AGAIN, "annotators", values, limits)
