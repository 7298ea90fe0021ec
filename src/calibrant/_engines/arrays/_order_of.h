/* The sort of _order.h for one type of item; included once per type. */

static inline void NAME(insertion_sort)(ITEM *items, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; i++) {
        ITEM item = items[i];
        ptrdiff_t j = i;
        for (; j > 0 && KEY(items[j - 1]) > KEY(item); j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

/* Sort items stably; what comes out is in `other` if `into_other`, and else in `items`. */
static void NAME(sort)(ITEM *items, ITEM *other, ptrdiff_t n, int into_other)
{
    if (n <= FEW_KEYS) {
        NAME(insertion_sort)(items, n);
        if (into_other) memcpy(other, items, (size_t)n * sizeof(ITEM));
        return;
    }
    uint64_t low = KEY(items[0]), high = low;
    for (ptrdiff_t i = 1; i < n; i++) {
        uint64_t key = KEY(items[i]);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    if (low == high) {
        if (into_other) memcpy(other, items, (size_t)n * sizeof(ITEM));
        return;
    }
    /* As many cells as leave a few keys to each, where keys are spread evenly. */
    int bits = 2, width = 0;
    while (bits < MOST_DIGIT_BITS && (ptrdiff_t)4 << bits < n) bits++;
    while (width < 64 && (high - low) >> width) width++;
    int shift = width > bits ? width - bits : 0;
    uint32_t ends[(1 << MOST_DIGIT_BITS) + 1];
    ptrdiff_t cells = (ptrdiff_t)((high - low) >> shift) + 1;
    memset(ends, 0, (size_t)(cells + 1) * sizeof ends[0]);
    for (ptrdiff_t i = 0; i < n; i++) ends[((KEY(items[i]) - low) >> shift) + 1]++;
    for (ptrdiff_t c = 0; c < cells; c++) ends[c + 1] += ends[c];
    /* Dealt out, ends[c] is where the cell c ends; it began where the one before ends. */
    for (ptrdiff_t i = 0; i < n; i++) other[ends[(KEY(items[i]) - low) >> shift]++] = items[i];
    ptrdiff_t start = 0;
    for (ptrdiff_t c = 0; c < cells; c++) {
        ptrdiff_t size = (ptrdiff_t)ends[c] - start;
        if (shift == 0) {
            /* Every key of a cell is the same. */
            if (!into_other) memcpy(items + start, other + start, (size_t)size * sizeof(ITEM));
        } else if (size) {
            NAME(sort)(other + start, items + start, size, !into_other);
        }
        start += size;
    }
}
