/* Bins of equal mass of one column of predictions, without sorting the column.
 *
 * The bits of numbers that are not negative sort as the numbers do. Their leading bits put each
 * prediction into one of a few thousand cells, in order; only the cells in which a bin begins are
 * sorted, and what lies between is summed as it stands. Predictions of one value share a cell, so
 * that a crowd at one value needs no more than a look at the cell's ends.
 *
 * Each function exists for columns of float and of double: REPORT is the type, BITS its integer.
 */
#ifndef CALIBRANT_COLUMNS_H
#define CALIBRANT_COLUMNS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#define ALONE __restrict
#else
#define ALONE __restrict__
#endif

/* Cells of a column: their counts stay in the innermost cache. */
#define MOST_CELLS 4096
/* A cell of so few is sorted by insertion, and a larger one digit by digit. */
#define FEW 32
#define DIGIT 8

#define REPORT float
#define BITS int32_t
#define ONE_BITS 0x3F800000
#define NAME(x) x##_float
#include "_columns_of.h"
#undef REPORT
#undef BITS
#undef ONE_BITS
#undef NAME

#define REPORT double
#define BITS int64_t
#define ONE_BITS 0x3FF0000000000000
#define NAME(x) x##_double
#include "_columns_of.h"
#undef REPORT
#undef BITS
#undef ONE_BITS
#undef NAME

/* The bin of a number: how many of the edges, in increasing order, are not above it. */
static inline ptrdiff_t bin_among(double x, const double *edges, ptrdiff_t n_edges)
{
    ptrdiff_t low = 0, high = n_edges;
    while (low < high) {
        ptrdiff_t middle = (low + high) / 2;
        if (edges[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
