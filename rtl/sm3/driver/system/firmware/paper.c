#include "paper.h"

#include <string.h>

#include "platform.h"

enum { INPUT, OUTPUT, CONTROL, STATUS };

#define CONTROL_READ 1u
#define STATUS_WORD 8u

/* The interface has no control of byte order. */
static inline uint32_t reversed(uint32_t x)
{
    return (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24);
}

static inline void write_four(const uint32_t *words)
{
    PAPER_REGISTERS[INPUT] = reversed(words[0]);
    PAPER_REGISTERS[INPUT] = reversed(words[1]);
    PAPER_REGISTERS[INPUT] = reversed(words[2]);
    PAPER_REGISTERS[INPUT] = reversed(words[3]);
}

/* A write waits by HREADYOUT while the last word is not taken. */
static void write_block(const void *block)
{
    const uint32_t *words = block;

    write_four(&words[0]);
    write_four(&words[4]);
    write_four(&words[8]);
    write_four(&words[12]);
}

void paper_digest(const uint8_t *data, size_t length, uint8_t digest[32])
{
    uint32_t last[32];
    uint8_t *bytes = (uint8_t *)last;
    const size_t whole = length - length % 64;
    const size_t filled = length - whole;
    const size_t padded = (filled < 56) ? 64 : 128;
    uint32_t v[8];

    for (size_t i = 0; i < whole; i += 64) {
        write_block(&data[i]);
    }
    memcpy(bytes, &data[whole], filled);
    bytes[filled] = 0x80;
    memset(&bytes[filled + 1], 0, padded - 8 - (filled + 1));
    last[padded / 4 - 2] = reversed((uint32_t)(length >> 29));
    last[padded / 4 - 1] = reversed((uint32_t)(length << 3));
    if (padded == 128) {
        write_block(&last[0]);
    }
    /* To be read after the last block, and not after the one before: its second word waits until the core has
     * taken the first, and so has done with the block before. */
    PAPER_REGISTERS[INPUT] = reversed(last[padded / 4 - 16]);
    PAPER_REGISTERS[INPUT] = reversed(last[padded / 4 - 15]);
    PAPER_REGISTERS[CONTROL] = CONTROL_READ;
    for (size_t i = padded / 4 - 14; i < padded / 4; i++) {
        PAPER_REGISTERS[INPUT] = reversed(last[i]);
    }
    while ((PAPER_REGISTERS[STATUS] & STATUS_WORD) == 0u) {
    }
    for (size_t i = 0; i < 8; i++) {
        v[i] = reversed(PAPER_REGISTERS[OUTPUT]);
    }
    PAPER_REGISTERS[CONTROL] = 0;
    memcpy(digest, v, 32);
}
