"""Whatever the user has, as a NumPy array: arrays, tensors, columns and frames."""

from __future__ import annotations

import numbers
import sys
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.engine_choice import requested_engine
from calibrant._core.errors import InputError
from calibrant._core.messages import values_of
from calibrant._core.typing import Mask

# The names of half precision in pandas, polars and pyarrow.
_HALF = ("float16", "halffloat")
# Tensors on an accelerator with at most this many entries are copied to the host for intervals.
COPIED_ENTRIES = 1_000_000
_FRAME_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "duckdb")


def to_array(value: Any, argument: str) -> NDArray[Any]:
    """The values as an array, without a copy if that is possible; raise InputError for nulls.
    `argument` is the name of the values in errors.
    """
    # The first use of np.ma imports it, which takes as long as a small sum.
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise _null_error(argument, np.ma.getmaskarray(value))
        return native(value.data)
    if isinstance(value, np.ndarray):
        # NumPy itself has no bfloat16; float32 holds every value of it.
        plain = np.asarray(value)  # of a subclass, the array itself
        plain = plain.astype(np.float32) if _is_bfloat16(plain.dtype) else native(plain)
        return without_objects(plain)
    library = type(value).__module__.partition(".")[0]
    if library in _FRAME_LIBRARIES:
        return _from_frame_library(value, argument)
    if library == "torch":
        return _from_torch(value, argument)
    if is_elsewhere(value):
        raise InputError(
            f"{values_of(argument)} is a {full_name(value)}, whose rows are in another engine: "
            "give the frame and name its columns, as in evaluate('label', 'p', data=frame)"
        )
    try:
        if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        array = np.asarray(value)
    except (BufferError, RuntimeError) as error:  # another device, or numbers that NumPy lacks
        raise InputError(
            f"{values_of(argument)} cannot be read here ({error}): bring it to the CPU, as "
            "float64, float32 or integers"
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{values_of(argument)} cannot be read as an array of one shape ({error}): give rows "
            "of equal length"
        ) from error
    return without_objects(array)


def native(array: NDArray[Any]) -> NDArray[Any]:
    """The array in this machine's byte order, so that its dtype can be compared with others."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def without_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Turn an array of Python objects into an array of numbers, if all objects are numbers;
    decimals become float64. Any other array is returned unchanged.
    """
    if array.dtype.kind != "O" or array.size == 0:
        return array
    if not all(isinstance(value, Decimal | numbers.Real | np.bool_) for value in array.flat):
        return array  # something is missing, or is text: an error of the checks that follow
    try:
        decimals = any(isinstance(value, Decimal) for value in array.flat)
        plain = array.astype(np.float64) if decimals else np.array(array.tolist())
    except (OverflowError, ValueError):  # a number beyond all bounds, or a signalling NaN
        return array
    return plain if plain.dtype.kind in "biuf" else array


def kind_of_tensor(tensor: Any) -> str:
    """The kind of a torch tensor's numbers by NumPy's letter: "f" (float), "i" (integer), "b"
    (bool) or "c" (complex).
    """
    if tensor.dtype.is_complex:
        return "c"
    if tensor.dtype.is_floating_point:
        return "f"
    return "b" if str(tensor.dtype) == "torch.bool" else "i"


def precision_name(value: Any) -> str:
    """The name of the dtype of an array, a tensor or a series, such as "float16" or "bfloat16". For
    a frame it is "float16" if one of its columns has that dtype, else ""; for a list it is "".
    """
    if not hasattr(value, "dtype") and hasattr(value, "columns"):
        of_arrow = getattr(getattr(value, "schema", None), "types", ())
        types: Any = getattr(value, "dtypes", of_arrow)
        return "float16" if any(str(kind).lower() in _HALF for kind in types) else ""
    kind = getattr(value, "dtype", "")
    return _type_name(kind) if isinstance(kind, np.dtype) else _last_part(str(kind))


@cache
def _is_bfloat16(kind: np.dtype[Any]) -> bool:
    """Whether a dtype is bfloat16, which other packages add to NumPy."""
    return kind.name == "bfloat16"


@cache
def _type_name(kind: np.dtype[Any]) -> str:
    """The name of a NumPy dtype, such as "float32". It is cached because NumPy needs longer to make
    it than to sum a few rows.
    """
    return _last_part(str(kind.newbyteorder("=")))


def _last_part(name: str) -> str:
    """The part of a dotted name after its last dot: "float32" for "torch.float32"."""
    return name.rpartition(".")[2]


def stays_on_device(value: Any) -> bool:
    """Whether the value is a torch tensor that torch itself must sum: it lies on another device
    than the CPU, or the caller requested the engine "torch".
    """
    if type(value).__module__.partition(".")[0] != "torch":
        return False
    return value.device.type != "cpu" or requested_engine() == "torch"


def is_summed_on_device(value: Any) -> bool:
    """Whether intervals of these predictions are computed from sums: those of large tensors on an
    accelerator, which take longer to copy than to sum.
    """
    if not stays_on_device(value) or value.device.type == "cpu":
        return False
    return int(value.numel()) > COPIED_ENTRIES


def plain_tensor(value: Any, argument: str) -> Any:
    """A torch tensor detached from the graph of gradients, in a type that torch can compute with;
    raise InputError for nested, sparse, quantized and meta tensors.
    """
    torch = sys.modules["torch"]
    kinds = {
        "a nested tensor": value.is_nested,
        "a tensor on the meta device, which holds no numbers": value.is_meta,
        "a quantized tensor": value.is_quantized,
        "a sparse tensor": value.layout != torch.strided,
    }
    odd = next((kind for kind, is_so in kinds.items() if is_so), None)
    if odd is not None:
        raise InputError(
            f"{values_of(argument)} is {odd}: give an ordinary tensor, such as float32"
        )
    tensor = value.detach().resolve_conj().resolve_neg()
    # torch cannot compute with floats of eight bits, only convert them.
    return tensor.float() if str(tensor.dtype).startswith("torch.float8") else tensor


def _from_torch(value: Any, argument: str) -> NDArray[Any]:
    """Copy a torch tensor to the host as an array; bfloat16 becomes float32."""
    torch = sys.modules["torch"]
    tensor = plain_tensor(value, argument).cpu()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.numpy()


def _from_frame_library(value: Any, argument: str) -> NDArray[Any]:
    """A series as an array (n,), or a frame as an array (n, columns). Rows stay in their order,
    whatever their index. Raise InputError for nulls.
    """
    import narwhals as nw

    names = [str(name) for name in getattr(value, "columns", [])]
    if hasattr(value, "set_axis") and names:
        # Columns are taken in order: their names may be numbers, or the same.
        value = value.set_axis([str(j) for j in range(value.shape[1])], axis="columns")
    try:
        native = nw.from_native(value, allow_series=True, eager_only=True)
    except TypeError:
        return without_objects(np.asarray(value))
    if isinstance(native, nw.Series):
        if native.dtype == nw.Struct:  # its fields have names, which are not compared with labels
            raise InputError(
                f"{values_of(argument)} holds records: make a column of each field, and name the "
                "columns"
            )
        _check_no_nulls([native], [str(native.name or "")], argument)
        return _column(native)
    columns = list(native.iter_columns())
    _check_no_nulls(columns, names or [column.name for column in columns], argument)
    return np.column_stack([_column(column) for column in columns])


def _check_no_nulls(columns: list[Any], names: list[str], argument: str) -> None:
    """Raise InputError if one of the columns has nulls; the message names the column and the first
    row with a null.
    """
    if any(column.null_count() > 0 for column in columns):
        missing = np.column_stack([c.is_null().to_numpy() for c in columns])
        row = int(np.argmax(missing.any(axis=1)))
        name = names[int(np.argmax(missing[row]))]
        raise _null_error(f"{argument} (column {name!r})" if name else argument, missing)


def _column(column: Any) -> NDArray[Any]:
    """A narwhals series without nulls as an array; categories become their values."""
    import narwhals as nw

    if column.dtype == nw.Categorical or isinstance(column.dtype, nw.Enum):
        native = column.to_native()
        # pandas categories may be of any type; the others' are text.
        of_any_type = type(native).__module__.partition(".")[0] == "pandas"
        return np.asarray(native if of_any_type else column.cast(nw.String).to_numpy())
    if column.dtype == nw.Decimal:
        column = column.cast(nw.Float64)
    array: NDArray[Any] = without_objects(column.to_numpy())
    if array.dtype.kind == "O" and column.dtype in (nw.Float32, nw.Float64):
        return array.astype(np.float64)  # a nullable column without nulls
    if array.dtype.kind == "O" and column.dtype.is_integer():
        return array.astype(np.int64)
    if array.dtype.kind == "O" and column.dtype == nw.Boolean:
        return array.astype(np.bool_)
    return array


def _null_error(argument: str, missing: Mask) -> InputError:
    """The error for missing values, with the number of rows that have one, and the first of them.
    `missing` is a mask of the missing values.
    """
    rows = np.flatnonzero(missing if missing.ndim == 1 else missing.any(axis=1))
    return InputError(
        f"{argument} has {rows.size} missing value{'s' if rows.size > 1 else ''}, the first in "
        f"row {rows[0]}: drop or fill those rows before measuring"
    )


# How the rows of each library's frames are brought into memory.
_WAYS = {
    "pyspark": "data.select(...).toPandas()",
    "polars": "data.collect()",
    "duckdb": "data.df()",
    "dask": "data.compute()",
    "ibis": "data.to_pandas()",
    "sqlframe": "data.toPandas()",
}
_IN_PLACE = "evaluate, Accumulator and Monitor compute their sums in the frame's own engine"


def full_name(value: Any) -> str:
    """The name of a value's class with its module, such as
    "polars.dataframe.frame.DataFrame".
    """
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def collect_hint(value: Any) -> str:
    """The rest of an error about a lazy frame where rows in memory are needed: the frame's type,
    and how to bring its rows into memory.
    """
    way = _WAYS.get(_package_name(value), "collect it")
    return (
        f"{full_name(value)}, whose rows are in another engine, but this function needs them in "
        f"memory: collect the columns first ({way}). {_IN_PLACE}"
    )


def is_elsewhere(value: Any) -> bool:
    """Whether a value is a lazy frame, or a column of one, whose rows are in another engine and not
    in memory.
    """
    library = _package_name(value)
    return library in _WAYS and (library != "polars" or type(value).__name__ == "LazyFrame")


def _package_name(value: Any) -> str:
    """The name of the package that defines a value's class, without leading underscores."""
    return type(value).__module__.partition(".")[0].lstrip("_")
