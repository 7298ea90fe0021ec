"""Tests of a group share a process, and a process that crashes leaves its tests to others."""

from __future__ import annotations

import pytest

from group_scheduler import GroupScheduling


class Process:
    def __init__(self):
        self.shutting_down, self.sent = False, []

    def send_runtest_some(self, indices):
        assert not self.shutting_down
        self.sent.append(list(indices))

    def shutdown(self):
        self.shutting_down = True


TESTS = ["a::1", "b::1", "a::2", "c::1", "a::3", "b::2", "c::2", "d::1"]


def started(n=2):
    scheduler = GroupScheduling(n, lambda test: test[0])
    processes = [Process() for _ in range(n)]
    for process in processes:
        scheduler.add_node(process)
        assert not scheduler.collection_is_completed
        scheduler.add_node_collection(process, TESTS)
    scheduler.schedule()
    return scheduler, processes


def test_groups_begin_in_order_and_each_stays_in_one_process():
    scheduler, (first, second) = started()
    assert first.sent == [[0, 2, 4]]
    assert second.sent == [[1, 5], [3, 6]]  # of two tests the last one waits for a next
    assert scheduler.has_pending and not scheduler.tests_finished
    scheduler.mark_test_complete(first, 0)
    assert first.sent == [[0, 2, 4], [7]] and first.shutting_down
    for index in (2, 4, 7):
        scheduler.mark_test_complete(first, index)
    for index in (1, 5, 3, 6):
        scheduler.mark_test_complete(second, index)
    assert second.shutting_down and scheduler.tests_finished and not scheduler.has_pending


def test_what_a_crashed_process_had_left_goes_to_others():
    scheduler, (first, second) = started()
    scheduler.mark_test_complete(second, 1)
    assert scheduler.remove_node(second) == "b::2"
    other = Process()
    scheduler.add_node(other)
    scheduler.add_node_collection(other, TESTS)
    scheduler.schedule()
    assert other.sent == [[3, 6], [7]]
    assert scheduler.remove_node(first) == "a::1"


def test_a_process_without_tests_left_did_not_crash_in_one():
    scheduler, (first, second) = started()
    for index in (0, 2, 4, 7):
        scheduler.mark_test_complete(first, index)
    assert scheduler.remove_node(first) is None
    assert not scheduler.tests_finished
    for index in (1, 5, 3, 6):
        scheduler.mark_test_complete(second, index)
    assert scheduler.remove_node(second) is None and scheduler.tests_finished


def test_processes_that_collect_other_tests_are_an_error():
    scheduler = GroupScheduling(1, lambda test: test[0])
    first, second = Process(), Process()
    scheduler.add_node(first)
    scheduler.add_node_collection(first, TESTS)
    scheduler.add_node(second)
    scheduler.add_node_collection(second, TESTS[1:])
    with pytest.raises(RuntimeError, match=r"collected other tests.*a::1"):
        scheduler.schedule()
