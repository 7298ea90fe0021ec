/* Numbers that rounding pushed past an end of [0, 1]. */
#ifndef CALIBRANT_TOLERANCE_H
#define CALIBRANT_TOLERANCE_H

#include <stdint.h>

/* How far past an end of [0, 1] a number may be and be brought back (calibrant.samples.tolerances). */
#define OVERSHOOT 1e-4

/* Bring a number that rounding pushed past an end back to it; 0 if it is truly outside, or NaN. */
static inline int clip_overshoot(double *x, int64_t *n_clipped)
{
    if (*x >= 0.0 && *x <= 1.0) return 1;
    if (*x < 0.0 && *x >= -OVERSHOOT)
        *x = 0.0;
    else if (*x > 1.0 && *x <= 1.0 + OVERSHOOT)
        *x = 1.0;
    else
        return 0;
    ++*n_clipped;
    return 1;
}

#endif
