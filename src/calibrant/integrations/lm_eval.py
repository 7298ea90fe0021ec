"""lm-evaluation-harness: functions for a task's YAML, which needs no package but its own.

A file beside the YAML, `calibration.py`, makes them::

    from calibrant.integrations.lm_eval import aggregation, multiple_choice

    process_results = multiple_choice("answer", metrics=("ece", "brier"))
    ece, brier = aggregation("ece"), aggregation("brier")

and the YAML names them: ``process_results: !function calibration.process_results``, and for each
metric in ``metric_list`` its ``aggregation: !function calibration.ece``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._data.links import softmax

Item = tuple[int, list[float]]


@public
def multiple_choice(
    gold: str | Callable[[Mapping[str, Any]], int], *, metrics: Sequence[str] = ("ece",)
) -> Callable[[Mapping[str, Any], Sequence[Any]], dict[str, Any]]:
    """Make the `process_results` of a multiple choice task.

    The choices' log-likelihoods become probabilities by a softmax, as in the harness's own Brier
    score.

    Parameters
    ----------
    gold : str or callable
        Field of a document with the index of the right choice, or a function from a document to
        this index.
    metrics : sequence of str, default ('ece',)
        Names of the metrics in the YAML that get pairs of right choice and probabilities; "acc" is
        always there.

    Returns
    -------
    callable
        From a document and its results to the metrics of one document.

    Raises
    ------
    InputError
        If the right choice is not an index of the choices, or a log-likelihood is not a number.

    Examples
    --------
    >>> from calibrant.integrations.lm_eval import multiple_choice
    >>> process_results = multiple_choice("answer", metrics=("ece",))
    >>> found = process_results({"answer": 1}, [(-2.0, False), (-1.0, True)])
    >>> found["acc"], found["ece"][0], [round(p, 3) for p in found["ece"][1]]
    (1.0, 1, [0.269, 0.731])
    """

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """The metrics of one document by name, for lm-evaluation-harness to aggregate.

        `acc` is 1.0 if the likeliest choice is right; each of `metrics` gets a pair of right choice
        and probabilities. `results` has a tuple for each choice, which begins with its
        log-likelihood.
        """
        right = doc[gold] if isinstance(gold, str) else gold(doc)
        logs = np.array([[float(each[0]) for each in results]])
        if isinstance(right, bool) or not isinstance(right, int) or not 0 <= right < logs.size:
            raise InputError(
                f"gold is {right!r}: it must be the index of one of the {logs.size} choices, or a "
                "function from a document to this index"
            )
        if np.isnan(logs).any() or not np.isfinite(logs.max()):
            raise InputError(
                f"the log-likelihoods of a document are {logs[0].tolist()}: they must be numbers, "
                "and at least one must be above -inf; otherwise no choice has a probability"
            )
        pair: Item = (right, softmax(logs)[0].tolist())
        return {"acc": float(int(np.argmax(logs)) == right), **dict.fromkeys(metrics, pair)}

    return process_results


@public
def aggregation(measure: str = "ece", *, bins: Any = 15) -> Callable[[Iterable[Any]], float]:
    """Make the aggregation of a metric: a measure over all documents of a task.

    If all documents have the same number of choices k, they are rows (n, k), as for
    `calibrant.evaluate`. If one has another number, all documents are measured by their likeliest
    choice, right or wrong, (n,).

    Parameters
    ----------
    measure : str, default "ece"
        Any name of `catalogue()`.
    bins : int, str or binning rule, default 15
        The bins, as for `calibrant.evaluate`.

    Returns
    -------
    callable
        From the pairs that `multiple_choice` makes to the measure.

    Examples
    --------
    >>> from calibrant.integrations.lm_eval import aggregation
    >>> ece = aggregation("ece")
    >>> ece([(1, [0.2, 0.8]), (0, [0.2, 0.8])])
    0.30000000000000004
    """

    def aggregate(items: Iterable[Any]) -> float:
        """The measure over all items, each a pair of the right choice and the probabilities."""
        from calibrant._api.evaluate import evaluate

        pairs = list(items)
        rows = [np.asarray(probabilities, dtype=np.float64) for _, probabilities in pairs]
        labels = [int(right) for right, _ in pairs]
        same_choices = len({row.size for row in rows}) == 1
        problem: Any = (labels, np.stack(rows)) if same_choices else _top_choices(labels, rows)
        return float(evaluate(*problem, measures=[measure], bins=bins)[measure])

    return aggregate


def _top_choices(
    labels: list[int], rows: list[NDArray[np.float64]]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether the likeliest choice of each document is right, and its probability, both (n,)."""
    right = [int(np.argmax(row)) == label for row, label in zip(rows, labels, strict=True)]
    return np.array(right), np.array([row.max() for row in rows])
