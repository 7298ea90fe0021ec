"""The certificate of a stream, from its sums."""

from __future__ import annotations

from dataclasses import replace

from calibrant._api.certify import certifiable
from calibrant._core.errors import InputError
from calibrant._core.validation import check_level
from calibrant._data.samples import Shape
from calibrant._inference.certificates import certificate
from calibrant._inference.pooled_rows import PooledSums
from calibrant._summaries.requirements import is_available
from calibrant.results._certificate import Certificate


def certify_stream(
    sums: PooledSums,
    shape: Shape,
    summed: tuple[str, ...] | None,
    measure: str,
    level: float,
    sigma: float | None,
    anytime: bool,
) -> Certificate:
    """The certificate of a measure from the sums of a stream, which were made for the measures
    `summed` (None for all).
    """
    chosen = certifiable(measure, shape)
    summary = replace(sums.summary, own_bins=True, approximate=False)
    if not is_available(chosen, summed, summary.n_columns > 1):
        raise InputError(
            f"this stream has no sums for {chosen.name!r}: create it with measures='all', or name "
            "this measure when you create it"
        )
    if not summary.has(chosen):
        raise InputError(
            f"{chosen.name!r} needs the predictions in order, which a stream does not keep: "
            "certify arrays, or certify 'ece'"
        )
    return certificate(
        chosen,
        summary,
        check_level(level),
        summary.n_columns,
        sigma=sigma,
        anytime=anytime,
        clusters=sums.clusters_lost,
        bins=str(sums.rules[0]),
    )
