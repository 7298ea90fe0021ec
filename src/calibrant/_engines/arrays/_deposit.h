/* Deposits on smoothing grids: a mass goes to the four nodes around its place, with the weights of
 * cubic interpolation. */
#ifndef CALIBRANT_DEPOSIT_H
#define CALIBRANT_DEPOSIT_H

#include <string.h>

/* Add `mass` at the offset t in [0, 1) after node[1] to node[0] .. node[3]: two 16-byte additions. */
static inline void deposit(double *node, double t, double mass)
{
    double a = t + 1.0, b = t - 1.0, c = t - 2.0, bc = mass * (b * c), at = mass * (a * t);
#if defined(__GNUC__)
    typedef double pair __attribute__((vector_size(16)));
    pair low, high;
    memcpy(&low, node, sizeof low);
    memcpy(&high, node + 2, sizeof high);
    low += (pair){t, a} * (pair){bc, bc} * (pair){-1.0 / 6.0, 0.5};
    high += (pair){c, b} * (pair){at, at} * (pair){-0.5, 1.0 / 6.0};
    memcpy(node, &low, sizeof low);
    memcpy(node + 2, &high, sizeof high);
#else
    node[0] += t * bc * (-1.0 / 6.0);
    node[1] += a * bc * 0.5;
    node[2] += c * at * -0.5;
    node[3] += b * at * (1.0 / 6.0);
#endif
}

#endif
