"""Mixins of results: a diagram that has one form, and a page."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
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


class WithPage:
    """A result with a page: one HTML file that needs no other.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> page = cal.compare(y, {"a": p, "b": p[::-1]}, n_resamples=50).to_html(name="A and B")
    >>> "<title>A and B" in page
    True
    """

    @abstractmethod
    def _page(self, name: str | None, source: Any) -> str:
        """The HTML page of the result; `name` is its title, `source` says where rows come from."""

    def to_html(self, *, name: str | None = None, source: Any = None) -> str:
        """Give the page as text. Needs the extra ``report``.

        Parameters
        ----------
        name : str, optional
            The title of the page.
        source : str or mapping, optional
            Where the rows come from, as for `report`.

        Returns
        -------
        str
            HTML that needs no other file.
        """
        return self._page(name, source)

    def save(
        self, path: str | os.PathLike[str], *, name: str | None = None, source: Any = None
    ) -> Path:
        """Write the page: one HTML file that needs no other.

        Parameters
        ----------
        path : str or path
            A file that ends in .html.
        name : str, optional
            The title of the page.
        source : str or mapping, optional
            Where the rows come from, as for `report`.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from calibrant.results._pages.page import write_page

        return write_page(path, lambda: self.to_html(name=name, source=source))
