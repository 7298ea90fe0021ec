/* Numbers of some fields of JSON records, one record per line.

   Only what is plainly right is read: of anything else the caller reads the lines again, by
   Python's own reader, which says what is wrong. So whatever this takes, that one must take too,
   with the same value. The character behind the last line must be no part of any value. */
#ifndef CALIBRANT_JSON_LINES_H
#define CALIBRANT_JSON_LINES_H

#include "_decimal.h"

#define MOST_NESTED 64

/* What a field held. */
enum { WHOLE = 1, FRACTION = 2, TRUTH = 4, NOTHING = 8, LIST = 16 };

/* A key on the way to a field: those within it are `first_child` and the next ones. */
typedef struct {
    const char* key;
    int64_t length;
    int32_t first_child, n_children, leaf;
    /* Whether keys with dots in them cannot mean a field below (1); and whether other keys than
       the children are not plainly right, since all of a record is wanted (2). */
    int32_t plain;
    /* The child that came last, and the row that this key was in last, counted from 1. */
    int32_t guess;
    int64_t seen;
} node_t;

/* A field: `width` numbers a row as a list, or one that is none (0). */
typedef struct {
    double* values;
    uint8_t* gaps;
    int64_t width, row;
    int32_t kinds;
} leaf_t;

typedef struct {
    const char *p, *end;
    node_t* nodes;
    leaf_t* leaves;
    int64_t row;
} json_t;

static inline void skip_blanks(json_t* s) {
    if ((unsigned char)*s->p > ' ') return;
    while (*s->p == ' ' || *s->p == '\t' || *s->p == '\r') s->p++;
}

static inline int within(unsigned char c, int low, int high) { return c >= low && c <= high; }

/* Behind a character of several bytes, or NULL where these are not UTF-8. */
static const char* skip_wide(const char* text) {
    const unsigned char* p = (const unsigned char*)text;
    unsigned char c = *p;
    int low = 0x80, high = 0xBF, more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    if (!within(c, 0xC2, 0xF4)) return NULL;
    if (c == 0xE0) low = 0xA0;
    if (c == 0xED) high = 0x9F;
    if (c == 0xF0) low = 0x90;
    if (c == 0xF4) high = 0x8F;
    if (!within(*++p, low, high)) return NULL;
    while (--more)
        if (!within(*++p, 0x80, 0xBF)) return NULL;
    return (const char*)p + 1;
}

static inline int is_hex(char c) {
    return is_digit(c) || within((unsigned char)(c | 0x20), 'a', 'f');
}

/* From behind a quote to behind the one that closes it. */
static int skip_string(json_t* s) {
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    const char* p = s->p;
    for (;;) {
        while (s->end - p >= 8) {  /* eight that are nothing special, at once */
            uint64_t x, quote, slash;
            memcpy(&x, p, 8);
            quote = x ^ (ones * '"');
            slash = x ^ (ones * '\\');
            if ((x | (x - ones * 0x20) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops)
                break;
            p += 8;
        }
        unsigned char c = (unsigned char)*p;
        if (c == '"') {
            s->p = p + 1;
            return 1;
        }
        if (c < 0x20) return 0;
        if (c >= 0x80) {
            p = skip_wide(p);
            if (!p) return 0;
        } else if (c == '\\') {
            c = (unsigned char)*++p;
            if (c == 'u') {
                for (int i = 0; i < 4; i++)
                    if (!is_hex(*++p)) return 0;
            } else if (!c || !strchr("\"\\/bfnrt", c)) {
                return 0;
            }
            p++;
        } else {
            p++;
        }
    }
}

static inline int skip_word(json_t* s, const char* word, size_t length) {
    if ((size_t)(s->end - s->p) < length || memcmp(s->p, word, length)) return 0;
    s->p += length;
    return 1;
}

#define SKIP_WORD(s, word) skip_word(s, word, sizeof(word) - 1)

static int skip_value(json_t* s, int depth) {
    decimal_t number = {0.0, 0, 0};
    char c = *s->p, close;
    switch (c) {
    case '"': s->p++; return skip_string(s);
    case 't': return SKIP_WORD(s, "true");
    case 'f': return SKIP_WORD(s, "false");
    case 'n': return SKIP_WORD(s, "null");
    case 'N': return SKIP_WORD(s, "NaN");
    case '{': close = '}'; break;
    case '[': close = ']'; break;
    default:
        s->p = read_decimal(s->p, s->end, &number);
        return s->p != NULL;
    }
    if (depth == MOST_NESTED) return 0;
    s->p++;
    skip_blanks(s);
    if (*s->p == close) { s->p++; return 1; }
    for (;;) {
        if (c == '{') {
            if (*s->p++ != '"' || !skip_string(s)) return 0;
            skip_blanks(s);
            if (*s->p++ != ':') return 0;
            skip_blanks(s);
        }
        if (!skip_value(s, depth + 1)) return 0;
        skip_blanks(s);
        if (*s->p == close) { s->p++; return 1; }
        if (*s->p++ != ',') return 0;
        skip_blanks(s);
    }
}

/* A number, one in quotes, or null; what it was, or 0. */
static inline int read_entry(json_t* s, double* value) {
    decimal_t number = {0.0, 0, 0};
    if (is_digit(*s->p) || *s->p == '-') {
        s->p = read_decimal(s->p, s->end, &number);
        if (!s->p || number.wide) return 0;
        /* -0 is a whole number, and as such 0. */
        *value = number.whole ? number.value + 0.0 : number.value;
        return number.whole ? WHOLE : FRACTION;
    }
    if (*s->p == '"') {
        s->p = read_decimal(s->p + 1, s->end, &number);
        *value = number.value;
        return s->p && *s->p++ == '"' ? FRACTION : 0;
    }
    *value = 0.0;
    if (*s->p == 'n') return SKIP_WORD(s, "null") ? NOTHING : 0;
    *value = from_bits((uint64_t)0x7FF8 << 48);
    return SKIP_WORD(s, "NaN") ? FRACTION : 0;
}

static int read_list(json_t* s, leaf_t* leaf) {
    double* row = leaf->values + s->row * leaf->width;
    int64_t n = 0;
    int gap = 0;
    if (*s->p++ != '[') return 0;
    skip_blanks(s);
    for (;; n++) {
        int kind;
        if (n == leaf->width) return 0;
        kind = read_entry(s, row + n);
        if (!kind) return 0;
        gap |= kind == NOTHING;
        skip_blanks(s);
        if (*s->p == ']') break;
        if (*s->p++ != ',') return 0;
        skip_blanks(s);
    }
    s->p++;
    if (n + 1 != leaf->width) return 0;
    if (gap) memset(row, 0, (size_t)leaf->width * sizeof *row);
    leaf->gaps[s->row] = (uint8_t)gap;
    leaf->kinds |= LIST | (gap ? NOTHING : 0);
    return 1;
}

static int read_leaf(json_t* s, leaf_t* leaf) {
    int kind;
    if (leaf->width) {
        if (*s->p == '[') {
            leaf->row = s->row + 1;
            return read_list(s, leaf);
        }
        return SKIP_WORD(s, "null");  /* as if it were not there */
    }
    if (*s->p == 't' || *s->p == 'f') {
        int yes = *s->p == 't';
        kind = (yes ? SKIP_WORD(s, "true") : SKIP_WORD(s, "false")) ? TRUTH : 0;
        leaf->values[s->row] = yes;
    } else {
        kind = read_entry(s, leaf->values + s->row);
    }
    leaf->kinds |= kind;
    leaf->gaps[s->row] = kind == NOTHING;
    leaf->row = s->row + 1;
    return kind;
}

/* The child whose key begins at s->p and is what is expected next, or NULL. Records mostly have
   their keys in one order, so that most keys need not be looked through. */
static inline node_t* expected_child(json_t* s, node_t* node) {
    if (!node->n_children) return NULL;
    if (node->guess >= node->n_children) node->guess = 0;
    node_t* child = s->nodes + node->first_child + node->guess;
    int64_t i = 0, n = child->length;
    if (s->end - s->p <= n || s->p[n] != '"') return NULL;
    for (; i < n && s->p[i] == child->key[i]; i++) {}
    if (i < n) return NULL;
    s->p += child->length + 1;
    node->guess++;
    return child;
}

/* Any child whose key begins at s->p; NULL for another key, and s->p too if it is not plain. */
static node_t* any_child(json_t* s, node_t* node) {
    const char* key = s->p;
    if (!skip_string(s)) {
        s->p = NULL;
        return NULL;
    }
    size_t length = (size_t)(s->p - 1 - key);
    if (memchr(key, '\\', length) || (!(node->plain & 1) && memchr(key, '.', length))) {
        s->p = NULL;
        return NULL;
    }
    for (int32_t i = 0; i < node->n_children; i++) {
        node_t* child = s->nodes + node->first_child + i;
        if ((size_t)child->length == length && !memcmp(child->key, key, length)) {
            node->guess = i + 1;
            return child;
        }
    }
    if (node->plain & 2) s->p = NULL;
    return NULL;
}

static int read_record(json_t* s, node_t* node) {
    s->p++;
    skip_blanks(s);
    if (*s->p == '}') { s->p++; return 1; }
    for (;;) {
        if (*s->p++ != '"') return 0;
        node_t* child = expected_child(s, node);
        if (!child) child = any_child(s, node);
        if (!s->p) return 0;
        skip_blanks(s);
        if (*s->p++ != ':') return 0;
        skip_blanks(s);
        if (child) {
            if (child->seen == s->row + 1) return 0;  /* the last of two counts: rare, not here */
            child->seen = s->row + 1;
        }
        if (child && child->leaf >= 0) {
            if (!read_leaf(s, s->leaves + child->leaf)) return 0;
        } else if (child && *s->p == '{') {
            if (!read_record(s, child)) return 0;
        } else if (!skip_value(s, 0)) {
            return 0;
        }
        skip_blanks(s);
        if (*s->p == '}') { s->p++; return 1; }
        if (*s->p++ != ',') return 0;
        skip_blanks(s);
    }
}

/* Whether nothing is left of a line, as bytes.strip() has it. */
static inline int is_blank(const char* p, const char* end) {
    while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r' && *p != '\n'))) p++;
    return p == end || *p == '\n';
}

/* The records from s->p on, at most so many: how many there are, or -1. */
static int64_t read_json_lines(json_t* s, int32_t n_leaves, int64_t most) {
    while (s->p < s->end && s->row < most) {
        skip_blanks(s);
        if (*s->p != '{' && is_blank(s->p, s->end)) {
            while (s->p < s->end && *s->p != '\n') s->p++;
        } else {
            if (*s->p != '{' || !read_record(s, s->nodes)) return -1;
            skip_blanks(s);
            for (int32_t i = 0; i < n_leaves; i++) {
                leaf_t* leaf = s->leaves + i;
                if (leaf->row == s->row + 1) continue;
                leaf->kinds |= NOTHING;
                leaf->gaps[s->row] = 1;
                memset(leaf->values + s->row * (leaf->width ? leaf->width : 1), 0,
                       (size_t)(leaf->width ? leaf->width : 1) * sizeof(double));
            }
            s->row++;
        }
        if (s->p < s->end && *s->p != '\n') return -1;
        s->p++;
    }
    return s->row;
}

#endif
