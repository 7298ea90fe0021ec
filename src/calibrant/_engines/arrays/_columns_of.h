/* The functions of _columns.h for one type of prediction; included once per type. */

/* A column in the order of its cells. Keys are bits, in [0, ONE_BITS]. */
typedef struct {
    BITS *keys;      /* in order of cells; within a cell in order of rows, until it is sorted */
    BITS *spare;     /* as many, for sorting */
    uint32_t *ends;  /* where each cell ends */
    uint8_t *sorted; /* whether a cell is in order */
    ptrdiff_t n;
    BITS base; /* the leading bits of the first cell */
    int cells;
    int shift;
} NAME(cells);

static inline REPORT NAME(number_of)(BITS key)
{
    REPORT x;
    memcpy(&x, &key, sizeof x);
    return x;
}

/* Columns first .. first + n_columns of a matrix with any strides (in bytes), each as one run. What
 * rounding pushed past an end of [0, 1] is brought back to it: in bits that is a comparison. */
static void NAME(take_columns)(const char *matrix, ptrdiff_t n, ptrdiff_t row_stride,
                               ptrdiff_t column_stride, ptrdiff_t n_columns, BITS *out,
                               ptrdiff_t out_stride)
{
    enum { RUN_OF_ROWS = 16 };
    for (ptrdiff_t i = 0; i < n; i += RUN_OF_ROWS) {
        ptrdiff_t rows = n - i < RUN_OF_ROWS ? n - i : RUN_OF_ROWS;
        for (ptrdiff_t r = 0; r < n_columns; r++) {
            const char *from = matrix + i * row_stride + r * column_stride;
            BITS *to = out + r * out_stride + i;
            if (rows == RUN_OF_ROWS)
                for (int j = 0; j < RUN_OF_ROWS; j++) memcpy(to + j, from + j * row_stride, sizeof *to);
            else
                for (ptrdiff_t j = 0; j < rows; j++) memcpy(to + j, from + j * row_stride, sizeof *to);
        }
    }
    for (ptrdiff_t r = 0; r < n_columns; r++) {
        BITS *column = out + r * out_stride;
        for (ptrdiff_t i = 0; i < n; i++) {
            BITS key = column[i] > 0 ? column[i] : 0;
            column[i] = key < ONE_BITS ? key : ONE_BITS;
        }
    }
}

/* Put a column into its cells: as many leading bits as tell its least and largest key apart, and
 * some more. */
static void NAME(put_in_cells)(NAME(cells) * c, const BITS *ALONE column)
{
    BITS low = ONE_BITS, high = 0, *ALONE keys = c->keys;
    uint32_t *ALONE ends = c->ends, through = 0;
    ptrdiff_t n = c->n;
    int most = 16, shift = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        low = column[i] < low ? column[i] : low;
        high = column[i] > high ? column[i] : high;
    }
    while (most < MOST_CELLS && 4 * (ptrdiff_t)most < n) most *= 2;
    while ((high >> shift) - (low >> shift) >= most) shift++;
    BITS base = low >> shift;
    c->shift = shift;
    c->base = base;
    c->cells = (int)((high >> shift) - base) + 1;
    memset(ends, 0, (size_t)most * sizeof *ends);
    memset(c->sorted, 0, (size_t)most);
    for (ptrdiff_t i = 0; i < n; i++) ends[(column[i] >> shift) - base]++;
    for (int j = 0; j < most; j++) {
        uint32_t count = ends[j];
        ends[j] = through;
        through += count;
    }
    for (ptrdiff_t i = 0; i < n; i++) keys[ends[(column[i] >> shift) - base]++] = column[i];
}

/* Sort keys that differ in their last `bits` bits only; digits that all share are skipped. */
static void NAME(sort_keys)(BITS *keys, BITS *spare, ptrdiff_t n, int bits)
{
    if (n <= FEW) {
        for (ptrdiff_t i = 1; i < n; i++) {
            BITS key = keys[i];
            ptrdiff_t j = i;
            for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
            keys[j] = key;
        }
        return;
    }
    BITS *from = keys, *to = spare;
    for (int shift = 0; shift < bits; shift += DIGIT) {
        uint32_t at[1 << DIGIT] = {0}, through = 0;
        for (ptrdiff_t i = 0; i < n; i++) at[from[i] >> shift & ((1 << DIGIT) - 1)]++;
        if (at[from[0] >> shift & ((1 << DIGIT) - 1)] == (uint32_t)n) continue;
        for (int j = 0; j < 1 << DIGIT; j++) {
            uint32_t count = at[j];
            at[j] = through;
            through += count;
        }
        for (ptrdiff_t i = 0; i < n; i++) to[at[from[i] >> shift & ((1 << DIGIT) - 1)]++] = from[i];
        BITS *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) memcpy(keys, from, n * sizeof *keys);
}

/* Where the keys below `key` end among sorted ones in [low, high). */
static inline ptrdiff_t NAME(begin_of)(const BITS *keys, ptrdiff_t low, ptrdiff_t high, BITS key)
{
    while (low < high) {
        ptrdiff_t middle = (low + high) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put a cell in order, and say where it begins and ends. */
static void NAME(sorted_cell)(NAME(cells) * c, int cell, ptrdiff_t *first, ptrdiff_t *last)
{
    *first = cell ? c->ends[cell - 1] : 0;
    *last = c->ends[cell];
    if (!c->sorted[cell])
        NAME(sort_keys)(c->keys + *first, c->spare, *last - *first, c->shift);
    c->sorted[cell] = 1;
}

/* The key at a rank, counted from 0, and where the run of its equals begins and ends. */
static BITS NAME(at_rank)(NAME(cells) * c, ptrdiff_t rank, ptrdiff_t *begin, ptrdiff_t *end)
{
    int low = 0, high = c->cells - 1;
    ptrdiff_t first, last;
    while (low < high) {
        int middle = (low + high) / 2;
        if ((ptrdiff_t)c->ends[middle] <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    NAME(sorted_cell)(c, low, &first, &last);
    BITS key = c->keys[rank];
    *begin = NAME(begin_of)(c->keys, first, rank, key);
    *end = NAME(begin_of)(c->keys, rank, last, key + 1);
    return key;
}

/* How many predictions are not above a bound. */
static ptrdiff_t NAME(up_to)(NAME(cells) * c, double bound)
{
    REPORT x = (REPORT)bound;
    BITS key;
    if (bound < 0.0) return 0;
    if (bound >= 1.0) return c->n;
    memcpy(&key, &x, sizeof key);
    key -= (double)x > bound;
    BITS cell = (key >> c->shift) - c->base;
    ptrdiff_t first, last;
    if (cell < 0) return 0;
    if (cell >= c->cells) return c->n;
    NAME(sorted_cell)(c, (int)cell, &first, &last);
    return NAME(begin_of)(c->keys, first, last, key + 1);
}

/* The m - 1 left-closed edges of bins of equal mass of the predictions from a rank on, and where
 * each bin begins: `starts` has m + 1 places. A prediction's middle rank decides on which side of
 * its edge it falls; doubled, so that whole numbers stay whole. */
static void NAME(equal_mass)(NAME(cells) * c, ptrdiff_t from, ptrdiff_t m, double slack,
                             double *edges, ptrdiff_t *starts)
{
    double total = (double)(c->n - from);
    starts[0] = from;
    starts[m] = c->n;
    for (ptrdiff_t j = 1; j < m; j++) {
        ptrdiff_t begin, end, rank = from + (ptrdiff_t)ceil((double)j * total / (double)m) - 1;
        double edge = (double)NAME(number_of)(NAME(at_rank)(c, rank, &begin, &end));
        double doubled = 2.0 * (double)(begin - from) + (double)(end - begin);
        if (doubled * (double)m <= 2.0 * (double)j * total * slack) {
            edge = nextafter(edge, INFINITY);
            begin = end;
        }
        starts[j] = begin > starts[j - 1] ? begin : starts[j - 1];
        edges[j - 1] = j > 1 && edges[j - 2] > edge ? edges[j - 2] : edge;
    }
}

/* Sum and sum of squares of the predictions between two ranks. */
static void NAME(sum_between)(const NAME(cells) * c, ptrdiff_t begin, ptrdiff_t end, double *sum,
                              double *squares)
{
    enum { LANES = 8 };
    double s[LANES] = {0}, s2[LANES] = {0};
    ptrdiff_t i = begin;
    for (; i + LANES <= end; i += LANES) {
        REPORT x[LANES];
        memcpy(x, c->keys + i, sizeof x);
        for (int j = 0; j < LANES; j++) {
            s[j] += x[j];
            s2[j] += (double)x[j] * x[j];
        }
    }
    for (; i < end; i++) {
        double x = NAME(number_of)(c->keys[i]);
        s[0] += x;
        s2[0] += x * x;
    }
    for (int j = 1; j < LANES; j++) {
        s[0] += s[j];
        s2[0] += s2[j];
    }
    *sum = s[0];
    *squares = s2[0];
}
