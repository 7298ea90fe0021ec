"""WithDiagram: results that are drawn as one diagram."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

Display = TypeVar("Display")


class WithDiagram(Generic[Display]):
    """A result that is drawn as one diagram, as `Display`.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.reliability_curve([0, 1, 0, 1], [0.2, 0.7, 0.8, 0.9], band=None)
    >>> curve.plot(counts=False).ax_.get_xlabel()
    'predicted probability'
    """

    @abstractmethod
    def _display(self, name: str | None) -> tuple[Any, dict[str, Any]]:
        """The display of the result, not yet drawn, and options of its `plot`."""

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        counts: bool = True,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> Display:
        """Draw the result as a diagram. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        counts : bool, default True
            Whether to draw the strip that shows where the predictions lie.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        Display
            The diagram; its `save` writes it to a file.
        """
        display, options = self._display(name)
        drawn: Display = display.plot(ax=ax, counts=counts, legend=legend, size=size, **options)
        return drawn
