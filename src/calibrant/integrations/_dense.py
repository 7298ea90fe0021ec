"""Maps of predictions, (B, C, ...), as rows: one for each position that is not ignored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibrant._core.errors import InputError


@dataclass(frozen=True)
class Rows:
    """The rows of a batch: preds and target, each (n,) or (n, C), and weights, (n,) or None."""

    preds: Any
    target: Any
    sample_weight: Any
    # A text that explains, in errors about a map, that row numbers are positions; otherwise empty.
    note: str = ""


def rows_of_batch(
    preds: Any,
    target: Any,
    sample_weight: Any,
    num_classes: int | None,
    ignore_index: int | None,
) -> Rows:
    """The rows of a batch, without ignored rows.

    Each position of a map (a pixel, a token) is a row; positions come in the order of the target's
    memory: image by image, line by line. A row is ignored if its target is `ignore_index`; a soft
    target must have that value in every class. A batch that is no map is unchanged if
    `ignore_index` is None.
    """
    if ignore_index is None and not _is_map(preds, num_classes):
        return Rows(preds, target, sample_weight)
    preds, target = _to_tensor(preds, "preds"), _to_tensor(target, "target")
    if sample_weight is not None:
        sample_weight = _to_tensor(sample_weight, "sample_weight")
    note = ""
    if _is_map(preds, num_classes):
        left_out = "" if ignore_index is None else ", without ignored ones"
        note = f" (rows are the positions of preds {_shape_text(preds)} in order{left_out})"
        preds, target = _classes_last(preds, target, num_classes)
        where = preds.shape if num_classes == 1 else preds.shape[:-1]
        _check_weights(sample_weight, where)
    else:
        where = preds.shape[:1]
        _check_rows(target, where)
    depth = len(where)
    if ignore_index is None:

        def rows(part: Tensor) -> Tensor:
            """A tensor with all positions flattened into its first dimension, the rows."""
            return part.flatten(0, depth - 1)
    else:
        kept = target != ignore_index
        if target.ndim > depth:  # a soft label is ignored if all its classes have this value
            kept = kept.any(dim=-1)

        def rows(part: Tensor) -> Tensor:
            """The rows of a tensor that are kept, in its first dimension."""
            return part[kept.to(part.device)]

    weights = None if sample_weight is None else rows(sample_weight)
    return Rows(rows(preds), rows(target), weights, note)


def _to_tensor(values: Any, argument: str) -> Tensor:
    """Convert values to a tensor; an error that names the argument if that fails."""
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{argument} cannot be read as a tensor ({error}): with ignore_index, and for maps, "
            "give numbers, such as class indices instead of names"
        ) from None


def _is_map(preds: Any, num_classes: int | None) -> bool:
    """Whether preds are a map, in which every position (a pixel, a token) is a row.

    A map with classes, (B, C, ...), has more than two dimensions. A binary map has any shape and
    needs ``num_classes=1``, since (n, k) might be classes as well as positions. If `num_classes` is
    None, more than one dimension is an error.
    """
    n_dims = _n_dims(preds)
    if num_classes == 1:
        return n_dims > 1
    if num_classes is None and n_dims > 1:
        raise InputError(
            f"preds has the shape {_shape_text(preds)}, but num_classes=None needs one probability "
            "a row, (n,): make the metric with num_classes=1 for binary predictions of any shape, "
            "(B, ...), or with the number of classes, for (n, num_classes) or (B, num_classes, "
            "...)"
        )
    return n_dims > 2


def _n_dims(values: Any) -> int:
    """The number of dimensions of a tensor, an array or nested lists."""
    return int(values.ndim) if hasattr(values, "ndim") else np.asarray(values, dtype=object).ndim


def _classes_last(preds: Tensor, target: Tensor, num_classes: int | None) -> tuple[Tensor, Tensor]:
    """Move the classes of a map from its second to its last dimension; return it with its target.

    With ``num_classes=1``, the map has no dimension for classes. A target is a class for each
    position, or soft labels in the shape of preds, whose classes are moved too; another shape is an
    error.
    """
    if num_classes == 1:
        return _binary_map(preds, target)
    if preds.shape[1] != num_classes:
        last = preds.shape[-1] == num_classes
        raise InputError(
            f"preds has the shape {_shape_text(preds)}, where its second dimension must be the "
            f"{num_classes} classes of num_classes={num_classes}, (B, {num_classes}, ...)"
            + (": the last one is, so give preds.movedim(-1, 1)" if last else "")
        )
    hard = (preds.shape[0], *preds.shape[2:])
    if target.shape == preds.shape:
        return preds.movedim(1, -1), target.movedim(1, -1)
    if target.shape == hard:
        return preds.movedim(1, -1), target
    raise InputError(
        f"preds has the shape {_shape_text(preds)}: target must have the shape {hard} (a class for "
        f"each position) or the shape of preds (soft labels); got {_shape_text(target)}"
    )


def _binary_map(preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """A map of probabilities of class 1, and its target in the same shape.

    If preds have one channel, (B, 1, ...), and the target has none, the channel is dropped. A
    target of another shape is an error.
    """
    if target.shape == preds.shape:
        return preds, target
    if preds.shape[1] == 1 and target.shape == preds[:, 0].shape:
        return preds[:, 0], target
    raise InputError(
        f"preds has the shape {_shape_text(preds)}: target must have the same shape, with a label "
        f"for each position; got {_shape_text(target)}"
    )


def _check_weights(sample_weight: Tensor | None, map_shape: torch.Size) -> None:
    """Raise an error unless the weights are None or have the shape of a map's positions."""
    if sample_weight is not None and sample_weight.shape != map_shape:
        raise InputError(
            f"sample_weight must have a weight for each position, the shape {tuple(map_shape)}; "
            f"got {_shape_text(sample_weight)}"
        )


def _check_rows(target: Tensor, rows_shape: torch.Size) -> None:
    """Raise an error unless the target has as many rows as preds; `rows_shape` is (rows,)."""
    if target.shape[:1] != rows_shape:
        raise InputError(
            "target and preds must have the same number of rows; got "
            f"{target.shape[0] if target.ndim else 'a single number'} and {rows_shape[0]}"
        )


def _shape_text(values: Any) -> str:
    """The shape of a tensor, an array or nested lists, as text for a message."""
    shape = values.shape if hasattr(values, "shape") else np.asarray(values, dtype=object).shape
    return str(tuple(shape))
