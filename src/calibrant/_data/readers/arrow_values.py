"""Columns of Arrow tables as NumPy arrays, without a copy if nothing is missing and nothing is to
be converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import (
    Chunk,
    Column,
    Field,
    Location,
    Names,
    Reader,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.find import File, unreadable


@contextmanager
def arrow_errors(file: File, kind: str) -> Iterator[None]:
    """Inside the block, turn Arrow's error about a file that it cannot read into an InputError;
    `kind` is the format's name in the message.
    """
    pa = import_module("pyarrow")
    try:
        yield
    except pa.ArrowException as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"{file} cannot be read as {kind}: {first}") from None
    except OSError as error:
        if error.strerror:
            raise unreadable(file, error) from None
        raise InputError(f"{file} cannot be read as {kind}: {error}") from None


def schema_names(schema: Any) -> tuple[str, ...]:
    """The names of all columns of a schema; fields of a struct have dotted paths as names."""

    def below(prefix: str, fields: Any) -> Iterator[str]:
        """Yield the names of these fields and of the fields within them, each after the prefix."""
        for field in fields:
            yield prefix + field.name
            if _is_struct(field.type):
                yield from below(f"{prefix}{field.name}.", field.type)

    return tuple(below("", schema))


def _is_struct(kind: Any) -> bool:
    """Whether an Arrow type is a struct."""
    types = import_module("pyarrow").types
    return bool(types.is_struct(kind))


def column_path(schema: Any, name: str) -> list[str]:
    """The path to a column: [its name], or the names of a struct and of the fields down to the
    column. Raise KeyError if the schema does not have it.
    """
    for field in schema:
        if field.name == name:
            return [name]
    for field in schema:
        if name.startswith(f"{field.name}.") and _is_struct(field.type):
            return [field.name, *column_path(field.type, name[len(field.name) + 1 :])]
    raise KeyError(name)


def value_type(schema: Any, name: str) -> Any:
    """The Arrow type of a column's values; for a dictionary or an extension type, the type of the
    values inside.
    """
    types = import_module("pyarrow").types
    path = column_path(schema, name)
    kind = schema.field(path[0]).type
    for part in path[1:]:
        kind = kind.field(part).type
    while types.is_dictionary(kind) or hasattr(kind, "storage_type"):
        kind = kind.value_type if types.is_dictionary(kind) else kind.storage_type
    return kind


class SchemaReader(Reader):
    """Base of the readers of Parquet and Arrow files and of tables: an Arrow schema describes the
    columns.
    """

    _schema: Any

    def width(self, name: str) -> int:
        """The number of numbers per row of a column: 1, or the length of its lists."""
        kind = value_type(self._schema, name)
        if not hasattr(kind, "value_type"):
            return 1
        return int(getattr(kind, "list_size", 0)) or self._list_length(name)

    def precision(self, name: str) -> str:
        """The precision of a column's numbers: "half", "single" or "double"."""
        return precision_of(value_type(self._schema, name))

    def _chunks_of(
        self, batch: Any, first: int, n_bytes: float, fields: Sequence[Field], rows: int
    ) -> Iterator[Chunk]:
        """Yield the columns of a record batch for these fields, in chunks of at most `rows` rows.
        `first` is the number of the batch's first row in the file, and `n_bytes` the number of
        bytes that the batch takes in the file.
        """
        for start in range(0, batch.num_rows, rows):
            span = batch.slice(start, rows)
            location = self._location(first + start)
            columns = {field: self._column(span, field, location) for field in fields}
            share = round(n_bytes * span.num_rows / batch.num_rows)
            yield Chunk(location, span.num_rows, share, columns)

    def _location(self, first: int) -> Location:
        """The location of the rows that begin at row number `first` of the file."""
        return Location(self.file, first)

    def _column(self, batch: Any, field: Field, location: Location) -> Column | Names:
        """The column of a record batch that a field asks for. `location` is where the batch begins,
        for errors.
        """
        return batch_column(batch, field, location)

    def _list_length(self, name: str) -> int:
        """The length of the first list in a column, for a schema without the length of lists."""
        for chunk in self.chunks(None, [field := Field(name, "number")], 1):
            column = chunk.columns[field]
            return int(column.values[0].size) if isinstance(column, Column) else 1
        return 1


def batch_column(batch: Any, field: Field, location: Location) -> Column | Names:
    """The column of a record batch that a field asks for: names if the field's role is "text", else
    the result of `array_column`. `location` is where the batch begins, for errors.
    """
    path = column_path(batch.schema, field.name)
    array = batch.column(batch.schema.get_field_index(path[0]))
    if len(path) > 1:
        array = import_module("pyarrow.compute").struct_field(array, path[1:])
    return array_names(array) if field.role == "text" else array_column(array, field, location)


def array_column(array: Any, field: Field, location: Location) -> Column | Names:
    """Convert an Arrow array: to numbers, to rows of numbers if it holds lists, or to names if it
    holds text labels. Raise InputError, with the location, for text in any other column.
    """
    types = import_module("pyarrow").types
    kind = array.type
    if hasattr(kind, "storage_type"):
        return array_column(array.storage, field, location)
    if types.is_dictionary(kind) and not is_text(kind.value_type):
        return array_column(array.dictionary_decode(), field, location)
    if types.is_dictionary(kind) or is_text(kind):
        if field.role in ("label", "name"):
            return array_names(array)
        raise _text_fault(array_names(array), field, location)
    if any(is_list(kind) for is_list in (types.is_list, types.is_large_list)):
        return _lists(array, field, location)
    if types.is_fixed_size_list(kind):
        return _lists(array, field, location)
    if types.is_decimal(kind) and kind.scale == 0 and not field.is_number:
        return _whole_decimals(array, field, location)
    return _numbers(array, field, location)


def _whole_decimals(array: Any, field: Field, location: Location) -> Column | Names:
    """Decimals without a fraction, as labels: 64-bit whole numbers, or names if they are too large.
    Doubles would lose digits.
    """
    pa = import_module("pyarrow")
    try:
        return _numbers(array.cast(pa.int64()), field, location)
    except pa.ArrowInvalid:  # beyond 2^63
        return array_names(array)


def _text_fault(texts: Names, field: Field, location: Location) -> InputError:
    """The error for a column of text that must be numbers: the message shows the first text that is
    not a number, and hints at what may be meant.
    """
    odd = [isinstance(text, str) and plain_number(text) is None for text in texts.known]
    rows = np.flatnonzero(np.array(odd, dtype=np.bool_)[texts.codes])
    if not rows.size:
        return InputError(f"{location}: the column {field.name!r} holds text: it must be numbers")
    return not_a_number(location.row(int(rows[0])), field, texts.known[texts.codes[rows[0]]])


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is a type of text."""
    types = import_module("pyarrow").types
    tests = (types.is_string, types.is_large_string, getattr(types, "is_string_view", None))
    return any(test(kind) for test in tests if test)


def _numbers(array: Any, field: Field, location: Location) -> Column:
    """An Arrow array of numbers or truth values as a column, with 0 in place of nulls; raise
    InputError for other types.
    """
    pa = import_module("pyarrow")
    kind, types = array.type, pa.types
    if types.is_decimal(kind) or types.is_null(kind):
        array = array.cast(pa.float64())
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputError(f"{location}: the column {field.name!r} holds {kind}: it must be numbers")
    if array.null_count == 0:
        return Column(as_numpy(array))
    filler = pa.scalar(False if types.is_boolean(array.type) else 0).cast(array.type)
    return Column(as_numpy(array.fill_null(filler)), as_numpy(array.is_null()))


def as_numpy(array: Any) -> NDArray[Any]:
    """The numbers of an Arrow array without nulls, as a NumPy array that shares its memory.
    (Arrow's own conversion imports pandas.)
    """
    types = import_module("pyarrow").types
    if types.is_boolean(array.type):  # bits
        return as_numpy(array.cast("uint8")).view(np.bool_)
    dtype = np.dtype(_DTYPES.get(str(array.type), str(array.type)))
    whole = np.frombuffer(array.buffers()[1] or b"", dtype=dtype)
    return whole[array.offset : array.offset + len(array)]


_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def _lists(array: Any, field: Field, location: Location) -> Column:
    """An Arrow array of lists, all of one length k, as rows of numbers, (n, k). A row counts as
    missing if its list is null or has a null in it; raise InputError for a list of another length.
    """
    pc = import_module("pyarrow.compute")
    gaps = as_numpy(array.is_null())
    present = array.drop_null() if gaps.any() else array
    inner = _numbers(present.flatten(), field, location)
    lengths = as_numpy(pc.list_value_length(present))
    k = int(lengths[0]) if lengths.size else 1
    other = lengths != k
    if other.any():
        at = int(np.argmax(other))
        raise InputError(
            f"{location.row(int(np.flatnonzero(~gaps)[at]))}: the list of the column "
            f"{field.name!r} has {lengths[at]} numbers, but others have {k}: every row needs a "
            "number for each class"
        )
    rows = inner.values.reshape(len(present), k)
    if inner.gaps is not None or gaps.any():
        whole = np.zeros((len(array), k), dtype=rows.dtype)
        whole[~gaps] = rows
        if inner.gaps is not None:
            gaps = gaps.copy()
            gaps[~gaps] = inner.gaps.reshape(len(present), k).any(axis=1)
        return Column(whole, gaps)
    return Column(rows)


def array_names(array: Any) -> Names:
    """The values of an Arrow array as names: the distinct values, and the number of its value for
    each row.
    """
    types = import_module("pyarrow").types
    if not types.is_dictionary(array.type):
        array = array.dictionary_encode()
    try:
        known = array.dictionary.to_pylist()
    except ValueError:  # times finer than Python's
        known = array.dictionary.cast("string").to_pylist()
    indices = array.indices
    if indices.null_count:
        known = [*known, None]
        indices = indices.cast("int64").fill_null(len(known) - 1)
    return Names(as_numpy(indices).astype(np.intp, copy=False), known)


def precision_of(kind: Any) -> str:
    """The precision of an Arrow type's numbers, or of the numbers in its lists: "half", "single" or
    "double".
    """
    types = import_module("pyarrow").types
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    if types.is_float32(kind):
        return "single"
    return "half" if types.is_float16(kind) else "double"
