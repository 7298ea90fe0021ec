"""What every result shares: text, JSON, a frame, and HTML in notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Generic, TypeVar

from calibrant.results._notebook import boxed, html_table, notes
from calibrant.results._rendering import as_frame, as_markdown, as_text, json_value

T = TypeVar("T")
# Rows that a text shows of a table.
MOST_LINES = 200


class Record:
    """A result of a few single values, as JSON.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.spiegelhalter([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).to_dict()["name"]
    'Spiegelhalter z'
    """

    def to_dict(self) -> dict[str, Any]:
        """Give the values as JSON has them.

        Returns
        -------
        dict
            Field names to values; null for what is not a finite number.
        """
        return {name: json_value(value) for name, value in asdict(self).items()}  # type: ignore[call-overload]

    def to_json(self) -> str:
        """Give everything as JSON.

        Returns
        -------
        str
            `to_dict` as text.
        """
        return json.dumps(self.to_dict())


class Result(Record):
    """A result that is a table: text, JSON, a frame, and HTML in notebooks.

    A subclass has `columns` and `title`; where a person should read other columns,
    `display_columns`; where sentences belong beside the table, `_messages`.

    Examples
    --------
    >>> import calibrant as cal
    >>> table = cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    >>> table.to_frame("pandas").shape
    (2, 8)
    """

    @property
    def title(self) -> str:
        """What the table is, in one line."""
        raise NotImplementedError

    def columns(self) -> dict[str, list[Any]]:
        """Give the table as named columns.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        raise NotImplementedError

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns that a person reads.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        return self.columns()

    def _messages(self) -> tuple[str, ...]:
        """Sentences beside the table."""
        return ()

    def to_frame(self, backend: str | None = None) -> Any:
        """Give the table as a frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose frame; left out, the first of them that is installed.

        Returns
        -------
        frame
            A row for each row of `columns`.
        """
        return as_frame(self.columns(), backend)

    def to_markdown(self) -> str:
        """Give the table that a person reads as Markdown.

        Returns
        -------
        str
            A pipe table; what Markdown would read otherwise is escaped.

        Examples
        --------
        >>> import calibrant as cal
        >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
        >>> print(cal.check(y, p, at_most={"brier": 0.2}, point=True).to_markdown())
        | limit | n | value | verdict |
        |---|---:|---:|---|
        | brier \\<= 0.2 | 200 | 0.0750 | pass |
        """
        return as_markdown(self.display_columns())

    def __repr__(self) -> str:
        lines = "".join(f"\n  {line}" for line in self._messages())
        table = as_text(self.display_columns(), indent="  ", most=MOST_LINES)
        return f"{self.title}{lines}{chr(10) if lines else ''}\n{table}"

    def _repr_html_(self) -> str:
        return boxed(html_table(self.display_columns(), self.title), notes(self._messages()))


class Rows(Generic[T]):
    """A result whose rows can be counted and gone through."""

    rows: tuple[T, ...]

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
