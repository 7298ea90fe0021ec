/* The sort of _order.h for one type of item; included once per type. */

static inline void NAME(insertion_sort)(ITEM *items, const ITEM *from, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        ITEM item = from[i];
        ptrdiff_t j = i;
        for (; j > 0 && KEY(items[j - 1]) > KEY(item); j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

/* Sort items stably, with as much room in `other`. */
static void NAME(sort)(ITEM *items, ITEM *other, ptrdiff_t n)
{
    if (n <= FEW_KEYS) {
        NAME(insertion_sort)(items, items, n);
        return;
    }
    uint64_t low = KEY(items[0]), high = low;
    for (ptrdiff_t i = 1; i < n; i++) {
        uint64_t key = KEY(items[i]);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    if (low == high) return;
    /* As many cells as leave a key to each, where keys are spread evenly. */
    int bits = 2, width = 0;
    while (bits < MOST_DIGIT_BITS && (ptrdiff_t)1 << bits < n) bits++;
    while (width < 64 && (high - low) >> width) width++;
    int shift = width > bits ? width - bits : 0;
    uint32_t ends[(1 << MOST_DIGIT_BITS) + 1];
    ptrdiff_t cells = (ptrdiff_t)((high - low) >> shift) + 1;
    memset(ends, 0, (size_t)(cells + 1) * sizeof ends[0]);
    for (ptrdiff_t i = 0; i < n; i++) ends[((KEY(items[i]) - low) >> shift) + 1]++;
    for (ptrdiff_t c = 0; c < cells; c++) ends[c + 1] += ends[c];
    /* Dealt out, ends[c] is where the cell c ends; it began where the one before ends. */
    for (ptrdiff_t i = 0; i < n; i++) other[ends[(KEY(items[i]) - low) >> shift]++] = items[i];
    if (shift == 0) { /* every key of a cell is the same */
        memcpy(items, other, (size_t)n * sizeof(ITEM));
        return;
    }
    ptrdiff_t start = 0;
    for (ptrdiff_t c = 0; c < cells; c++) {
        ptrdiff_t size = (ptrdiff_t)ends[c] - start;
        if (size > FEW_KEYS) NAME(sort)(other + start, items + start, size);
        start += size;
    }
    /* Cells are in order, and the large ones sorted: one insertion for all, on the way back. */
    NAME(insertion_sort)(items, other, n);
}
