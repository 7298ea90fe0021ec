"""Every engine behind one call: columns and names in, whatever the engine makes of them out.

`call(engine, function, columns, y, p)` is ``function(y, p, data=frame)`` for engines of frames, and
the same with arrays (or tensors) in the place of names for the others.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant._engines.arrays.selection import available as available
from calibrant._engines.arrays.selection import engine as engine
from calibrant._engines.arrays.selection import kernels
from needs import need

Columns = Mapping[str, Any]
# Rows below which frames of Dask come in one partition.
SMALL = 1000


def call(name: str, function: Callable[..., Any], columns: Columns, y: Any, p: Any, **options: Any):
    """The function of the columns named by y and p, as this engine has them."""
    with settings(name):
        if name in FRAMES:
            return function(y, p, data=frame(name, columns), **options)
        make = ARRAYS[name]
        if "sample_weight" in options:
            options["sample_weight"] = make(np.asarray(columns[options["sample_weight"]]))
        return function(make(_array(columns, y)), make(_array(columns, p)), **options)


# The last frames, each with the columns that it was made of, which no other columns can then be.
_FRAMES: dict[tuple[str, int], tuple[Columns, Any]] = {}
_KEPT = 8


def frame(name: str, columns: Columns) -> Any:
    """A frame of the engine with these columns: made once for columns asked for again."""
    key = (name, id(columns))
    if key not in _FRAMES:
        if len(_FRAMES) >= _KEPT:
            del _FRAMES[next(iter(_FRAMES))]
        _FRAMES[key] = columns, FRAMES[name](_table(columns))
    return _FRAMES[key][1]


def array_engine() -> str:
    """The engine that sums arrays now."""
    return kernels().name


def _array(columns: Columns, names: Any) -> Any:
    if isinstance(names, str):
        return np.asarray(columns[names])
    return np.stack([columns[name] for name in names], axis=1)


def _table(columns: Columns) -> Any:
    pyarrow = need("pyarrow")
    return pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})


@contextmanager
def settings(name: str) -> Iterator[None]:
    """What must be set while an engine is asked."""
    with pytest.MonkeyPatch.context() as patch:
        if name in available():
            with engine(name):
                yield
            return
        if name == "torch":
            patch.setenv("CALIBRANT_ENGINE", "torch")
        if name == "polars in memory":
            patch.setenv("POLARS_ENGINE_AFFINITY", "in-memory")
        yield


@functools.cache
def _connection() -> Any:
    """A connection of our own, not DuckDB's default one. Opening one takes as long as a query."""
    return need("duckdb").connect()


def _duckdb(table: Any) -> Any:
    return _connection().from_arrow(table)


def _dask(table: Any) -> Any:
    need("pandas")
    dask = need("dask.dataframe")
    # Each partition takes as long as a query: small frames come in one, as they do elsewhere.
    partitions = 2 if len(table) >= SMALL else 1
    whole = dask.from_pandas(table.to_pandas(), npartitions=partitions, sort=False)
    # A partition without rows, as filters leave them. Planned once: Dask takes as long over it as
    # over a query, whenever it is asked for the partitions of a frame.
    return dask.concat([whole.partitions[:1].loc[1:0], whole]).persist(scheduler="sync")


def _ibis(table: Any) -> Any:
    return need("ibis").memtable(table)


def _spark(table: Any) -> Any:
    return spark().createDataFrame(table)


# A compiler that takes little time, and no proof that Spark's classes, all ten thousand that it
# loads, are well made.
JAVA = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)


def looked_in_first() -> str:
    """Archives that most classes are in. Java looks for each in one after another, of hundreds."""
    archives = Path(need("pyspark").__file__).parent / "jars"
    kinds = ("spark-catalyst", "scala-library", "spark-core", "scala-reflect", "log4j-core")
    kinds += ("spark-sql", "jackson-databind", "spark-config", "janino", "spark-network-common")
    return os.pathsep.join(str(file) for kind in kinds for file in archives.glob(f"{kind}*.jar"))


@functools.cache
def spark() -> Any:
    """A Spark session, started once; it needs Java.

    One thread suits queries of a thousand rows, and plans that are carried out as they are, not
    compiled; tests/engines/test_spark.py has them compiled. Where an operator was called, in
    Python or in Java, is not written down, which takes as long as all else. Data still comes in
    two partitions, whose sums must be put together.
    """
    need("pyspark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        reason = "Spark needs Java, which is not installed"
        if os.environ.get("CALIBRANT_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.leafNodeDefaultParallelism", "2")
        .config("spark.driver.extraJavaOptions", " ".join(JAVA))
        .config("spark.driver.extraClassPath", looked_in_first())
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.subexpressionElimination.enabled", "false")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.sql.dataFrameQueryContext.enabled", "false")
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    atexit.register(session.stop)
    _speak_less(session)
    return session


def _speak_less(session: Any) -> None:
    """Less to say between Python and the Java machine, which takes much of a small query's time.

    Every `lit` and `col` asks anew where functions are, and Java looks for them in hundreds of
    archives: they are asked for once, and so are literals, columns and types, of which an
    evaluation has some thousands, many of them the same, and the session, which every cast looks
    for. Nor is Java told of each expression that Python has no use for any more: a run makes some
    hundred thousand, which fit into its memory.
    """
    java = session.sparkContext._jvm
    functions, sequences = java.functions, java.PythonUtils
    for name in ("when", "sum", "floor", "coalesce", "greatest", "least", "log"):
        setattr(functions, name, getattr(functions, name))
    functions.lit, functions.col = _asked_once(functions.lit), _asked_once(functions.col)
    types = session._jsparkSession
    types.parseDataType = _asked_once(types.parseDataType)
    type(session)._getActiveSessionOrCreate = staticmethod(lambda: session)
    sequences.toSeq = sequences.toSeq
    java.functions, java.PythonUtils = functions, sequences
    setattr(java, "org.apache.spark.sql.functions", functions)
    session.sparkContext._gateway.gateway_property.enable_memory_management = False


def _asked_once(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What Java answers, kept by type and last digit: 1 is not True, nor is 0.0 its negative."""
    answers: dict[tuple[type, str], Any] = {}

    def kept(asked: Any) -> Any:
        key = type(asked), repr(asked)
        if key not in answers:
            answers[key] = of(asked)
        return answers[key]

    return kept


def _torch(array: Any) -> Any:
    if array.dtype.kind == "U":  # no tensor holds words
        return array
    return need("torch").from_numpy(np.ascontiguousarray(array))


ARRAYS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda array: array for name in available()},
    "torch": _torch,
}
LAZY: dict[str, Callable[[Any], Any]] = {
    "polars streaming": lambda table: need("polars").from_arrow(table).lazy(),
    "polars in memory": lambda table: need("polars").from_arrow(table).lazy(),
    "duckdb": _duckdb,
    "dask": _dask,
    "ibis": _ibis,
    "spark": _spark,
}
FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: need("polars").from_arrow(table),
    "pyarrow": lambda table: table,
    **LAZY,
}
ENGINES = (*ARRAYS, *FRAMES)

# A test that takes `engine_name` is run with every engine, one after another
# (``call(engine_name, ...)``); with this mark, with those that sum arrays in this process
# (``with engine(engine_name): ...``).
each_array_engine = pytest.mark.parametrize("engine_name", available())
