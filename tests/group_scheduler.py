"""Which process runs which tests: a group stays in one process, and groups begin in their order.

It is what ``--dist loadgroup`` does with marks. pytest-xdist 3.8 writes the group into a private
field of each test that pytest 9 no longer reads, so that groups are torn apart; this implements
pytest-xdist's protocol `xdist.scheduler.Scheduling` in its place, and nothing that is private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# A process is given another group when so few tests are left: it begins its last test when it
# knows which one is next.
FEW = 2


class GroupScheduling:
    """Groups of tests that wait, and the tests that each process (node) still has to run."""

    def __init__(self, n_processes: int, group_of: Callable[[str], str]) -> None:
        self._n_processes = n_processes
        self._group_of = group_of
        self._tests: Sequence[str] | None = None
        self._waiting: list[list[int]] = []
        self._pending: dict[Any, dict[int, None]] = {}
        self._collected: dict[Any, Sequence[str]] = {}

    @property
    def nodes(self) -> list[Any]:
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collected) >= self._n_processes

    @property
    def tests_finished(self) -> bool:
        left = any(len(tests) >= FEW for tests in self._pending.values())
        return self.collection_is_completed and not self._waiting and not left

    @property
    def has_pending(self) -> bool:
        return bool(self._waiting) or any(self._pending.values())

    def add_node(self, node: Any) -> None:
        self._pending[node] = {}

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        self._collected[node] = list(collection)

    def schedule(self) -> None:
        """Give each process its first tests, or those of a process that crashed."""
        if self._tests is None:
            self._tests = next(iter(self._collected.values()))
            groups: dict[str, list[int]] = {}
            for index, test in enumerate(self._tests):
                groups.setdefault(self._group_of(test), []).append(index)
            self._waiting = list(groups.values())
        for node, collected in self._collected.items():
            if collected != self._tests:
                apart = sorted(set(collected) ^ set(self._tests))
                raise RuntimeError(f"{node} collected other tests, or in another order: {apart}")
        for node in self.nodes:
            self._give(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        del self._pending[node][item_index]
        self._give(node)

    def remove_node(self, node: Any) -> str | None:
        """The test in which a process crashed; what it had left goes to others."""
        left = list(self._pending.pop(node))
        if not left:
            return None
        crashed, *rest = left
        if rest:
            self._waiting.insert(0, rest)
        for other in self.nodes:
            self._give(other)
        assert self._tests is not None
        return self._tests[crashed]

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError("no test is run twice")

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        raise NotImplementedError("no test is taken from a process")

    def _give(self, node: Any) -> None:
        if node.shutting_down:
            return
        tests = self._pending[node]
        while self._waiting and len(tests) <= FEW:
            group = self._waiting.pop(0)
            tests.update(dict.fromkeys(group))
            node.send_runtest_some(group)
        if not self._waiting:
            node.shutdown()
