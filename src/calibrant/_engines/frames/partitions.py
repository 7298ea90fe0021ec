"""Dask frames: the same steps, carried out on one partition after another.

Dask's planner takes ten seconds and more over a hundred expressions, whatever the data. Here its
graph has one task per partition, which groups and sums; sums are then added up in a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals as nw

from calibrant._engines.frames.expressions import Expr, Frame

# Rows of a partition that are worked on at once: enough to outweigh the cost of a step, few enough
# that all columns on the way fit into some hundred megabytes.
CHUNK = 1 << 18
# How many partial results one task adds up.
FAN_IN = 8
_ENDS: dict[str, Callable[[Expr], Expr]] = {"low": nw.Expr.min, "high": nw.Expr.max}
_SUM: Callable[[Expr], Expr] = nw.Expr.sum

Step = tuple[str, tuple[Any, ...], dict[str, Any]]


def open_frame(frame: Frame, columns: Sequence[str]) -> Frame:
    """The frame ready for a query: a Dask frame becomes a `Partitioned` of the given columns, any
    other frame is returned unchanged.
    """
    if isinstance(frame, Partitioned) or not frame.implementation.is_dask():
        return frame
    return Partitioned(frame.select(*columns))


def stacked(frames: Sequence[Frame]) -> Frame:
    """One frame with the rows of all these frames, which have the same columns and were made from
    one frame by different steps.
    """
    first = frames[0]
    if not isinstance(first, Partitioned):
        return nw.concat(list(frames), how="vertical")
    # The steps with which all of them begin are taken once.
    n_shared = 0
    for steps in zip(*(frame.steps for frame in frames), strict=False):
        if any(step is not steps[0] for step in steps):
            break
        n_shared += 1
    own = tuple(frame.steps[n_shared:] for frame in frames)
    return replace(first, steps=(*first.steps[:n_shared], ("stacked", own, {})))


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A Dask frame with steps to run on each of its partitions, under the methods of a lazy frame
    that queries use. A step is a method's name, its positional and its keyword arguments.
    """

    frame: Frame
    steps: tuple[Step, ...] = ()
    # The partitions, shared by all frames made from one: Dask plans them anew whenever asked.
    _parts: list[Any] = field(default_factory=list)

    @property
    def parts(self) -> list[Any]:
        """The partitions as delayed objects of Dask; nothing is read yet."""
        if not self._parts:
            self._parts.extend(self.frame.to_native().to_delayed())
        return self._parts

    @property
    def implementation(self) -> Any:
        """The engine of the frame, as narwhals names it: Dask."""
        return self.frame.implementation

    def _with_step(self, name: str, /, *args: Any, **kwargs: Any) -> Partitioned:
        """The same frame with one more step: a method's name and arguments."""
        return replace(self, steps=(*self.steps, (name, args, kwargs)))

    def select(self, *args: Any, **kwargs: Any) -> Partitioned:
        """The frame with narwhals' `select` as one more step; the methods below do likewise."""
        return self._with_step("select", *args, **kwargs)

    def with_columns(self, **kwargs: Any) -> Partitioned:
        return self._with_step("with_columns", **kwargs)

    def filter(self, flag: Expr) -> Partitioned:
        return self._with_step("filter", flag)

    def head(self, n: int) -> Partitioned:
        return self._with_step("head", n)

    def unpivot(self, **kwargs: Any) -> Partitioned:
        return self._with_step("unpivot", **kwargs)

    def group_by(self, *keys: str) -> _Grouped:
        return _Grouped(self, keys)

    def collect_schema(self) -> Any:
        """The names and types of the columns after all steps; no row is read."""
        empty = nw.from_native(self.frame.to_native()._meta, eager_only=True)
        return _apply_steps(empty, self.steps).collect_schema()

    def collect(self) -> Any:
        """Run the steps, and return their result in memory: sums of groups if a step groups rows,
        else the first rows.
        """
        from dask.delayed import delayed

        names = [name for name, _, _ in self.steps]
        last = names.index("sums") if "sums" in names else len(names) - 1
        keys = self.steps[last][1][0] if "sums" in names else None
        # Steps are bound to functions, since Dask searches through every argument of a task.
        summed = delayed(partial(_sum_partition, steps=self.steps[: last + 1], keys=keys))
        joined = delayed(partial(_merge_parts, keys=keys))
        lots = [summed(part) for part in self.parts]
        while len(lots) > 1:
            lots = [joined(*lots[i : i + FAN_IN]) for i in range(0, len(lots), FAN_IN)]
        after = self.steps[last + 1 :] if keys else self.steps[-1:]
        whole = lots[0].compute()
        if whole is None:
            empty = self.frame.to_native().get_partition(0).compute()
            whole = _apply_steps(nw.from_native(empty), self.steps[: last + 1]).to_native()
        return _apply_steps(nw.from_native(whole), after)


@dataclass(frozen=True, eq=False)
class _Grouped:
    """A partitioned frame whose rows are grouped by the columns `keys` in the next step."""

    frame: Partitioned
    keys: tuple[str, ...]

    def agg(self, *sums: Expr) -> Partitioned:
        """The frame with the step that sums each group."""
        return self.frame._with_step("sums", self.keys, sums)


def _apply_steps(frame: Any, steps: tuple[Step, ...]) -> Any:
    """Run the steps on a frame in memory, and return the resulting frame."""
    for name, args, kwargs in steps:
        if name == "sums":
            frame = frame.group_by(*args[0]).agg(*args[1])
        elif name == "stacked":
            frame = nw.concat([_apply_steps(frame, part) for part in args], how="vertical")
        else:
            frame = getattr(frame, name)(*args, **kwargs)
    return frame


def _sum_partition(part: Any, steps: tuple[Step, ...], keys: tuple[str, ...] | None) -> Any:
    """Run the steps on one partition, chunk by chunk, and add up the sums of groups with equal
    `keys` (None: append the rows).

    None for a partition without rows, as filters may leave: steps take long, whatever the data.
    """
    if not len(part):
        return None
    chunks = [part.iloc[i : i + CHUNK] for i in range(0, len(part), CHUNK)]
    taken = (_apply_steps(nw.from_native(chunk), steps).to_native() for chunk in chunks)
    return _merge_parts(*taken, keys=keys)


def _merge_parts(*parts: Any, keys: tuple[str, ...] | None) -> Any:
    """Merge the results of several partitions: sums of groups with equal `keys` are added up, or,
    if `keys` is None, rows are appended. Parts that are None are left out; None if all are.
    """
    some = [part for part in parts if part is not None]
    if not some:
        return None
    nonempty = [part for part in some if len(part)] or some[:1]
    if len(nonempty) == 1:
        return nonempty[0]
    whole = nw.concat([nw.from_native(part) for part in nonempty], how="vertical")
    if keys is None:
        return whole.to_native()
    sums = [
        _ENDS.get(name.split()[0], _SUM)(nw.col(name)) for name in whole.columns if name not in keys
    ]
    return whole.group_by(*keys).agg(*sums).to_native()
