"""WithPage: results that can be written as a page of their own."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import Any


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
