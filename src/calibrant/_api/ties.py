"""Ties of the top label: when a label is right where several classes are the most likely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant._core.errors import InputError, one_of
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import Source
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.passes import whole_problem

TIES = ("first", "any", "share")


def settle_ties(samples: Source, notion: Notion, ties: str) -> tuple[Source, Notion]:
    """The problem with ties of the top label settled, and its notion.

    "first" leaves the samples unchanged: every engine takes the first of equal classes. Otherwise
    they become a binary problem in memory, of confidences and of how far labels are right.
    """
    one_of("ties", ties, TIES)
    if ties == "first":
        return samples, notion
    if notion != "confidence":
        raise InputError(f"ties={ties!r} concerns the top label, so it needs notion='confidence'")
    if isinstance(samples, TensorSamples):
        samples = samples.in_memory()
    if not isinstance(samples, Samples):
        raise InputError(
            f"ties={ties!r} needs every class of each row in memory, but the frame is in another "
            "engine: drop ties=, or collect the frame"
        )
    from calibrant._inference.means import distribution_blocks  # slow to import

    u = whole_problem(samples, "confidence")[0]  # every row is checked on the way
    parts = []
    for p, q in distribution_blocks(samples):
        tied = p == p.max(axis=1, keepdims=True)
        right = (q * tied).sum(axis=1)
        parts.append(right / tied.sum(axis=1) if ties == "share" else right)
    z = np.minimum(np.concatenate(parts), 1.0)
    if not samples.from_logits:  # edges of bins meet predictions in the precision they came in
        u = u.astype(samples.predictions.dtype)
    return replace(samples, predictions=u, targets=z, from_logits=False), "binary"
