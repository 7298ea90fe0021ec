/* The reads of _rows.h for one type of prediction; included once per type. */

RESHUFFLED static double NAME(sum_of)(const REPORT *row, ptrdiff_t k)
{
    double s = 0.0;
    for (ptrdiff_t r = 0; r < k; r++) s += row[r];
    return s;
}

static inline BITS NAME(bits_of)(const REPORT *entry)
{
    BITS bits;
    memcpy(&bits, entry, sizeof bits);
    return bits;
}

/* The smallest prediction that is at least `bound`. */
static inline REPORT NAME(at_least)(double bound)
{
    REPORT x = (REPORT)bound;
    return (double)x < bound ? NEXT_ABOVE(x) : x;
}

/* Sum and largest entry of a row, and whether an entry has a minus sign. */
static inline void NAME(scan_row)(const REPORT *row, ptrdiff_t k, double *total, double *largest,
                                  int *negative)
{
    BITS high = 0, any = 0;
    REPORT top;
    for (ptrdiff_t r = 0; r < k; r++) {
        BITS bits = NAME(bits_of)(row + r);
        high = bits > high ? bits : high;
        any |= bits;
    }
    memcpy(&top, &high, sizeof top);
    *total = NAME(sum_of)(row, k);
    *largest = top;
    *negative = any < 0;
}

/* The first entry, from `r` on, that is at least `bound` (not negative); k if there is none. */
static inline ptrdiff_t NAME(first_at_least)(const REPORT *row, ptrdiff_t r, ptrdiff_t k,
                                             double bound)
{
    REPORT least = NAME(at_least)(bound);
    BITS wanted = NAME(bits_of)(&least);
    for (; r + RUN <= k; r += RUN) {
        int any = 0;
        for (int j = 0; j < RUN; j++) any |= NAME(bits_of)(row + r + j) >= wanted;
        if (any) break;
    }
    for (; r < k; r++)
        if (NAME(bits_of)(row + r) >= wanted) return r;
    return k;
}

/* Add the entries below `edge` to `sums`, and their squares to `squares` if wanted. The entries are picked
 * a run at a time before they are added: a choice and a sum in one loop are not vectorised. */
static inline void NAME(add_below)(const REPORT *ALONE row, ptrdiff_t k, double edge,
                                   double *ALONE sums, double *ALONE squares, int want_squares)
{
    REPORT least = NAME(at_least)(edge), picked[RUN];
    ptrdiff_t r = 0;
    for (; r + RUN <= k; r += RUN) {
        for (int j = 0; j < RUN; j++) picked[j] = row[r + j] < least ? row[r + j] : 0;
        for (int j = 0; j < RUN; j++) sums[r + j] += picked[j];
        if (want_squares)
            for (int j = 0; j < RUN; j++) squares[r + j] += (double)picked[j] * picked[j];
    }
    for (; r < k; r++) {
        double x = row[r] < least ? row[r] : 0;
        sums[r] += x;
        squares[r] += x * x;
    }
}

/* A row less its target: another row, or (NULL) a label. */
static inline void NAME(subtract)(double *ALONE out, const REPORT *ALONE row,
                                  const double *ALONE target, ptrdiff_t label, ptrdiff_t k)
{
    if (target != NULL) {
        for (ptrdiff_t r = 0; r < k; r++) out[r] = row[r] - target[r];
    } else {
        for (ptrdiff_t r = 0; r < k; r++) out[r] = row[r];
        out[label] -= 1.0;
    }
}
