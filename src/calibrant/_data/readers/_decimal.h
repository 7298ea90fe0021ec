/* Decimal text as the nearest double, as float() reads it.

   After Lemire (2021), "Number parsing at a gigabyte per second", doi:10.1002/spe.2984: a mantissa
   of up to 19 digits times a power of five of 128 bits, whose upper half decides the rounding. */
#ifndef CALIBRANT_DECIMAL_H
#define CALIBRANT_DECIMAL_H

#include <stdint.h>
#include <string.h>

#define LEAST_POWER (-342)
#define MOST_POWER 308
#define MOST_DIGITS 19

/* Five to the powers from LEAST_POWER on, upper and lower half; filled once, by Python. */
static uint64_t FIVES[2 * (MOST_POWER - LEAST_POWER + 1)];

typedef struct {
    double value;
    int whole;      /* neither a point nor an exponent */
    int wide;       /* whole, and beyond 2^53: a double may not hold it */
} decimal_t;

static inline void multiply(uint64_t a, uint64_t b, uint64_t* high, uint64_t* low) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    *high = (uint64_t)(product >> 64);
    *low = (uint64_t)product;
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t mid = a1 * b0 + ((a0 * b0) >> 32);
    uint64_t mid2 = a0 * b1 + (uint32_t)mid;
    *high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    *low = a * b;
#endif
}

static inline int leading_zeros(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_clzll(x);
#else
    int n = 0;
    while (!(x >> 63)) { x <<= 1; n++; }
    return n;
#endif
}

static inline double from_bits(uint64_t bits) {
    double out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

/* digits * 10^power, rounded to nearest, ties to even. */
static inline double nearest(uint64_t digits, int64_t power) {
    const uint64_t infinite = (uint64_t)0x7FF << 52;
    if (digits == 0 || power < LEAST_POWER) return 0.0;
    if (power > MOST_POWER) return from_bits(infinite);
    if (power == 0) return (double)digits;
    int zeros = leading_zeros(digits);
    uint64_t w = digits << zeros, high, low;
    const uint64_t* five = FIVES + 2 * (power - LEAST_POWER);
    multiply(w, five[0], &high, &low);
    if ((high & 0x1FF) == 0x1FF) {  /* too close to a tie to be told by the upper half */
        uint64_t more, unused;
        multiply(w, five[1], &more, &unused);
        low += more;
        if (more > low) high++;
    }
    int upper = (int)(high >> 63), shift = upper + 64 - 52 - 3;
    uint64_t mantissa = high >> shift;
    int64_t exponent = (((152170 + 65536) * power) >> 16) + 63 + upper - zeros + 1023;
    if (exponent <= 0) {  /* subnormal */
        if (-exponent + 1 >= 64) return 0.0;
        mantissa >>= -exponent + 1;
        mantissa += mantissa & 1;
        mantissa >>= 1;
        return from_bits(mantissa);  /* one that rounds up to a normal number has its bit in place */
    }
    if (low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 &&
        (mantissa << shift) == high)
        mantissa &= ~(uint64_t)1;  /* a tie, to even */
    mantissa += mantissa & 1;
    mantissa >>= 1;
    if (mantissa >= (uint64_t)2 << 52) {
        mantissa = (uint64_t)1 << 52;
        exponent++;
    }
    if (exponent >= 0x7FF) return from_bits(infinite);
    return from_bits((mantissa & ~((uint64_t)1 << 52)) | (uint64_t)exponent << 52);
}

static inline int is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* Whether eight characters are digits, and their number. The first of them is the lowest byte. */
static inline int eight_digits(const char* p, uint64_t* number) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    uint64_t out = 0;
    for (int i = 0; i < 8; i++) {
        if (!is_digit(p[i])) return 0;
        out = 10 * out + (uint64_t)(p[i] - '0');
    }
    *number = out;
#else
    uint64_t x;
    memcpy(&x, p, 8);
    if (((x & 0xF0F0F0F0F0F0F0F0) | (((x + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) >> 4)) !=
        0x3333333333333333)
        return 0;
    x -= 0x3030303030303030;
    x = x * 10 + (x >> 8);
    *number = (((x & 0x000000FF000000FF) * 0x000F424000000064) +
               (((x >> 16) & 0x000000FF000000FF) * 0x0000271000000001)) >> 32;
#endif
    return 1;
}

/* The number that begins at p, as JSON writes it; behind it, or NULL where none begins. A number
   that 19 digits do not decide gives NULL too. What lies at `end` must be no part of a number. */
static inline const char* read_decimal(const char* p, const char* end, decimal_t* out) {
    int negative = *p == '-';
    p += negative;
    if (!is_digit(*p)) return NULL;
    if (*p == '0' && is_digit(p[1])) return NULL;
    uint64_t digits = 0, eight;
    int n = 0, dropped = 0, whole = 1;
    int64_t power = 0;
    for (; is_digit(*p); p++) {
        if (n < MOST_DIGITS) {
            digits = 10 * digits + (uint64_t)(*p - '0');
            n += digits != 0;
        } else {
            dropped = 1;
            power++;
        }
    }
    if (*p == '.') {
        whole = 0;
        if (!is_digit(*++p)) return NULL;
        while (n + 8 <= MOST_DIGITS && end - p >= 8 && eight_digits(p, &eight)) {
            if (digits || eight >= 10000000) {
                n += 8;
            } else {  /* zeros before the first digit do not count */
                for (uint64_t rest = eight; rest; rest /= 10) n++;
            }
            digits = 100000000 * digits + eight;
            power -= 8;
            p += 8;
        }
        for (; is_digit(*p); p++) {
            if (n < MOST_DIGITS) {
                digits = 10 * digits + (uint64_t)(*p - '0');
                n += digits != 0;
                power--;
            } else {
                dropped = 1;
            }
        }
    }
    if (*p == 'e' || *p == 'E') {
        int64_t exponent = 0;
        p++;
        whole = 0;
        int below = *p == '-';
        p += below || *p == '+';
        if (!is_digit(*p)) return NULL;
        for (; is_digit(*p); p++)
            if (exponent < 100000) exponent = 10 * exponent + (*p - '0');
        power += below ? -exponent : exponent;
    }
    double value = nearest(digits, power);
    if (dropped && nearest(digits + 1, power) != value) return NULL;
    out->value = negative ? -value : value;
    out->whole = whole;
    out->wide = whole && (dropped || digits > ((uint64_t)1 << 53));
    return p;
}

#endif
