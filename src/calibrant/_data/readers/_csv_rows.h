/* Numbers of some columns of CSV, and where rows end.

   Only what is plainly right is read: of anything else the caller has the rows read again, by
   Arrow. The character behind the last row must be zero. */
#ifndef CALIBRANT_CSV_ROWS_H
#define CALIBRANT_CSV_ROWS_H

#include "_decimal.h"

typedef struct {
    double* values;
    uint8_t* gaps;
    int64_t n_gaps;
} column_t;

/* From a quote to behind the one that closes it; NULL where none does. Two are one of the text. */
static inline const char* skip_quoted(const char* p, const char* end) {
    for (p++;; p += 2) {
        p = (const char*)memchr(p, '"', (size_t)(end - p));
        if (!p) return NULL;
        if (p[1] != '"') return p + 1;
    }
}

static inline const char* skip_field(const char* p, const char* end, char delimiter) {
    if (*p == '"') return skip_quoted(p, end);
    while (p < end && *p != delimiter && *p != '\n' && *p != '\r') p++;
    return p;
}

/* Behind a number with blanks or quotes around it, or where there is none; NULL for all else. */
static inline const char* read_field(
    const char* p, const char* end, char delimiter, column_t* column, int64_t row
) {
    decimal_t number = {0.0, 0, 0};
    int quoted = *p == '"';
    p += quoted;
    const char* begin = p;
    while (*p == ' ') p++;
    int gap = p == end || *p == (quoted ? '"' : delimiter) || *p == '\n' || *p == '\r';
    if (gap) {
        if (p != begin) return NULL;  /* blanks alone: how many may be is Arrow's to say */
        column->n_gaps++;
    } else {
        p = read_decimal(p, end, &number);
        if (!p) return NULL;
        while (*p == ' ') p++;
    }
    column->values[row] = number.value;
    column->gaps[row] = (uint8_t)gap;
    if (quoted && *p++ != '"') return NULL;
    return p;
}

/* The rows from `text` to `end`: how many, or -1. `slots` has the place of each column among
   `columns`, or -1. Lines without anything are passed over. */
static int64_t read_csv_rows(
    const char* text, const char* end, char delimiter, const int32_t* slots, int32_t n_columns,
    column_t* columns
) {
    int64_t row = 0;
    const char* p = text;
    while (p < end) {
        if (*p == '\n') { p++; continue; }
        if (*p == '\r' && p[1] == '\n') { p += 2; continue; }
        for (int32_t i = 0;; ) {
            p = slots[i] < 0 ? skip_field(p, end, delimiter)
                             : read_field(p, end, delimiter, columns + slots[i], row);
            if (!p) return -1;
            if (++i == n_columns) break;
            if (p == end || *p++ != delimiter) return -1;
        }
        if (p < end) {
            p += *p == '\r';
            if (p < end && *p++ != '\n') return -1;
        }
        row++;
    }
    return row;
}

/* How far it is to behind the last line end that is not within quotes, or with `first` to behind
   the first row; 0 where there is none. `open` becomes whether the text ends within quotes: they
   count where a field begins. */
static int64_t row_end(
    const char* text, const char* end, char delimiter, int first, int* open
) {
    const char *p = text, *row = text, *last = text;
    *open = 0;
    while (p < end) {
        if (*p == '"') {
            p = skip_quoted(p, end);
            if (!p) { *open = 1; break; }
        }
        while (p < end && *p != delimiter && *p != '\n') p++;
        if (p < end && *p++ == '\n') {
            int empty = p - row == 1 || (p - row == 2 && *row == '\r');
            row = last = p;
            if (first && !empty) return last - text;
        }
    }
    return first ? 0 : last - text;
}

static inline int64_t count_byte(const char* text, int64_t n, char byte) {
    int64_t total = 0, i = 0;
    while (n - i >= 64) {  /* lanes of a byte, emptied before they run over */
        uint8_t lanes[64] = {0};
        int64_t rounds = (n - i) / 64 < 255 ? (n - i) / 64 : 255;
        for (int64_t r = 0; r < rounds; r++, i += 64)
            for (int j = 0; j < 64; j++) lanes[j] += text[i + j] == byte;
        for (int j = 0; j < 64; j++) total += lanes[j];
    }
    for (; i < n; i++) total += text[i] == byte;
    return total;
}

#endif
