/* Sorting of predictions by their bits, from the leading digits down.
 *
 * The bits of a number in [0, 1] sort as the numbers do, and its sign bit is free: a label fits in at
 * the other end. Rows are dealt into cells of their leading digits until a cell holds a handful;
 * the rest is done by insertion. Digits that all keys of a cell share are skipped, so predictions
 * crowded anywhere only make it look at lower digits.
 */
#ifndef CALIBRANT_ORDER_H
#define CALIBRANT_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* At most so many cells at once: their ends stay in the nearest cache. */
#define MOST_DIGIT_BITS 11
/* Up to so many keys are sorted by insertion. */
#define FEW_KEYS 24

/* The bits of a prediction in [0, 1], and one bit more. */
static inline uint64_t key_of_prediction(double x, uint64_t label)
{
    uint64_t bits;
    x += 0.0; /* -0.0 and 0.0 are one prediction */
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 | label;
}

static inline double prediction_of_key(uint64_t key)
{
    double x;
    key >>= 1;
    memcpy(&x, &key, sizeof x);
    return x;
}

/* Where rows are dealt first: 2,048 equal cells, but an octave each in the first and in the last of
 * them, where predictions crowd. Cells rise with the prediction. */
#define LINEAR_CELLS 2048
#define OCTAVES 64
#define N_CELLS (LINEAR_CELLS - 1 + 2 * OCTAVES)

static inline int exponent_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52);
}

static inline ptrdiff_t cell_of(double x)
{
    ptrdiff_t cell = (ptrdiff_t)(x * LINEAR_CELLS);
    if (cell == 0) { /* below 2^-11, whose exponent is 1012 */
        int octave = exponent_of(x) - (1012 - OCTAVES);
        return octave > 0 ? octave : 0;
    }
    if (cell >= LINEAR_CELLS - 1) { /* 1 - x is exact, and at most 2^-11 */
        int octave = 1012 - exponent_of(1.0 - x);
        return OCTAVES + LINEAR_CELLS - 2 + (octave < OCTAVES ? octave : OCTAVES);
    }
    return OCTAVES - 1 + cell;
}

typedef struct {
    uint64_t key;
    uint64_t row;
} keyed_t;

#define ITEM uint64_t
#define KEY(item) (item)
#define NAME(x) x##_keys
#include "_order_of.h"
#undef ITEM
#undef KEY
#undef NAME

#define ITEM keyed_t
#define KEY(item) ((item).key)
#define NAME(x) x##_keyed
#include "_order_of.h"
#undef ITEM
#undef KEY
#undef NAME

#endif
