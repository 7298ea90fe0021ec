"""Inspect AI: calibration as a metric of a scorer; its entry point is calibrant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calibrant._core.errors import InputError, MissingExtra

try:
    from inspect_ai.scorer import metric, value_to_float
except ImportError as error:
    raise MissingExtra("inspect-ai", "inspect", "a metric of Inspect AI") from error


@metric  # type: ignore[untyped-decorator, unused-ignore]
def calibration(
    confidence: str = "confidence",
    measures: Sequence[str] | None = None,
    bins: Any = 15,
    percent: bool = False,
) -> Callable[[list[Any]], dict[str, float]]:
    """Calibration of the confidences in scores' metadata.

    A score's value says whether the answer was right, by Inspect's `value_to_float`. Its metadata,
    or its value if that has several entries, has the confidence. Scores without a confidence (none,
    an empty text, or NaN) are dropped and counted.

    Parameters
    ----------
    confidence : str, default "confidence"
        Key of the confidence in the metadata of a score.
    measures : sequence of str, optional
        Names of `catalogue()`; by default ECE, smooth ECE, Brier score and log loss.
    bins : int, str or binning rule, default 15
        The bins, as for `calibrant.evaluate`.
    percent : bool, default False
        Whether confidences are in percent: 85, or "85%".

    Returns
    -------
    callable
        From a list of `SampleScore` to the measures by name, with `n` and `n_missing`.

    Examples
    --------
    In a scorer: ``@scorer(metrics=[accuracy(), calibration(confidence="p_true")])``.
    """

    def measured(scores: list[Any]) -> dict[str, float]:
        """The measures of all scores with a confidence, by name, with `n` and `n_missing`."""
        # Imported late, because Inspect imports this module at every start.
        from calibrant._api.evaluate import evaluate
        from calibrant._measures.catalogue import listed

        names = [m.name for m in listed("metric", "binary")] if measures is None else measures
        rows = [_read_score(each.score, confidence, percent) for each in scores]
        kept = [(y, p) for y, p in rows if p is not None]
        if not kept:
            raise InputError(
                f"no score has {confidence!r} in its metadata: name its key with confidence="
            )
        result = evaluate([y for y, _ in kept], [p for _, p in kept], measures=names, bins=bins)
        counts = {"n": float(len(kept)), "n_missing": float(len(rows) - len(kept))}
        return {name: float(value) for name, value in result.values.items()} | counts

    return measured


def _read_score(score: Any, confidence: str, percent: bool) -> tuple[float, float | None]:
    """Read from a score how right the answer was, a number, and the model's confidence, or None.

    `confidence` is the key of the confidence in the score's metadata. If the score's value has
    several entries, the answer is rated under `score` or `correct`, and the confidence may be among
    the entries. With `percent` it is a percentage.
    """
    value = score.value
    stated = (score.metadata or {}).get(confidence)
    if isinstance(value, Mapping):
        stated = value.get(confidence) if stated is None else stated
        value = next((value[key] for key in ("score", "correct") if key in value), None)
        if value is None:
            raise InputError(
                "a score's value has several entries, but none is called 'score' or 'correct'"
            )
    return value_to_float()(value), _probability(stated, confidence, percent)


def _probability(stated: Any, confidence: str, percent: bool) -> float | None:
    """A stated confidence as a probability; None for None, NaN or an empty text.

    With `percent` it is read as a percentage. Anything but a number is an error that names the key
    `confidence`.
    """
    from calibrant._data.readers.chunks import plain_number
    from calibrant._data.readers.written import percentage

    if stated is None or stated != stated or (isinstance(stated, str) and not stated.strip()):
        return None
    if percent:
        share = percentage(stated)
        if isinstance(share, str):
            raise InputError(f"{confidence!r} of a score is {share}")
        return share
    number: Any = plain_number(stated.strip()) if isinstance(stated, str) else stated
    try:
        return float(number)
    except (TypeError, ValueError):
        raise InputError(
            f"{confidence!r} of a score is {stated!r}, which is not a number: give a probability, "
            "or percentages with percent=True"
        ) from None
