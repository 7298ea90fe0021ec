# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled readers of numbers in blocks of text. What is not plain they leave to slower readers."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

cdef extern from "_decimal.h" nogil:
    const int LEAST_POWER
    const int MOST_POWER
    uint64_t FIVES[]
    ctypedef struct decimal_t:
        double value
    const char* read_decimal(const char*, const char*, decimal_t*) noexcept

cdef extern from "_json_lines.h" nogil:
    ctypedef struct node_t:
        const char* key
        int64_t length
        int32_t first_child, n_children, leaf, plain
    ctypedef struct leaf_t:
        double* values
        uint8_t* gaps
        int64_t width
        int32_t kinds
    ctypedef struct json_t:
        const char* p
        const char* end
        node_t* nodes
        leaf_t* leaves
        int64_t row
    int64_t read_json_lines(json_t*, int32_t, int64_t) noexcept

cdef extern from "_csv_rows.h" nogil:
    ctypedef struct column_t:
        double* values
        uint8_t* gaps
        int64_t n_gaps
    int64_t read_csv_rows(
        const char*, const char*, char, const int32_t*, int32_t, column_t*) noexcept
    int64_t row_end(const char*, const char*, char, int, int*) noexcept
    int64_t count_byte(const char*, int64_t, char) noexcept


cdef void fill_fives():
    """128 bits of each power, the first of them set: below those of 1 a little too large."""
    cdef object power, five, bits  # as long as they need be
    for power in range(LEAST_POWER, MOST_POWER + 1):
        five = pow(5, abs(power))
        n = five.bit_length()
        if power >= 0:
            bits = five << (128 - n) if n <= 128 else five >> (n - 128)
        else:
            bits = (1 << (n + 127 if power >= -27 else 2 * n + 128)) // five + 1
            bits >>= max(0, bits.bit_length() - 128)
        FIVES[2 * <int>(power - LEAST_POWER)] = bits >> 64
        FIVES[2 * <int>(power - LEAST_POWER) + 1] = bits & 0xFFFFFFFFFFFFFFFF


fill_fives()


def decimal(bytes text):
    """The number that a text is; None where it is none, or where 19 digits do not decide it."""
    cdef decimal_t number
    cdef const char* start = text
    cdef const char* behind = read_decimal(start, start + len(text), &number)
    return number.value if behind == start + len(text) else None


def count_lines(bytes text):
    """How many line ends there are."""
    cdef const char* start = text
    cdef int64_t n = len(text), found
    with nogil:
        found = count_byte(start, n, b"\n")
    return found


def json_lines(bytes text, Py_ssize_t start, Py_ssize_t most, list tree, list widths):
    """The fields of at most so many records from `start` on, and where the next ones begin.

    `tree` has the keys that lead to fields, as `json_scan.Tree` lays them out. Of each field the
    numbers, the gaps, and bits that say what there was. None where a record is not plain.
    """
    cdef const char* whole = text
    cdef int64_t found
    cdef json_t scan
    cdef double[::1] values
    cdef uint8_t[::1] gaps
    most = min(most, count_byte(whole + start, len(text) - start, b"\n") + 1)
    columns = [
        (np.empty((most, width) if width else most), np.empty(most, dtype=np.uint8))
        for width in widths
    ]
    scan.p, scan.end, scan.row = whole + start, whole + len(text), 0
    scan.nodes = <node_t*>calloc(len(tree), sizeof(node_t))
    scan.leaves = <leaf_t*>calloc(len(widths) + 1, sizeof(leaf_t))
    try:
        if scan.nodes is NULL or scan.leaves is NULL:
            raise MemoryError
        for i, (key, first_child, n_children, leaf, plain) in enumerate(tree):
            scan.nodes[i].key, scan.nodes[i].length = <bytes>key, len(key)
            scan.nodes[i].first_child, scan.nodes[i].n_children = first_child, n_children
            scan.nodes[i].leaf, scan.nodes[i].plain = leaf, plain
        for i, (numbers, absent) in enumerate(columns):
            values, gaps = numbers.reshape(-1), absent
            scan.leaves[i].values, scan.leaves[i].gaps = &values[0], &gaps[0]
            scan.leaves[i].width = widths[i]
        n_leaves = len(widths)
        found = _json_lines(&scan, n_leaves, most)
        if found < 0:
            return None
        kinds = [scan.leaves[i].kinds for i in range(len(widths))]
        at = scan.p - whole
    finally:
        free(scan.nodes)
        free(scan.leaves)
    out = [
        (numbers[:found], absent[:found].view(np.bool_), kind)
        for (numbers, absent), kind in zip(columns, kinds)
    ]
    return found, at, out


cdef int64_t _json_lines(json_t* scan, int32_t n_leaves, int64_t most):
    cdef int64_t found
    with nogil:
        found = read_json_lines(scan, n_leaves, most)
    return found


def csv_rows(bytes text, str delimiter, const int32_t[::1] slots, int n_wanted):
    """How many rows there are, and the numbers and gaps of each column that is wanted.

    `slots` has a column's place among those, or -1. None where a row is not plain.
    """
    cdef const char* start = text
    cdef int64_t n = len(text), found
    cdef char mark = <char>ord(delimiter)
    cdef double[::1] values
    cdef uint8_t[::1] gaps
    most = count_byte(start, n, b"\n") + 1
    arrays = [(np.empty(most), np.empty(most, dtype=np.uint8)) for _ in range(n_wanted)]
    cdef column_t* columns = <column_t*>calloc(n_wanted + 1, sizeof(column_t))
    if columns is NULL:
        raise MemoryError
    try:
        for i, (numbers, absent) in enumerate(arrays):
            values, gaps = numbers, absent
            columns[i].values, columns[i].gaps = &values[0], &gaps[0]
        with nogil:
            found = read_csv_rows(
                start, start + n, mark, &slots[0], <int32_t>slots.shape[0], columns)
        if found < 0:
            return None
        return found, [
            (numbers[:found], absent[:found].view(np.bool_) if columns[i].n_gaps else None)
            for i, (numbers, absent) in enumerate(arrays)
        ]
    finally:
        free(columns)


def last_row_end(bytes text, str delimiter, bint first=False):
    """How far the rows of a text reach, or its first one, and whether it ends within quotes."""
    cdef const char* start = text
    cdef int64_t n = len(text), found
    cdef char mark = <char>ord(delimiter)
    cdef int is_open = 0
    with nogil:
        found = row_end(start, start + n, mark, first, &is_open)
    return found, bool(is_open)
