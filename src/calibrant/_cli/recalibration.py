"""Fit, load and apply recalibration maps, with the classes that they were fitted to."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._cli.inputs import SUMMED_FROM, groups_of, samples_of
from calibrant._cli.written_rows import take_classes
from calibrant._core.bin_counts import is_by_rows
from calibrant._core.binning import FixedRule, as_rule
from calibrant._core.errors import InputError, NeedsRows, StateError
from calibrant._core.map_names import METHODS
from calibrant._core.progress import TaskProgress
from calibrant._data.columns import classes_by_endings
from calibrant._data.readers.columns import (
    ColumnMapping,
    ReadRequest,
    choose_columns,
    has_usual,
)
from calibrant._data.readers.read_rows import Rows, TooLarge, read_rows
from calibrant._data.readers.recognise import find_files
from calibrant._data.readers.source import open_reader
from calibrant._data.samples import shape_of
from calibrant._inference.budget import COMPARED_PREDICTIONS
from calibrant._measures.catalogue import listed
from calibrant._summaries.requirements import in_stream
from calibrant.results._recommendation import Recommendation
from calibrant.results._rendering import Columns
from calibrant.scaling import SameRows, Scaler, load
from calibrant.scaling._load import new_scaler, unchanging_scaler
from calibrant.scaling._predictions import to_predictions
from calibrant.scaling._problem import Problem
from calibrant.scaling._summed_rows import RowsOfFiles

SUMMED = (
    "the rows do not fit into memory: they were summed while reading, and measures that depend on "
    "the order of predictions are approximated from about 2,500 cells of similar predictions"
)


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A recalibration map with the classes it was fitted to, and facts on its fit."""

    scaler: Scaler
    # The classes in the order of the fit, or, where they have no names, the columns.
    classes: tuple[str, ...] | None
    column_names: tuple[str, ...] | None = None
    # Rows and measures of the fit, and why this map was chosen; a loaded map has neither.
    summary: dict[str, Any] = field(default_factory=dict)
    choice: Recommendation | None = None

    def to_dict(self, *, fitted_rows: bool = True) -> dict[str, Any]:
        """Give the content of the map's file: the map, its classes and the names of its columns.

        With `fitted_rows` it includes hashes by which rows of the fit are recognised.
        """
        content: dict[str, Any] = json.loads(self.scaler.to_json(fitted_rows=fitted_rows))
        # `calibrant.scaling.load` ignores keys that it does not know.
        for name in ("classes", "column_names"):
            if getattr(self, name) is not None:
                content[name] = list(getattr(self, name))
        content["fitted_rows"] = content.pop("fitted_rows")  # long, and so last
        return content

    def to_json(self, *, fitted_rows: bool = True) -> str:
        """Give the content of the map's file as text (see `to_dict`)."""
        return json.dumps(self.to_dict(fitted_rows=fitted_rows), allow_nan=False)


def fit_map(
    request: ReadRequest,
    kind: str | None,
    bins: Any,
    *,
    groups: str | None = None,
    priors: tuple[Any, Any] = (None, None),
) -> FittedMap:
    """Fit a map to the rows of a file, and measure it on these rows.

    `kind` names the class of the map; None chooses the one that suits the rows best, or one that
    changes nothing if none helps. `bins` are those of histogram binning and of the measures.
    `groups` names the column of clusters, for the choice. `priors` are the shares of classes where
    the map is used, and those at which the predictions are calibrated.
    """
    summed = kind is not None and _may_be_summed(request, bins)
    try:
        rows = read_rows(request, at_most=SUMMED_FROM if summed else None)
    except TooLarge:
        assert kind is not None
        with suppress(NeedsRows):
            return _fit_to_sums(request, _new_map(kind, request, bins, priors), bins)
        rows = read_rows(request)
    from_logits, choice = request.from_logits, None
    if kind is None:
        choice = _choose_map(rows, from_logits, groups_of(rows, groups))
        kind = METHODS[choice.best] if choice.helps else None
    if kind is not None:
        scaler = _new_map(kind, request, bins, priors)
    else:  # no map is better than none
        k = rows.y_proba.shape[1] if rows.multiclass else 2
        scaler = unchanging_scaler(k, from_logits=from_logits)
    fit = scaler.fit_transform(
        rows.y_true,
        rows.y_proba,
        sample_weight=rows.sample_weight,
        votes=rows.votes,
        classes=rows.class_names,
    )
    summary = {
        "n": rows.n,
        "n_missing": rows.n_missing,
        "inferred": [*rows.messages, *_votes_message(rows, scaler), *_prior_message(priors[0])],
        "measures": before_and_after(rows, fit, scaler, bins),
    }
    if choice is not None:
        summary["choice"] = choice.to_dict()
    return FittedMap(scaler, *_classes_and_columns(rows.chosen), summary, choice)


def _classes_and_columns(
    chosen: ColumnMapping,
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The names of the classes; or, where they have none, the prediction columns, if several."""
    if chosen.classes is not None:
        return tuple(map(str, chosen.classes)), None
    return None, chosen.y_proba.names if chosen.y_proba.stacked else None


def _new_map(kind: str, request: ReadRequest, bins: Any, priors: tuple[Any, Any]) -> Scaler:
    """Make an unfitted map of the class `kind`, with its options."""
    scaler = new_scaler(kind, from_logits=request.from_logits)
    if kind == "HistogramBinning":
        scaler.set_params(bins=bins)
    if any(prior is not None for prior in priors):
        scaler.set_params(prior=priors[0], source_prior=priors[1])
    return scaler


def _may_be_summed(request: ReadRequest, bins: Any) -> bool:
    """Whether rows may be summed as they are read: they are not votes, and bins are fixed."""
    votes = (request.votes, request.counts, request.item, request.annotator)
    fixed = not is_by_rows(bins) and isinstance(as_rule(bins), FixedRule)
    return fixed and all(each is None for each in votes)


def _fit_to_sums(request: ReadRequest, scaler: Scaler, bins: Any) -> FittedMap:
    """Fit a map to the rows of a file that is read in passes, in fixed memory, and measure it."""
    from calibrant._api.streaming.accumulator import Accumulator

    rows = RowsOfFiles.of_request(request)
    scaler._fit_summed(rows)
    multiclass, answers = rows.columns is not None, rows.files.chosen.answers
    shape = "multiclass" if multiclass else shape_of(1, answers)
    kept = [m for m in listed("scale", shape) if in_stream(m, own_bins=False, approximate=True)]
    names = [measure.name for measure in kept]

    def measured(problem: Problem) -> list[Accumulator]:
        """The sums of a batch before and after the map."""
        targets = problem.targets if multiclass else problem.targets[:, 1]
        if multiclass and problem.hard:
            targets = targets.argmax(axis=1)
        both = problem.predictions.probabilities(), scaler._apply(problem.predictions)
        out = [Accumulator(bins=bins, measures=names, approximate=True) for _ in both]
        for each, predictions in zip(out, both, strict=True):
            each.update(targets, predictions, sample_weight=problem.weights)
        return out

    def merged(parts: list[list[Accumulator]]) -> list[Accumulator]:
        """The sums of all batches."""
        for other in parts[1:]:
            for own, more in zip(parts[0], other, strict=True):
                own.merge(more)
        return parts[0]

    before, after = (each.evaluate().values for each in rows.sum(measured, merged))
    names = [name for name in names if name in before and name in after]
    summary = {
        "n": rows.n_rows,
        "n_missing": rows.n_missing,
        "inferred": [
            *rows.files.messages,
            *rows.notes,
            SUMMED,
            *_prior_message(getattr(scaler, "prior", None)),
        ],
        "measures": {
            "measure": names,
            "unchanged": [before[name] for name in names],
            "recalibrated": [after[name] for name in names],
        },
    }
    return FittedMap(scaler, *_classes_and_columns(rows.files.chosen), summary)


def _choose_map(rows: Rows, from_logits: bool, groups: Any) -> Recommendation:
    """Choose a map by the rule of the library's `recommend`.

    `groups` is the cluster of each row, or None. The chosen map is not fitted to all rows yet.
    """
    from calibrant._api.cross_fitting import FOLDS
    from calibrant._api.recommend import choose_map
    from calibrant._api.rows import group_index

    samples = samples_of(rows, from_logits=from_logits)
    index = group_index(groups, samples, None)
    n_units = samples.n if index is None else int(index.max()) + 1
    progress = TaskProgress(in_log=True)
    return choose_map(samples, index, folds=max(2, min(FOLDS, n_units)), progress=progress)


def _prior_message(prior: Any) -> tuple[str, ...]:
    """A message that a map for other class shares is measured on rows with the old shares.

    () if no prior was given.
    """
    if prior is None:
        return ()
    return (
        "the map is for other class shares than these rows have, so that it looks worse on them "
        "than it is",
    )


def _votes_message(rows: Rows, scaler: Scaler) -> tuple[str, ...]:
    """A message on how the fit uses votes, in a tuple; () if rows have no votes."""
    if rows.votes is None:
        return ()
    if not scaler._of_votes:
        return (
            "the map is fitted to the majority vote of each row; its log loss is that of the votes",
        )
    return ("the map is fitted to the votes: a row counts once per vote, also in the log loss",)


def load_map(path: str) -> FittedMap:
    """Load a map from its file, with its classes and column names if the file has them."""
    try:
        scaler = load(path)
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None

    def names_at_key(name: str) -> tuple[str, ...] | None:
        """The names under a key of the file; None if the file does not have the key."""
        each = content.get(name)
        if each is not None and not isinstance(each, list):
            raise StateError(f"{path} is damaged: its {name} are not a list")
        return None if each is None else tuple(map(str, each))

    return FittedMap(scaler, names_at_key("classes"), names_at_key("column_names"))


def read_rows_to_map(request: ReadRequest, fitted_map: FittedMap) -> tuple[Rows, bool]:
    """Read the rows of a file with classes in the order of the map.

    Return them, and whether they have labels; a map needs none.
    """
    if request.from_logits and not fitted_map.scaler.from_logits:
        raise InputError("the map was fitted to probabilities: leave out --from-logits")
    request = replace(request, from_logits=fitted_map.scaler.from_logits)
    classes = fitted_map.classes
    _check_columns(request, fitted_map)
    if request.classes is None and classes is not None:
        # Columns that were named one by one may end in the names of their classes.
        named = request.y_proba if isinstance(request.y_proba, list) else []
        request = replace(request, classes=classes_by_endings(named, classes) or classes)
    rows, labelled = _read_labelled(request)
    return (rows if classes is None else _reorder_classes(rows, classes)), labelled


def _check_columns(request: ReadRequest, fitted_map: FittedMap) -> None:
    """Raise an error if --proba names the columns of the fit in another order.

    If classes have no names, the order cannot be restored.
    """
    names, given = fitted_map.column_names, request.y_proba
    if names is None or request.classes is not None or not isinstance(given, list):
        return
    if tuple(given) != names and sorted(given) == sorted(names):
        raise InputError(
            f"--proba names the columns {', '.join(given)}, and the map was fitted to them in the "
            f"order {', '.join(names)}: name them in that order"
        )


def _reorder_classes(rows: Rows, classes: tuple[str, ...]) -> Rows:
    """Reorder predictions and labels to the classes of the map; an error for other classes."""
    own = tuple(map(str, rows.chosen.classes or ()))
    if own == classes or not own:
        return rows
    if sorted(own) != sorted(classes):
        raise InputError(
            f"the map was fitted to the classes {', '.join(classes)}; these are {', '.join(own)}: "
            "give the same classes, in any order"
        )
    if not rows.multiclass:
        raise InputError(
            f"the map was fitted to predictions of {classes[1]}, and --classes says that these are "
            f"of {own[1]}: give --classes {','.join(classes)}, and 1 - p as predictions"
        )
    return take_classes(rows, [own.index(name) for name in classes], classes)


def _read_labelled(request: ReadRequest) -> tuple[Rows, bool]:
    """Read the rows of a file; return them, and whether they have labels.

    If no labels are named or found, `y_true` holds predictions as placeholders.
    """
    reader = open_reader(replace(find_files(request.path, request.format)[0], half=request.half))
    given = (request.y_true, request.answers, request.counts, request.item)
    named = any(each is not None for each in given)
    if named or not reader.names or has_usual(reader.names, "y_true"):
        return read_rows(request), True
    any_column = replace(
        request, y_true=reader.names[0], sample_weight=None, votes=None, by=None, others={}
    )
    chosen = choose_columns(reader, any_column)
    spec = chosen.y_proba
    predictions = list(spec.names) if spec.stacked else spec.names[0]
    unlabelled = replace(
        request, y_true=spec.names[0], y_proba=predictions, classes=None, labelled=False, votes=None
    )
    rows = read_rows(unlabelled)
    return replace(rows, chosen=chosen, messages=chosen.messages), False


def apply_map(rows: Rows, fitted_map: FittedMap) -> tuple[NDArray[np.float64], float | None]:
    """Apply the map to the predictions of the rows.

    Return the new predictions, and the share of rows that the map was fitted to, None if such rows
    cannot be recognised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SameRows)
        out = fitted_map.scaler.transform(rows.y_proba)
    return out, fitted_map.scaler.share_fitted(rows.y_proba)


def before_and_after(rows: Rows, after: NDArray[np.float64], scaler: Scaler, bins: Any) -> Columns:
    """Make a table of measures before and after a map, with a row per measure.

    The columns are the unchanged value, that of the recalibrated predictions (`after`), and their
    difference, followed by the bias-corrected difference and its limits. For more than 200,000
    predictions only the values are computed.
    """
    from calibrant._api.compare import compare
    from calibrant._api.evaluate import evaluate

    before = to_predictions(rows.y_proba, given=scaler.from_logits).probabilities()
    both = {"unchanged": before, "recalibrated": after}
    names = [measure.name for measure in listed("scale", rows.shape)]
    how: dict[str, Any] = {
        "bins": bins,
        "measures": names,
        "sample_weight": rows.sample_weight,
        "votes": rows.votes,
    }
    table: dict[str, list[Any]] = {"measure": names}
    if before.size > COMPARED_PREDICTIONS:
        for title, predictions in both.items():
            values = evaluate(rows.y_true, predictions, **how)
            table[title] = [values[name] for name in names]
        return table
    compared = compare(rows.y_true, both, **how)
    for title in both:
        table[title] = [compared.value(title, name) for name in names]
    differences = [compared.difference("recalibrated", "unchanged", name) for name in names]
    table["difference"] = [each.value for each in differences]
    for limit in ("estimate", "low", "high"):
        table[limit] = [getattr(each, limit) for each in differences]
    return table
