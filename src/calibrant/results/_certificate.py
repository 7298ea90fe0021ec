"""Certificate: a proved upper bound of a calibration error."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._core.errors import counted
from calibrant.results._base import Record
from calibrant.results._rendering import shown


@dataclass(frozen=True)
class Certificate(Record):
    """A proved upper bound of a calibration error, without a condition on the population.

    Made by `certify`, `Accumulator.certify` and `Monitor.certify`. The population's error exceeds
    `upper` with probability at most ``1 - level``, however few rows or many bins there are.

    Attributes
    ----------
    measure : str
        The measure.
    upper : float
        The bound, of what `of` says.
    value : float
        The same on the sample.
    level : float
        The minimum probability with which the bound holds.
    n : int
        Number of independent rows, or of clusters.
    unit : {"row", "cluster"}
        Which of the two.
    of : str
        What is bounded: "ECE", or "root of LinCE", since squares are bounded by their roots.
    bins : str
        The bins; "" for a measure without.
    sigma : float or None
        The width of the noise of a smooth error; None for others, and for the fixed point of smECE.
    anytime : bool
        Whether the bound holds at all sample sizes simultaneously, however often it is checked.
    note : str
        What to know about the result.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.certify([0, 1, 1, 0] * 500, [0.2, 0.7, 0.9, 0.4] * 500)
    >>> found.value < found.upper < 0.35
    True
    """

    _json_properties = "method sentence"

    measure: str
    upper: float
    value: float
    level: float
    n: int
    unit: str
    of: str
    bins: str = ""
    sigma: float | None = None
    anytime: bool = False
    note: str = ""

    @property
    def method(self) -> str:
        """How the bound was found."""
        sizes = "all sample sizes simultaneously" if self.anytime else "this sample size"
        return f"bets on the mean of one bounded number per {self.unit}, valid at {sizes}"

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        where = f" in {self.bins}" if self.bins else ""
        noise = f" at sigma {self.sigma:g}" if self.sigma is not None else ""
        rows = counted(self.n, f"independent {self.unit}")
        return (
            f"{self.of}{noise} is at most {shown(self.upper)}, with probability at least "
            f"{self.level:g}; on {rows} it is {shown(self.value)}{where}."
        )

    def __repr__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return f"Certificate({self.sentence} {self.method[0].upper()}{self.method[1:]}{note})"
