"""Collecting sums: the only module in which an engine executes a query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import narwhals as nw

from calibrant._core.errors import MissingExtra
from calibrant._engines.frames.expressions import Expr, Float64, Frame, col

# Bytes of the largest method that Java compiles; it interprets longer ones, many times slower.
_JAVA_METHOD = "8000"
_SPARK_LIMIT = "spark.sql.codegen.hugeMethodLimit"


def collected(frame: Frame) -> Any:
    """Run the query of a lazy frame and return its rows, a narwhals DataFrame in memory; to be
    called on sums only.

    Polars works in its streaming engine, so that memory stays bounded, unless the environment
    variable POLARS_ENGINE_AFFINITY chooses another.
    """
    if frame.implementation.is_polars() and "POLARS_ENGINE_AFFINITY" not in os.environ:
        return frame.collect(engine="streaming")
    try:
        if frame.implementation.is_spark_like():
            with _compiled_methods(frame.to_native()):
                return frame.collect()
        if frame.implementation.is_ibis():
            with _without_fused_selects():
                return frame.collect()
        return frame.collect()
    except ModuleNotFoundError as error:  # DuckDB hands its results over as Arrow tables
        purpose = f"collecting sums from {frame.implementation.value}"
        package = error.name or "pyarrow"
        raise MissingExtra(package, "cli" if package == "pyarrow" else None, purpose) from error


def one_row(frame: Frame) -> dict[str, Any]:
    """The values of the one row of a frame, by column."""
    found = collected(frame)
    return {name: found[name].to_list()[0] for name in found.columns}


def totals(frame: Frame, values: Mapping[str, Expr]) -> dict[str, float]:
    """The sums of the values over all rows of a frame, by name; 0 where there are no rows."""
    names = {f"sum{j}": name for j, name in enumerate(values)}
    columns = {own: values[name].cast(Float64) for own, name in names.items()}
    # Sums of one group, since partitions of a Dask frame are summed by group.
    grouped = frame.select(key=nw.lit(0), **columns).group_by("key")
    found = collected(grouped.agg(*[col(own).sum() for own in names]))
    if found.is_empty():
        return dict.fromkeys(values, 0.0)
    return {name: float(found[own].to_list()[0]) for own, name in names.items()}


_nesting = Lock()
_before: list[bool] = []


@contextmanager
def _without_fused_selects() -> Iterator[None]:
    """Keep Ibis, inside a `with`, from merging layers of columns into one selection, which takes
    Ibis half of a query's time and databases none.

    The option is global: of queries that run at the same time, the last one to end sets it back.
    """
    import ibis

    with _nesting:
        _before.append(ibis.options.sql.fuse_selects if not _before else _before[0])
        ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        with _nesting:
            own = _before.pop()
            if not _before:
                ibis.options.sql.fuse_selects = own


@contextmanager
def _compiled_methods(native: Any) -> Iterator[None]:
    """Let Spark, inside a `with`, split stages whose code is too long to be compiled in one
    piece.
    """
    before = None
    with suppress(Exception):  # not every Spark lets its settings be seen or changed
        settings = native.sparkSession.conf
        before = settings.get(_SPARK_LIMIT)
        settings.set(_SPARK_LIMIT, _JAVA_METHOD)
    try:
        yield
    finally:
        if before is not None:
            with suppress(Exception):
                settings.set(_SPARK_LIMIT, before)
