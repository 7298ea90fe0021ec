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
# Sums that are added up by one task.
FAN_IN = 8
_ENDS: dict[str, Callable[[Expr], Expr]] = {"low": nw.Expr.min, "high": nw.Expr.max}
_SUM: Callable[[Expr], Expr] = nw.Expr.sum

Step = tuple[str, tuple[Any, ...], dict[str, Any]]


def opened(frame: Frame, columns: Sequence[str]) -> Frame:
    """A frame ready for the steps of a query, which needs these of its columns."""
    if isinstance(frame, Partitioned) or not frame.implementation.is_dask():
        return frame
    return Partitioned(frame.select(*columns))


def stacked(frames: Sequence[Frame]) -> Frame:
    """Frames of one origin on top of each other."""
    first = frames[0]
    if not isinstance(first, Partitioned):
        return nw.concat(list(frames), how="vertical")
    # What all of them start with is done once.
    n_shared = 0
    for steps in zip(*(frame.steps for frame in frames), strict=False):
        if any(step is not steps[0] for step in steps):
            break
        n_shared += 1
    own = tuple(frame.steps[n_shared:] for frame in frames)
    return replace(first, steps=(*first.steps[:n_shared], ("stacked", own, {})))


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A Dask frame and steps to take: as much of a lazy frame as queries need."""

    frame: Frame
    steps: tuple[Step, ...] = ()
    # Shared by all that is made of one frame: Dask plans them anew whenever it is asked.
    _parts: list[Any] = field(default_factory=list)

    @property
    def parts(self) -> list[Any]:
        """The partitions, yet to be read."""
        if not self._parts:
            self._parts.extend(self.frame.to_native().to_delayed())
        return self._parts

    @property
    def implementation(self) -> Any:
        return self.frame.implementation

    def _then(self, name: str, *args: Any, **kwargs: Any) -> Partitioned:
        return replace(self, steps=(*self.steps, (name, args, kwargs)))

    def select(self, *args: Any, **kwargs: Any) -> Partitioned:
        return self._then("select", *args, **kwargs)

    def with_columns(self, **kwargs: Any) -> Partitioned:
        return self._then("with_columns", **kwargs)

    def filter(self, flag: Expr) -> Partitioned:
        return self._then("filter", flag)

    def head(self, n: int) -> Partitioned:
        return self._then("head", n)

    def unpivot(self, **kwargs: Any) -> Partitioned:
        return self._then("unpivot", **kwargs)

    def group_by(self, *keys: str) -> _Grouped:
        return _Grouped(self, keys)

    def collect(self) -> Any:
        """Sums of groups, or the first rows."""
        from dask.delayed import delayed

        names = [name for name, _, _ in self.steps]
        last = names.index("sums") if "sums" in names else len(names) - 1
        keys = self.steps[last][1][0] if "sums" in names else None
        # Bound to functions: what a task is given Dask looks through, expression by expression.
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
    frame: Partitioned
    keys: tuple[str, ...]

    def agg(self, *sums: Expr) -> Partitioned:
        return self.frame._then("sums", self.keys, sums)


def _apply_steps(frame: Any, steps: tuple[Step, ...]) -> Any:
    """An eager frame after the steps."""
    for name, args, kwargs in steps:
        if name == "sums":
            frame = frame.group_by(*args[0]).agg(*args[1])
        elif name == "stacked":
            frame = nw.concat([_apply_steps(frame, part) for part in args], how="vertical")
        else:
            frame = getattr(frame, name)(*args, **kwargs)
    return frame


def _sum_partition(part: Any, steps: tuple[Step, ...], keys: tuple[str, ...] | None) -> Any:
    """None without rows, as filters leave partitions: steps take long, whatever the data."""
    if not len(part):
        return None
    chunks = [part.iloc[i : i + CHUNK] for i in range(0, len(part), CHUNK)]
    taken = (_apply_steps(nw.from_native(chunk), steps).to_native() for chunk in chunks)
    return _merge_parts(*taken, keys=keys)


def _merge_parts(*parts: Any, keys: tuple[str, ...] | None) -> Any:
    """Parts put together: sums of equal groups added up, or rows one after another."""
    some = [part for part in parts if part is not None]
    if not some:
        return None
    nonempty = [part for part in some if len(part)] or some[:1]
    if len(nonempty) == 1:
        return nonempty[0]
    whole = nw.concat([nw.from_native(part) for part in nonempty], how="vertical")
    if keys is None:
        return whole.to_native()
    sums = [_ENDS.get(name, _SUM)(nw.col(name)) for name in whole.columns if name not in keys]
    return whole.group_by(*keys).agg(*sums).to_native()
