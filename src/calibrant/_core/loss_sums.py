"""LossSums: sums of per-sample losses. Sums of parts add up."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._core.typing import Array

# The compiled kernels write the first seven by position.
FIELDS = (
    "n",
    "sum_w",
    "brier",
    "log",
    "spherical",
    "classification",
    "confidence",
    "distribution",
    "entropy",
    "entropy_signed",
    "rank",
    "absolute",
    "jensen_shannon",
    "root_jensen_shannon",
    "relative_entropy",
    "transport",
    "top_distance",
)
N_PROPER = 7
# Quantities that are 1 less a mean loss and have no sum of their own, with the name of that loss.
COMPLEMENTS = {"hits": "classification"}


@dataclass(frozen=True, eq=False)
class LossSums:
    """Weighted sums of losses, one number per name of FIELDS.

    The fields from `N_PROPER` on compare predicted with target distributions. They cost a sort and
    logarithms per entry, so they are summed only on request; `has_distribution` says whether they
    were.
    """

    sums: Array
    n_classes: int
    has_distribution: bool = False

    def __add__(self, other: LossSums) -> LossSums:
        """The sums over all rows of both, which must have the same number of classes."""
        if self.n_classes != other.n_classes:
            raise ValueError(f"losses over {self.n_classes} and {other.n_classes} classes")
        return LossSums(
            self.sums + other.sums,
            self.n_classes,
            self.has_distribution and other.has_distribution,
        )

    def mean(self, name: str) -> float:
        """The weighted mean of the loss with this name in FIELDS. A name in COMPLEMENTS ("hits")
        gives 1 less the mean of the loss that stands there.
        """
        if name in COMPLEMENTS:
            return 1.0 - self.mean(COMPLEMENTS[name])
        return float(self.sums[FIELDS.index(name)] / self.sums[1])
