"""What the user gave becomes samples: in memory, or where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant._data.array_input import ArrayInput
from calibrant._data.arrays import stays_on_device
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.input import Input
from calibrant._data.logprobs import Given
from calibrant._data.samples import Samples
from calibrant._data.source import Source


def to_source(
    y_true: Any,
    y_proba: Any,
    sample_weight: Any = None,
    from_logits: Given = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    *,
    votes: Any = None,
    stream: bool = False,
) -> Source:
    """The user's arguments as samples that stay where the rows are: those of a lazy frame in its
    engine, tensors on their device, any others as arrays in memory.

    `stream` says that these rows are one part of many: what could be found out only from all rows
    is then an error, or gives no warning.
    """
    source = _input_of(y_proba, scan_if_path(data))
    return source.build(
        y_true, y_proba, sample_weight, from_logits, classes, missing, votes=votes, stream=stream
    )


def to_samples(
    y_true: Any,
    y_proba: Any,
    sample_weight: Any = None,
    from_logits: Given = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    *,
    votes: Any = None,
    stream: bool = False,
) -> Samples:
    """The user's arguments (arrays, tensors, or columns of a frame `data` in memory) as samples in
    memory.

    `stream` says that these rows are one part of many: what could be found out only from all rows
    is then an error, or gives no warning.
    """
    arrays = ArrayInput(data)
    return arrays.build(
        y_true, y_proba, sample_weight, from_logits, classes, missing, votes=votes, stream=stream
    )


def _input_of(y_proba: Any, data: Any) -> Input[Any]:
    """The adapter that reads this kind of input: columns of a lazy frame, tensors on a device, or
    arrays.
    """
    if is_lazy(data):
        from calibrant._data.frame_input import FrameInput

        return FrameInput(data)
    if data is None and stays_on_device(y_proba):
        from calibrant._data.tensor_input import TensorInput

        return TensorInput()
    return ArrayInput(data)
