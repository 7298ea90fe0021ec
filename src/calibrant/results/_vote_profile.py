"""VoteProfile: predictions beside votes, and what so many votes let one expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import counted
from calibrant.results._base import Result
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from calibrant.results._plots.vote_profile import VoteProfileDisplay

Columns = dict[str, list[Any]]
BAND_NOTE = (
    "bands are formed by the entropy of the votes: where few votes agree by chance, even a "
    "perfect model seems underconfident. `expected` is what a perfect model shows in the same "
    "bands"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VoteProfile(Result):
    """Predictions and human votes: observed, and expected from a perfect model.

    Made by `vote_profile`. Expected values come from votes drawn from the predictions, as many as
    each row has.

    Attributes
    ----------
    bins : dict of str to list
        Reliability by bin of the predictions: `lower`, `upper`, `n`, `mean_predicted`,
        `mean_target`, and `low` and `high`, the range expected from vote noise.
    distances : dict of str to list
        Histogram of the total variation between prediction and votes: `lower`, `upper`, `share` of
        the rows, and `expected`, `low` and `high` from vote noise alone.
    entropies : dict of str to list
        By bin of the predictions' entropy: `lower`, `upper`, `n`, `predicted`, the votes' mean
        entropy `label`, and `expected`, `low` and `high`.
    bands : dict of str to list
        By quantile band of the votes' entropy: `band`, `n`, `entropy`, `dist_ce` and
        `overconfidence` (top prediction less its share of votes), each with its expected value.
    n, n_votes : int
        The numbers of rows and of votes.
    notion : str
        What the bins are of: "binary" (P(y = 1)), or "confidence" for the top label.
    level : float
        The level of `low` and `high`.
    n_draws, seed : int
        Draws of votes, and their seed.
    note : str
        Remarks, such as which of two columns the bins use.

    Examples
    --------
    >>> import calibrant as cal
    >>> counts, p = [[3, 1], [0, 4], [2, 2], [1, 3]] * 25, [[0.7, 0.3], [0.1, 0.9], [0.5, 0.5]] * 33
    >>> profile = cal.vote_profile(counts, p + [[0.5, 0.5]])
    >>> profile.n, profile.n_votes
    (100, 400)
    """

    bins: Columns
    distances: Columns
    entropies: Columns
    bands: Columns
    n: int
    n_votes: int
    notion: str
    level: float
    n_draws: int
    seed: int
    note: str = ""

    def columns(self) -> Columns:
        """Give a row per band of label entropy.

        Returns
        -------
        dict of str to list
            The columns of `bands`.
        """
        return self.bands

    @property
    def title(self) -> str:
        """The numbers of rows and votes, in one line."""
        return (
            f"{counted(self.n_votes, 'vote')} on {counted(self.n, 'row')}, by bands of entropy; "
            f"{percent(self.level)} confidence intervals"
        )

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: what the bands of entropy are, and the note."""
        return tuple(filter(None, [BAND_NOTE, self.note]))

    def plot(
        self,
        *,
        kind: str | None = None,
        ax: Any = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> VoteProfileDisplay:
        """Draw the profile. Needs matplotlib.

        Parameters
        ----------
        kind : {"reliability", "distances", "entropies", "bands"}, optional
            One diagram; by default all four, on a new figure.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        VoteProfileDisplay
            The diagrams; its `save` writes them to a file.
        """
        from calibrant.results._plots.vote_profile import VoteProfileDisplay

        return VoteProfileDisplay(self).plot(kind=kind, ax=ax, legend=legend, size=size)
