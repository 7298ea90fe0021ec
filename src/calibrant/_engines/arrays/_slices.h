/* The sums of one slice: those of rows with 0/1 labels, one label apart from the other. */
#ifndef CALIBRANT_SLICES_H
#define CALIBRANT_SLICES_H

#include "_bins.h"

/* Count, sum, sum of squares, and sum of squared distances from the label: a cell is full. */
IN_PLACE void add_to_label(double *cells, double x, uint64_t label, const cuts_t *cuts)
{
    double *cell = cells + CELL * (2 * bin_of(x, cuts) + (ptrdiff_t)label);
    double gap = x - (double)label;
#if defined(__GNUC__)
    typedef double pair __attribute__((vector_size(16)));
    pair first, second;
    memcpy(&first, cell, sizeof first);
    memcpy(&second, cell + 2, sizeof second);
    first += (pair){1.0, x};
    second += (pair){x * x, gap * gap};
    memcpy(cell, &first, sizeof first);
    memcpy(cell + 2, &second, sizeof second);
#else
    cell[0] += 1.0;
    cell[1] += x;
    cell[2] += x * x;
    cell[3] += gap * gap;
#endif
}

#endif
