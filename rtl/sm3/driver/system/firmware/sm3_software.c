/*
 * SM3 in plain C for a small 32-bit processor: W in memory, W' never stored, T rotated beforehand, four
 * rounds a turn so that A…H change names and not registers. Padding, expansion and compression are functions
 * of their own (and not inlined), because the profile is by function.
 */
#include "sm3_software.h"

#ifndef SM3_SOFTWARE
#define SM3_SOFTWARE(name) sm3_software_##name
#endif

#define PART static __attribute__((noinline)) void

/* GCC 12 makes two instructions of a rotation to the left. */
#if defined(__riscv_zbb)
static inline __attribute__((always_inline)) uint32_t ROL(uint32_t x, int n)
{
    uint32_t rotated;

    __asm__("rori %0, %1, %2" : "=r"(rotated) : "r"(x), "i"(32 - n));
    return rotated;
}
#else
#define ROL(x, n) (((x) << (n)) | ((x) >> (32 - (n))))
#endif

#define P0(x) ((x) ^ ROL(x, 9) ^ ROL(x, 17))
#define P1(x) ((x) ^ ROL(x, 15) ^ ROL(x, 23))
#define FF0(x, y, z) ((x) ^ (y) ^ (z))
#define GG0(x, y, z) ((x) ^ (y) ^ (z))
#define FF1(x, y, z) (((x) & (y)) | (((x) | (y)) & (z)))
#define GG1(x, y, z) ((((y) ^ (z)) & (x)) ^ (z))

/* The word 16 places after `w`. */
#define EXPAND(w)                                                    \
    do {                                                             \
        const uint32_t x = (w)[0] ^ (w)[7] ^ ROL((w)[13], 15);       \
        (w)[16] = P1(x) ^ ROL((w)[3], 7) ^ (w)[10];                  \
    } while (0)

/* Round j; the caller renames what the standard moves. */
#define ROUND(FF, GG, A, B, C, D, E, F, G, H, j)                  \
    do {                                                          \
        const uint32_t a12 = ROL(A, 12);                          \
        uint32_t ss1 = a12 + (E) + t[j];                          \
        const uint32_t w = words[j];                              \
        ss1 = ROL(ss1, 7);                                        \
        (D) += FF(A, B, C) + (ss1 ^ a12) + (w ^ words[(j) + 4]);  \
        (H) += GG(E, F, G) + ss1 + w;                             \
        (B) = ROL(B, 9);                                          \
        (F) = ROL(F, 19);                                         \
        (H) = P0(H);                                              \
    } while (0)

/* Four rounds: TT1 takes D's place and P0(TT2) H's. */
#define ROUNDS(FF, GG, j)                              \
    do {                                               \
        ROUND(FF, GG, a, b, c, d, e, f, g, h, (j));     \
        ROUND(FF, GG, d, a, b, c, h, e, f, g, (j) + 1); \
        ROUND(FF, GG, c, d, a, b, g, h, e, f, (j) + 2); \
        ROUND(FF, GG, b, c, d, a, f, g, h, e, (j) + 3); \
    } while (0)

/* T_j <<< j. */
static const uint32_t rotated_t[64] = {
    0x79CC4519, 0xF3988A32, 0xE7311465, 0xCE6228CB, 0x9CC45197, 0x3988A32F, 0x7311465E, 0xE6228CBC,
    0xCC451979, 0x988A32F3, 0x311465E7, 0x6228CBCE, 0xC451979C, 0x88A32F39, 0x11465E73, 0x228CBCE6,
    0x9D8A7A87, 0x3B14F50F, 0x7629EA1E, 0xEC53D43C, 0xD8A7A879, 0xB14F50F3, 0x629EA1E7, 0xC53D43CE,
    0x8A7A879D, 0x14F50F3B, 0x29EA1E76, 0x53D43CEC, 0xA7A879D8, 0x4F50F3B1, 0x9EA1E762, 0x3D43CEC5,
    0x7A879D8A, 0xF50F3B14, 0xEA1E7629, 0xD43CEC53, 0xA879D8A7, 0x50F3B14F, 0xA1E7629E, 0x43CEC53D,
    0x879D8A7A, 0x0F3B14F5, 0x1E7629EA, 0x3CEC53D4, 0x79D8A7A8, 0xF3B14F50, 0xE7629EA1, 0xCEC53D43,
    0x9D8A7A87, 0x3B14F50F, 0x7629EA1E, 0xEC53D43C, 0xD8A7A879, 0xB14F50F3, 0x629EA1E7, 0xC53D43CE,
    0x8A7A879D, 0x14F50F3B, 0x29EA1E76, 0x53D43CEC, 0xA7A879D8, 0x4F50F3B1, 0x9EA1E762, 0x3D43CEC5,
};

PART SM3_SOFTWARE(expand)(uint32_t words[68], const uint8_t block[64])
{
    for (size_t j = 0; j < 16; j++) {
        const uint8_t *b = &block[4 * j];

        words[j] = ((uint32_t)b[0] << 24) | ((uint32_t)b[1] << 16) | ((uint32_t)b[2] << 8) | b[3];
    }
    for (uint32_t *w = words; w != words + 52; w += 4) {
        EXPAND(w);
        EXPAND(w + 1);
        EXPAND(w + 2);
        EXPAND(w + 3);
    }
}

PART SM3_SOFTWARE(compress)(uint32_t v[8], const uint32_t *words)
{
    uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    const uint32_t *t = rotated_t;
    const uint32_t *const end = words + 64;
    const uint32_t *const change = words + 16;

    for (; words != change; words += 4, t += 4) {
        ROUNDS(FF0, GG0, 0);
    }
    for (; words != end; words += 4, t += 4) {
        ROUNDS(FF1, GG1, 0);
    }
    v[0] ^= a;
    v[1] ^= b;
    v[2] ^= c;
    v[3] ^= d;
    v[4] ^= e;
    v[5] ^= f;
    v[6] ^= g;
    v[7] ^= h;
}

/* The last block or two of the message. */
static __attribute__((noinline)) size_t SM3_SOFTWARE(pad)(uint32_t blocks[32], const uint8_t *rest, size_t length)
{
    uint8_t *const bytes = (uint8_t *)blocks;
    const size_t filled = length % 64;
    const size_t padded = (filled < 56) ? 64 : 128;
    const uint64_t bits = (uint64_t)length << 3;

    for (size_t i = filled / 4; i < padded / 4; i++) {
        blocks[i] = 0;
    }
    for (size_t i = 0; i < filled; i++) {
        bytes[i] = rest[i];
    }
    bytes[filled] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        bytes[padded - 1 - i] = (uint8_t)(bits >> (8 * i));
    }
    return padded;
}

void SM3_SOFTWARE(digest)(const uint8_t *data, size_t length, uint8_t digest[32])
{
    uint32_t v[8] = {0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600,
                     0xA96F30BC, 0x163138AA, 0xE38DEE4D, 0xB0FB0E4E};
    uint32_t words[68];
    uint32_t last[32];
    const size_t whole = length - length % 64;
    size_t padded;

    for (size_t i = 0; i < whole; i += 64) {
        SM3_SOFTWARE(expand)(words, &data[i]);
        SM3_SOFTWARE(compress)(v, words);
    }
    padded = SM3_SOFTWARE(pad)(last, &data[whole], length);
    for (size_t i = 0; i < padded; i += 64) {
        SM3_SOFTWARE(expand)(words, (const uint8_t *)last + i);
        SM3_SOFTWARE(compress)(v, words);
    }
    for (size_t i = 0; i < 32; i++) {
        digest[i] = (uint8_t)(v[i / 4] >> (24 - 8 * (i % 4)));
    }
}
