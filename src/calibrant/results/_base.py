"""What every result shares: text, JSON, a frame, and HTML in notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from calibrant._core.errors import InputError, nearest
from calibrant.results._notebook import html_box, html_list, html_table
from calibrant.results._rendering import as_frame, as_markdown, json_value
from calibrant.results._schema import VERSION, json_schema, schema_id
from calibrant.results._text_tables import as_text

T = TypeVar("T")
# The most rows of a table that are printed as text.
MOST_LINES = 200


class Record:
    """A result of a few single values, as JSON.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.spiegelhalter([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).to_dict()["name"]
    'Spiegelhalter z'
    """

    # The keys of the JSON object in their order, with spaces between them. A key is written
    # key=attribute where the attribute has another name. Empty: the fields of the dataclass.
    _json_keys: ClassVar[str] = ""
    # Properties that follow the fields in the JSON object.
    _json_properties: ClassVar[str] = ""
    # For the JSON Schema: the types of keys that no annotation tells, and keys that may be absent.
    _json_types: ClassVar[Mapping[str, Any]] = {}
    _json_optional: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Give the values as for JSON.

        Returns
        -------
        dict
            Names of attributes to their values, null for what is not a finite number, after
            `$schema` and `version`, which name what `json_schema` gives.
        """
        return {**self._header(), **self._content()}

    def _header(self) -> dict[str, str]:
        """The keys with which the JSON of a result begins, and that of what it holds does not."""
        return {"$schema": schema_id(type(self)), "version": VERSION}

    def _content(self) -> dict[str, Any]:
        """The JSON of the result without its header."""
        attributes = self._json_attributes().items()
        return {key: self._json_item(attribute) for key, attribute in attributes}

    @classmethod
    def _json_attributes(cls) -> dict[str, str]:
        """The attribute of each key of the JSON object."""
        own: Any = cls
        keys = cls._json_keys.split() or [each.name for each in fields(own)]
        pairs = [key.partition("=") for key in (*keys, *cls._json_properties.split())]
        return {key: attribute or key for key, _, attribute in pairs}

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in the JSON of the result; some subclasses override it."""
        return json_value(getattr(self, attribute))

    def to_json(self) -> str:
        """Give everything as JSON.

        Returns
        -------
        str
            `to_dict` as text.
        """
        return json.dumps(self.to_dict())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Give the JSON Schema (draft 2020-12) of what `to_dict` gives.

        Returns
        -------
        dict
            The schema.

        Examples
        --------
        >>> from calibrant.results import Verdict
        >>> Verdict.json_schema()["$id"]
        'urn:calibrant:1:Verdict'
        """
        return json_schema(cls)


class Result(Record):
    """A result that is a table: text, JSON, a frame, and HTML in notebooks.

    A subclass has `columns` and `title`; where a person should read other columns,
    `display_columns`; where sentences belong beside the table, `sentence`, `inferred` or `notes`,
    or for others `_messages`.

    Examples
    --------
    >>> import calibrant as cal
    >>> table = cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    >>> table.to_frame("pandas").shape
    (2, 8)
    """

    # The key of the JSON object that holds the columns of the table; empty: none does.
    _table_key: ClassVar[str] = ""
    # The columns that are not printed, with spaces between them; frames and JSON have them.
    _hidden: ClassVar[str] = ""
    _json_optional = "note"

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
        """Give the columns for display.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        return {
            name: values[self._printed_rows]
            for name, values in self.columns().items()
            if self._is_shown(name)
        }

    @property
    def _printed_rows(self) -> slice:
        """The rows that are printed: all, or in some subclasses a part of a long table."""
        return slice(None)

    def _is_shown(self, name: str) -> bool:
        """Whether the column of this name is printed; other columns are in frames and JSON only."""
        return name not in self._hidden.split()

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: `sentence`, what was inferred, and the notes."""
        sentence = getattr(self, "sentence", None)
        own = () if sentence is None else (sentence,)
        return (*own, *getattr(self, "inferred", ()), *getattr(self, "notes", ()))

    def _content(self) -> dict[str, Any]:
        """The JSON without its header, and without the optional keys that are empty."""
        optional = self._json_optional.split()
        return {
            key: value for key, value in super()._content().items() if value or key not in optional
        }

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in the JSON of the result (`to_dict`).

        The key that a subclass names in `_table_key` has the columns of the table.
        """
        if attribute == self._table_key:
            return json_value(self.columns())
        return super()._json_item(attribute)

    def to_frame(self, backend: str | None = None) -> Any:
        """Give the table as a frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default, the first of them that is installed.

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
        """The title, the messages and the table as text; a long table is cut."""
        lines = "".join(f"\n  {line}" for line in self._messages())
        return f"{self.title}{lines}{chr(10) if lines else ''}\n{self._table_text()}"

    def _table_text(self) -> str:
        """The table as text, its lines indented; a long one is cut."""
        return as_text(self.display_columns(), indent="  ", most=MOST_LINES)

    def _repr_html_(self) -> str:
        """The table and its messages as HTML, which notebooks show."""
        return html_box(html_table(self.display_columns(), self.title), html_list(self._messages()))


def column(
    name: str | None = "", *, shown: bool = True, when: str = "", each_entry: bool = False
) -> dict[str, Any]:
    """Say how a field of a row stands in the table of its result, as the field's metadata.

    Parameters
    ----------
    name : str or None, default ""
        The name of the column, if it is not the field's; ``{by}`` is the result's `by`. None keeps
        the field out of the table.
    shown : bool, default True
        Whether people read it; if not, only frames and JSON have it.
    when : str, default ""
        An attribute of the result; without a value of it the table lacks the column.
    each_entry : bool, default False
        Whether the field is a dict, each entry of which is a column.
    """
    return {"name": name, "shown": shown, "when": when, "each_entry": each_entry}


class TableOfRows(Result, Generic[T]):
    """A table whose rows are dataclasses: their fields, declared by `column`, are its columns."""

    rows: tuple[T, ...]
    # The dataclass of a row: `Slice` of a subclass of ``TableOfRows[Slice]``.
    _row_class: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) is TableOfRows:
                (cls._row_class,) = get_args(base)

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self) -> dict[str, list[Any]]:
        """Give the table as named columns.

        Returns
        -------
        dict of str to list
            A list for each attribute of a row, where the result has it. Names of slices, whose
            column is called as the caller's is, are in ``slice n`` if that is another's name ("n").
        """
        out: dict[str, list[Any]] = {}
        titled: dict[str, str] = {}
        for each in fields(self._row_class):
            name, when = each.metadata.get("name", ""), each.metadata.get("when")
            if name is None or (when and getattr(self, when) in (None, "")):
                continue
            values = self._values(each.name)
            if each.metadata.get("each_entry"):
                out |= {key: [entries[key] for entries in values] for key in values[0]}
            elif "{" in name:  # what it is called is known when the others are
                titled[name] = name.format_map(vars(self))
                out[name] = values
            else:
                out[name or each.name] = values
        for name, title in titled.items():
            titled[name] = f"slice {title}" if title in out else title
        return {titled.get(name, name): values for name, values in out.items()}

    def _is_shown(self, name: str) -> bool:
        hidden = [
            each.name for each in fields(self._row_class) if not each.metadata.get("shown", True)
        ]
        return name not in hidden and super()._is_shown(name)

    def _values(self, attribute: str) -> list[Any]:
        """The values of one attribute of the rows, a list."""
        return [getattr(row, attribute) for row in self.rows]

    def _row_named(self, name: Any, problem: str, attribute: str = "name") -> T:
        """The row whose `attribute` equals this name; an error if there is none.

        `problem` is the clause with which the error begins; the error also suggests the nearest
        name.
        """
        known = self._values(attribute)
        if str(name) not in known:
            raise InputError(f"{problem}: {nearest(str(name), known)}")
        return self.rows[known.index(str(name))]
