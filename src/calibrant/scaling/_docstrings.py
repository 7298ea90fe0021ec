"""What the docstrings of all maps have in common: two options and five attributes, written once.

A map's docstring describes what is its own. When the class is defined, `documented` adds the rest,
so that `help`, the reference and the stub of the package (`.ci/stub.py`) have all of it.
"""

from __future__ import annotations

import inspect
import re
from typing import TypeVar

T = TypeVar("T")

_LOGITS = """\
from_logits : bool, default {default}
    Whether the predictions are logits (else probabilities).
"""
_LOGPROBS = """\
from_logprobs : bool, default False
    Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
"""
_COUNTS = """\
n_classes_, n_rows_, n_iter_ : int
    Classes and rows of the fit, and steps of the optimiser.
"""
_LOSSES = """\
loss_before_, loss_ : float
    Log loss on the rows of the fit, before and after.
"""
_PARAMETERS, _ATTRIBUTES = "Parameters\n----------\n", "Attributes\n----------\n"


def documented(kind: type[T]) -> type[T]:
    """Class decorator: complete the docstring of a scaler class with the options and attributes
    that every scaler has.
    """
    if kind.__doc__:  # -OO leaves none
        logits = inspect.signature(kind).parameters["from_logits"].default
        kind.__doc__ = _completed(inspect.cleandoc(kind.__doc__), by_logits=logits)
    return kind


def _completed(doc: str, *, by_logits: bool) -> str:
    """The cleaned docstring `doc` with all entries of its sections Parameters and Attributes; its
    own entries stay. `by_logits` is the default of the option from_logits.
    """
    before, _, rest = doc.partition(_ATTRIBUTES)
    attributes, after = re.split(r"\n(?=\n[A-Z][A-Za-z ]+\n---)", rest, maxsplit=1)
    own, name, losses = attributes.partition("loss_before_, loss_ :")
    losses = f"{name}{losses}" if name else _LOSSES
    counts = "" if "n_classes_, n_rows_, n_iter_ :" in own else _COUNTS
    # Where logits are the default, both options may be True.
    both = "    Goes before `from_logits`.\n" if by_logits else ""
    options = f"{_LOGITS.format(default=by_logits)}{_LOGPROBS}{both}"
    title = "" if _PARAMETERS in before else f"\n{_PARAMETERS}"
    before = f"{before.rstrip()}\n{title}{options}"
    return f"{before}\n{_ATTRIBUTES}{own.rstrip()}\n{counts}{losses.rstrip()}\n{after}"
