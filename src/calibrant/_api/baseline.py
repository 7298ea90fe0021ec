"""The baseline of a check: its rows, and whether they are the same rows as those that are
checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.rows import GivenRows, as_samples, group_index, take_clusters
from calibrant._api.slices import slice_labels
from calibrant._core.arguments import WeightedRowsWithGaps
from calibrant._core.errors import InputError, check_some_left, errors_about, nearest
from calibrant._core.messages import Note, setting, worded
from calibrant._core.typing import Index
from calibrant._data.align_rows import align, differing_rows, row_of_id
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick
from calibrant._data.samples import Samples
from calibrant._data.slice_names import rows_by_name

KEYS = tuple(field.name for field in fields(GivenRows))


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one model. All but `samples` may be None.

    `groups` has the number of each row's cluster, `slices` the name of its slice, and `ids` its id.
    """

    samples: Samples
    groups: Index | None = None
    slices: NDArray[Any] | None = None
    ids: list[Any] | None = None

    @property
    def positions(self) -> Index:
        """The position of each row in the user's data, (n,), where dropped rows count too."""
        kept = self.samples.kept
        return np.arange(self.samples.n) if kept is None else np.flatnonzero(kept)

    @cached_property
    def rows_of_slices(self) -> dict[Any, Index]:
        """The numbers of the rows of each slice, by its name; empty without slices."""
        return {} if self.slices is None else rows_by_name(self.slices)

    def take(self, rows: Index) -> Side:
        """The rows with these numbers, as another Side. It has no ids."""
        slices = None if self.slices is None else self.slices[rows]
        return Side(self.samples.take(rows), take_clusters(self.groups, rows), slices)


@dataclass(frozen=True, eq=False)
class Pair:
    """The rows of the checked model, `new`, and of the baseline, `old`.

    Where they are `paired`, both have the same rows in the same order.
    """

    new: Side
    old: Side
    paired: bool
    notes: tuple[str, ...]


# The code of the note on rows that were matched.
PAIRED = "paired"


def side_of(given: GivenRows, reading: WeightedRowsWithGaps) -> Side:
    """Validate the rows that the user's arguments `given` describe, with clusters, slices and ids.

    `reading` has the options on how predictions and labels are read, such as from_logits.
    """
    data, ids = given.data, given.ids
    columns = {"sample_weight": given.sample_weight, "votes": given.votes, "data": data}
    samples = as_samples(given.y_true, given.y_proba, **{**reading, **columns})
    check_some_left(samples.n)
    groups = group_index(given.groups, samples, data)
    slices = None if given.by is None else slice_labels(given.by, samples, data)[0]
    return Side(samples, groups, slices, None if ids is None else _ids(ids, samples, data))


def _ids(ids: Any, samples: Samples, data: Any) -> list[Any]:
    """The id of each row that was not dropped, as a list.

    `ids` has one for each row, or names a column of `data`.
    """
    if data is not None and isinstance(ids, str):
        ids = pick(data, ids, "ids")
    array = samples.values_of_kept(to_array(ids, "ids"))
    if array.shape != (samples.n,):
        raise InputError(f"ids must name each of the {samples.n} rows; got {array.shape}")
    return list(array.tolist())


def pair_of(
    new: Side,
    baseline: Any,
    given: GivenRows,
    reading: WeightedRowsWithGaps,
    *,
    paired: bool | None,
    own_labels: bool,
) -> Pair:
    """The checked rows and those of the baseline, matched where they are the same rows.

    `baseline` has predictions for the checked rows, or maps arguments of GivenRows to values;
    `given` are the arguments of the checked rows, `new` these rows, validated. `paired` is what the
    user says, None to find out; with `own_labels`, rows are matched by ids although each model has
    labels of its own.
    """
    if paired not in (None, True, False):
        raise InputError(
            f"paired must be True, False or None (then the rows decide); got {paired!r}"
        )
    if own_labels and (new.ids is None or paired is False):
        raise needs_ids()
    old_given = baseline if isinstance(baseline, Mapping) else {"y_proba": baseline}
    unknown = [key for key in old_given if key not in KEYS]
    if unknown or "y_proba" not in old_given:
        fault = f"has {unknown[0]!r}: {nearest(unknown[0], KEYS)}" if unknown else "has no y_proba"
        raise InputError(f"baseline must map some of {', '.join(KEYS)} to values; it {fault}")
    labelled = old_given.get("y_true") is not None
    if not labelled and paired is False:
        raise InputError(
            f"{setting('paired', False)} needs the baseline's own labels: baseline={{'y_true': "
            "..., 'y_proba': ...}"
        )
    with errors_about("baseline"):
        old = side_of(_baseline_rows(old_given, given, labelled=labelled), reading)
    if old.samples.predictions.shape[1:] != new.samples.predictions.shape[1:]:
        raise InputError(
            f"y_proba of the baseline has the shape {old.samples.predictions.shape}, that of the "
            f"checked rows {new.samples.predictions.shape}: both must have the same classes"
        )
    if not labelled:
        if old.samples.n + old.samples.n_missing != new.samples.n + new.samples.n_missing:
            raise InputError("baseline must hold a prediction for each row of y_proba")
        return _pair_by_order(new, old, "by order")
    return _match_rows(
        new, old, paired, drop_unmatched=reading.get("missing") == "drop", own_labels=own_labels
    )


def _baseline_rows(old: Mapping[str, Any], new: GivenRows, *, labelled: bool) -> GivenRows:
    """The arguments for the baseline's rows, from what the user gave of them, `old`.

    With `labelled`, y_true is among these. Otherwise the baseline has the labels of the checked
    rows, `new`, and also their weights, votes and frame unless it has its own.
    """
    if labelled:
        return GivenRows(**{"data": new.data if isinstance(old["y_proba"], str) else None, **old})
    shared = {"sample_weight": new.sample_weight, "votes": new.votes, "data": new.data}
    return GivenRows(**{**shared, **old, "y_true": new.y_true})


def _match_rows(
    new: Side, old: Side, paired: bool | None, *, drop_unmatched: bool, own_labels: bool
) -> Pair:
    """The checked rows and the baseline's, matched by ids or by order, or else unpaired.

    `paired` is what the user says, None to find out; unpaired rows are independent samples. With
    `drop_unmatched`, rows whose id the other side lacks are dropped; with `own_labels`, the labels
    of a row may differ between the models.
    """
    if (new.ids is None) != (old.ids is None):
        raise InputError(
            "rows are matched by ids if both have them: give ids= and baseline={'ids': ...}"
        )
    if paired is False:
        return _independent_pair(new, old, "as asked")
    if new.ids is not None and old.ids is not None:
        return _pair_by_ids(new, old, drop_unmatched=drop_unmatched, own_labels=own_labels)
    n, m = (side.samples.n + side.samples.n_missing for side in (new, old))
    if n == m and _same_labels(new, old):
        return _pair_by_order(new, old, "by order, as their labels are the same")
    if paired:
        raise InputError(
            f"paired=True needs the same rows in the same order, or ids: there are {n:,} rows, and "
            f"{m:,} in the baseline" + (", and their labels differ" if n == m else "")
        )
    return _independent_pair(new, old, "their numbers differ" if n != m else "their labels differ")


def _same_labels(new: Side, old: Side) -> bool:
    """Whether rows at the same position in the user's data have the same labels on both sides."""
    a, b = _common_rows(new, old)
    first, second = new.samples.targets[a], old.samples.targets[b]
    return a.size > 0 and first.shape == second.shape and bool((first == second).all())


def _common_rows(new: Side, old: Side) -> tuple[Index, Index]:
    """The row numbers, on each side, of the positions that neither side has dropped."""
    _, a, b = np.intersect1d(new.positions, old.positions, assume_unique=True, return_indices=True)
    return a, b


def _pair_by_order(new: Side, old: Side, how: str) -> Pair:
    """Both sides, matched by position and reduced to positions that neither has dropped.

    `how` says in words how rows were matched, for the note.
    """
    a, b = _common_rows(new, old)
    check_some_left(a.size)
    return _pair_of_rows(new, old, a, b, how)


def _pair_by_ids(new: Side, old: Side, *, drop_unmatched: bool, own_labels: bool) -> Pair:
    """Both sides, matched by id and reduced to the ids that both have.

    An InputError is raised for ids that only one side has, unless `drop_unmatched`. With
    `own_labels`, the labels of a row may differ between the models.
    """
    rows = {
        name: row_of_id(side.ids or [], f"{name} must name each row once")
        for name, side in (("ids", new), ("ids of the baseline", old))
    }
    aligned = align(rows)
    a, b = aligned.rows.values()
    if not a.size:
        raise InputError(
            "the rows and the baseline have no id in common (ids such as "
            f"{next(iter(rows['ids']))!r} and {next(iter(rows['ids of the baseline']))!r}): "
            "give ids of the same rows, or treat both as independent samples with "
            f"{setting('paired', False)}"
        )
    for name, keys in aligned.unmatched.items():
        if keys and not drop_unmatched:
            raise InputError(
                f"{len(keys):,} {name} are not in both, such as {keys[0]!r}: give the same rows, "
                f"keep only the common rows with {setting('missing', 'drop')}, or treat both as "
                f"independent samples with {setting('paired', False)}"
            )
    return _pair_of_rows(new, old, a, b, "by id", own_labels=own_labels)


def _pair_of_rows(
    new: Side, old: Side, a: Index, b: Index, how: str, *, own_labels: bool = False
) -> Pair:
    """Both sides, reduced to rows `a` of `new` and `b` of `old`, pairwise the same rows.

    `how` says in words how they were matched; with `own_labels`, the labels of a row may differ
    between the models.
    """
    first, second = new.take(a), old.take(b)
    weights, others = first.samples.weights, second.samples.weights
    if others is not None and (weights is None or not np.array_equal(weights, others)):
        raise InputError("the baseline has other weights for the same rows: give the same weights")
    # The same rows have the same weights, clusters and slices.
    samples = replace(second.samples, weights=weights)
    second = Side(samples, first.groups, first.slices)
    left_out = new.samples.n - a.size, old.samples.n - b.size
    notes: list[str] = [paired_note(a.size, how)]
    if any(left_out):
        notes.append(
            f"changes use only rows that both have: {left_out[0]:,} of the checked rows and "
            f"{left_out[1]:,} of the baseline's rows were dropped"
        )
    notes += _note_other_labels(first, second, own_labels=own_labels)
    return Pair(first, second, True, tuple(notes))


def needs_ids() -> InputError:
    """The error for models that have labels of their own but no ids to match rows by."""
    return InputError(
        f"{setting('own_labels', True)} needs {worded(python='ids', command='--id COLUMN')}, the "
        "only way to match rows of models with their own labels"
    )


def paired_note(n: int, how: str) -> Note:
    """The note that the baseline has the same n rows, matched as `how` says in words."""
    return Note(f"the baseline has the same {n:,} rows, paired {how}", PAIRED, n=n)


def _note_other_labels(new: Side, old: Side, *, own_labels: bool) -> list[str]:
    """A note on how many labels of the same rows differ between the models; [] if none does.

    Labels may differ if they say whether each model's own answer was right, and the user says so
    (`own_labels`); otherwise an InputError is raised.
    """
    first, second = new.samples.targets, old.samples.targets
    if first.shape != second.shape:
        raise InputError("labels of the same rows must have the same shape in the baseline")
    n = int(np.count_nonzero(differing_rows(first, second)))
    if not n:
        return []
    fault = f"labels differ from the baseline's in {n:,} of {new.samples.n:,} rows with the same id"
    if new.samples.multiclass:
        raise InputError(f"{fault}: the same rows must have the same labels")
    if not own_labels:
        raise InputError(
            f"{fault}: give the same labels. If they say whether each model's own answer was "
            f"right: {setting('own_labels', True)}"
        )
    return [f"{fault}: each model has its own labels (whether its answer was right)"]


def _independent_pair(new: Side, old: Side, why: str) -> Pair:
    """Both sides as samples of different rows; `why` says in words why rows are not matched."""
    n, m = new.samples.n, old.samples.n
    if new.slices is not None and old.slices is None:
        raise InputError(
            "by also needs the slices of the baseline's rows: baseline={..., 'by': ...}"
        )
    note = f"the baseline has {m:,} other rows than the {n:,} checked ({why}): not paired"
    return Pair(new, old, False, (note,))
