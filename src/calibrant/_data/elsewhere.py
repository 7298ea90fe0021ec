"""Frames whose rows are in another engine: what they are called, and how rows come here."""

from __future__ import annotations

from typing import Any

# How the rows of each library's frames are brought into memory.
_WAYS = {
    "pyspark": "data.select(...).toPandas()",
    "polars": "data.collect()",
    "duckdb": "data.df()",
    "dask": "data.compute()",
    "ibis": "data.to_pandas()",
    "sqlframe": "data.toPandas()",
}
_IN_PLACE = "evaluate, Accumulator and Monitor sum such a frame where it is"


def full_name(value: Any) -> str:
    """The class of a value with its module: many libraries have a DataFrame."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def bring_here(value: Any) -> str:
    """What a frame is and what to do, where a function needs the rows in memory."""
    way = _WAYS.get(_library(value), "collect it")
    return (
        f"{full_name(value)}, whose rows are in another engine, and this needs them in memory: "
        f"bring the columns here first ({way}). {_IN_PLACE}"
    )


def is_elsewhere(value: Any) -> bool:
    """Whether a value is a frame, or a column of one, that NumPy cannot read."""
    library = _library(value)
    return library in _WAYS and (library != "polars" or type(value).__name__ == "LazyFrame")


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0].lstrip("_")
