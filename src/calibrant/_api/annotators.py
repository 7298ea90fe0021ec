"""annotators(): who agrees with the rest how far, and a predictor's calibration for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.metrics.uncertainty import noise_floor
from calibrant._api.slices import holm
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError, nearest
from calibrant._core.typing import Mask
from calibrant._core.validation import check_level, check_resamples, check_seed, public
from calibrant._data.arrays import to_array
from calibrant._data.vote_table import VoteTable
from calibrant._inference.few_events import with_unseen
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.vote_splits import agreement_with_rest
from calibrant._measures.catalogue import HEADLINE, find
from calibrant.results._annotators import Annotator, Annotators

_WHAT = (
    "agreement: the mean share of an item's other votes that agree; expected: the same share for "
    "votes drawn at random from the same items"
)
_CORRECTED = "p-values are corrected for the number of rows (Holm)"


@public
def annotators(
    votes: VoteTable,
    y_proba: ArrayLike | None = None,
    *,
    groups: Mapping[Any, Any] | None = None,
    measure: str = HEADLINE,
    bins: Bins = 15,
    level: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
) -> Annotators:
    """Each annotator's agreement with the others, and how calibrated a predictor is for each.

    The agreement of an annotator is the mean, over his or her votes, of the share of the item's
    other votes that are the same. If annotators are exchangeable, an item's votes are distributed
    at random among those who voted on it. The expected agreement is therefore that of two votes on
    the same items, so difficult items do not count against an annotator. The p-value is the chance
    of an agreement as far from it, whatever the number of votes. With `y_proba`, the predictor is
    evaluated against each annotator's votes, with the noise floor for that number of votes. Both
    p-values are corrected for the number of annotators (Holm).

    Parameters
    ----------
    votes : VoteTable
        Votes with their annotators, from ``count_votes(..., annotator=...)``.
    y_proba : array-like of shape (n, k) or (n,), optional
        Predicted probabilities, a row for each of ``votes.items`` and a column for each of
        ``votes.classes``; (n,) is the probability of the second of two.
    groups : mapping, optional
        Group of each annotator: rows of the table are then groups, compared with everybody outside
        the group.
    measure
        Any name of `catalogue()` that has a noise floor.
    bins : int, str or rule, default 15
        Bins of the measure.
    level
        Level of the intervals; a row stands out if a corrected p-value is below ``1 - level``.
    n_resamples
        Number of draws behind each noise floor.
    seed
        Seed of all random draws.

    Returns
    -------
    Annotators
        A table, significant rows first; `to_frame` and `to_markdown` export it.

    Raises
    ------
    InputError
        If the votes do not name their annotators, an annotator has no group, or the predictions do
        not fit the items.

    Notes
    -----
    An annotator's interval is for a mean over his or her items. With few votes it is wide and
    p-values are large; nobody is dropped. Predictions that fit people on average need not fit any
    single annotator: if annotators systematically differ, a predictor of shares is miscalibrated
    for each.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> item, who = np.divmod(np.arange(600), 5)
    >>> label = np.where(who == 4, rng.integers(0, 2, 600), rng.random(600) < 0.95 * (item % 2))
    >>> long = {"item": item, "label": label.astype(int), "who": who}
    >>> votes = cal.count_votes(long, item="item", label="label", annotator="who")
    >>> first = cal.annotators(votes).rows[0]
    >>> first.name, first.verdict
    ('4', 'agrees less than others')
    """
    level, seed = check_level(level), check_seed(seed)
    check_resamples(n_resamples, seed)
    who = _voter_names(votes, groups)
    p = None if y_proba is None else _predictions(y_proba, votes)
    if p is not None:
        find(measure, "multiclass" if p.ndim == 2 else "binary")
    rows = []
    for j, name in enumerate(dict.fromkeys(who.tolist())):
        mine = who == name
        row = _agreement_with_rest(votes, mine, str(name), level, np.random.default_rng((seed, j)))
        if p is not None:
            index, labels = votes.item_index[mine], votes.class_index[mine]
            floor = noise_floor(
                labels,
                p[index],
                measure=measure,
                bins=bins,
                n_resamples=n_resamples,
                seed=seed,
                from_logits=from_logits,
                from_logprobs=from_logprobs,
            )
            row = replace(row, value=floor.value, noise_95=floor.upper, p_calibration=floor.p_value)
        rows.append(row)
    if len(rows) < 2:
        raise InputError(f"all votes are from {rows[0].name!r}: agreement needs two or more")
    alone = sum(row.n_shared == 0 for row in rows)
    lonely = f"{alone} voted only on items that nobody else voted on, so agreement is not defined"
    notes = (_WHAT, _CORRECTED, *([lonely] if alone else []))
    return Annotators(
        rows=tuple(_with_verdicts(rows, level)),
        by="annotator" if groups is None else "group",
        measure="" if p is None else measure,
        n_items=len(votes.items),
        level=level,
        notes=notes,
    )


def _voter_names(votes: Any, groups: Mapping[Any, Any] | None) -> NDArray[Any]:
    """The annotator of each vote; the annotator's group where `groups` maps them to groups."""
    if not isinstance(votes, VoteTable):
        raise InputError(
            "votes must be a table of single votes: cal.count_votes(data, item=..., label=..., "
            f"annotator=...); got {type(votes).__name__}"
        )
    if votes.annotator is None:
        raise InputError(
            "votes do not name their annotators: give the column of annotators, count_votes(..., "
            "annotator='...')"
        )
    if groups is None:
        return votes.annotator
    if not isinstance(groups, Mapping):
        raise InputError(
            "groups must map annotators to their groups, such as {'ann': 'expert', 'bob': "
            f"'crowd'}}; got {type(groups).__name__}"
        )
    people = votes.annotator.tolist()
    absent = next((each for each in people if each not in groups), None)
    if absent is not None:
        known = [str(each) for each in groups]
        raise InputError(f"groups has no group for annotator {absent!r}: {nearest(absent, known)}")
    out = np.empty(len(people), dtype=object)
    out[:] = [str(groups[each]) for each in people]
    return out


def _predictions(y_proba: Any, votes: VoteTable) -> NDArray[Any]:
    """The predictions as an array; an InputError unless there is a row for each item."""
    p = to_array(y_proba, "y_proba")
    n, k = votes.counts.shape
    if p.shape != (n, k) and not (k == 2 and p.shape == (n,)):
        raise InputError(
            f"y_proba must have a row for each of the {n} items and a column for each of the {k} "
            f"classes, in the order of votes.items; got the shape {p.shape}. To set that order, "
            "call count_votes(..., items=ids of your predictions)"
        )
    return p


def _agreement_with_rest(
    votes: VoteTable, mine: Mask, name: str, level: float, rng: np.random.Generator
) -> Annotator:
    """How often one annotator, or group, agrees with the other votes on the same items.

    `mine` marks the votes of that annotator or group, who is called `name` in the result. `rng`
    draws the p-value where an item has several of these votes.
    """
    index, of_class = votes.item_index[mine], votes.class_index[mine]
    items, place = np.unique(index, return_inverse=True)
    own = np.zeros((len(items), votes.counts.shape[1]), dtype=np.int64)
    np.add.at(own, (place, of_class), 1)
    found = agreement_with_rest(own, votes.counts[items], rng)
    low = high = math.nan
    if found.n_shared:
        parts = influences(found.per_item, found.weights, None)
        below, above, _ = mean_limits(parts, level)
        ends = found.value + below, found.value + above
        low, high = with_unseen(found.value, ends, (0.0, 1.0), parts.units, level)
    return Annotator(
        name=name,
        n=int(mine.sum()),
        n_shared=found.n_shared,
        agreement=found.value,
        low=low,
        high=high,
        expected=found.expected,
        p_agreement=found.p_value,
    )


def _with_verdicts(rows: list[Annotator], level: float) -> list[Annotator]:
    """The annotators with Holm-corrected p-values and verdicts in words.

    Those with a verdict come first, then the smaller p-values.
    """
    agreed = holm([row.p_agreement for row in rows])
    calibrated = holm([row.p_calibration for row in rows])
    out = []
    for row, p_agreed, p_calibrated in zip(rows, agreed, calibrated, strict=True):
        said = []
        if p_agreed < 1.0 - level:
            said.append(f"agrees {'less' if row.agreement < row.expected else 'more'} than others")
        if p_calibrated < 1.0 - level:
            said.append("miscalibrated")
        out.append(
            replace(
                row,
                p_agreement_corrected=p_agreed,
                p_calibration_corrected=p_calibrated,
                verdict=", ".join(said),
            )
        )
    smallest = {id(row): _smallest_p_value(row) for row in out}
    return sorted(out, key=lambda row: (not row.verdict, smallest[id(row)], row.name))


def _smallest_p_value(row: Annotator) -> float:
    """An annotator's smaller p-value, of agreement or calibration; 2 (sorted last) without any."""
    known = [p for p in (row.p_agreement, row.p_calibration) if not math.isnan(p)]
    return min(known, default=2.0)
