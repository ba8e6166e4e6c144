/* Messages: contexts, padding, digests. What touches the core is in manylane_sm3_core.c. */
#include "manylane_sm3.h"

#include "manylane_sm3_internal.h"

#define BLOCK_LENGTH ((size_t)MANYLANE_SM3_BLOCK_LENGTH)
#define LENGTH_LIMIT (UINT64_MAX >> 3)

void manylane_sm3_erase(void *memory, size_t length)
{
    volatile manylane_sm3_word *words = memory;
    size_t left = length / sizeof(uint32_t);

    for (; left >= 4u; left -= 4u) {
        words[0] = 0;
        words[1] = 0;
        words[2] = 0;
        words[3] = 0;
        words = &words[4];
    }
    for (; left > 0u; left--) {
        words[0] = 0;
        words = &words[1];
    }
}

static size_t held(const manylane_sm3_context *context)
{
    return (size_t)(context->length % MANYLANE_SM3_BLOCK_LENGTH);
}

static uint8_t *held_bytes(manylane_sm3_context *context)
{
    return (uint8_t *)context->block;
}

/* The C library of a small system copies byte by byte; most copies here are of words. */
static void hold(manylane_sm3_context *context, size_t filled, const uint8_t *data, size_t length)
{
    uint8_t *bytes = &held_bytes(context)[filled];
    size_t done = 0;

    if (manylane_sm3_is_aligned(data) && ((filled % sizeof(uint32_t)) == 0u)) {
        uint32_t *to = &context->block[filled / sizeof(uint32_t)];
        const void *aligned = data;
        const manylane_sm3_word *from = aligned;
        const size_t words = length / sizeof(uint32_t);
        size_t i;

        for (i = 0; i < words; i++) {
            to[i] = from[i];
        }
        done = words * sizeof(uint32_t);
    }
    for (; done < length; done++) {
        bytes[done] = data[done];
    }
}

/* Data that completes a block, and what follows it: whole blocks to the core, the rest to the context. */
static manylane_sm3_status absorb_blocks(const manylane_sm3_device *device, manylane_sm3_context *context,
                                         const uint8_t *data, size_t length)
{
    manylane_sm3_status status = MANYLANE_SM3_OK;
    const size_t filled = held(context);
    size_t taken = 0;
    size_t blocks;

    if (filled > 0u) {
        taken = BLOCK_LENGTH - filled;
        hold(context, filled, data, taken);
        status = manylane_sm3_core_write(device, held_bytes(context), 1);
    }
    blocks = (length - taken) / BLOCK_LENGTH;
    if ((blocks > 0u) && (status == MANYLANE_SM3_OK)) {
        status = manylane_sm3_core_move(device, &data[taken], blocks);
        taken += blocks * BLOCK_LENGTH;
    }
    if (status == MANYLANE_SM3_OK) {
        hold(context, 0, &data[taken], length - taken);
    }
    return status;
}

/* Takes data in. Without a whole block, the core is not touched. */
static manylane_sm3_status absorb(const manylane_sm3_device *device, manylane_sm3_context *context,
                                  const uint8_t *data, size_t length)
{
    manylane_sm3_status status = MANYLANE_SM3_OK;

    if (length < (BLOCK_LENGTH - held(context))) {
        hold(context, held(context), data, length);
    } else {
        status = absorb_blocks(device, context, data, length);
    }
    context->length += (uint64_t)length;
    return status;
}

/* In the order of the standard, whatever the processor's. */
static void store_length(uint8_t bytes[8], uint64_t length)
{
    const uint32_t high = (uint32_t)(length >> 29);
    const uint32_t low = (uint32_t)(length << 3);

    bytes[0] = (uint8_t)(high >> 24);
    bytes[1] = (uint8_t)((high >> 16) & 0xFFu);
    bytes[2] = (uint8_t)((high >> 8) & 0xFFu);
    bytes[3] = (uint8_t)(high & 0xFFu);
    bytes[4] = (uint8_t)(low >> 24);
    bytes[5] = (uint8_t)((low >> 16) & 0xFFu);
    bytes[6] = (uint8_t)((low >> 8) & 0xFFu);
    bytes[7] = (uint8_t)(low & 0xFFu);
}

/* The standard's 5.2: a bit 1, zeros, the length in bits. */
static manylane_sm3_status pad(const manylane_sm3_device *device, manylane_sm3_context *context)
{
    uint8_t *bytes = held_bytes(context);
    size_t filled = held(context);
    uint32_t length[2];

    bytes[filled] = 0x80;
    filled++;
    for (; (filled % sizeof(uint32_t)) != 0u; filled++) {
        bytes[filled] = 0;
    }
    store_length((uint8_t *)length, context->length);
    return manylane_sm3_core_end(device, context->block, filled / sizeof(uint32_t), length);
}

/* The core takes up the message where the context has it. */
static void load(const manylane_sm3_device *device, const manylane_sm3_context *context)
{
    manylane_sm3_core_load(device, (context->length >= MANYLANE_SM3_BLOCK_LENGTH) ? context->chaining : NULL);
}

static manylane_sm3_status check(const manylane_sm3_device *device, const manylane_sm3_context *context,
                                 const void *data, size_t length)
{
    manylane_sm3_status status = MANYLANE_SM3_OK;

    if ((device == NULL) || (context == NULL) || ((data == NULL) && (length > 0u))) {
        status = MANYLANE_SM3_ERROR_ARGUMENT;
    } else if (context->phase != MANYLANE_SM3_PHASE_OPEN) {
        status = MANYLANE_SM3_ERROR_STATE;
    } else if ((uint64_t)length > (LENGTH_LIMIT - context->length)) {
        status = MANYLANE_SM3_ERROR_LENGTH;
    } else {
        /* All is well. */
    }
    return status;
}

manylane_sm3_status manylane_sm3_init(manylane_sm3_context *context)
{
    if (context == NULL) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    context->length = 0;
    context->phase = MANYLANE_SM3_PHASE_OPEN;
    return MANYLANE_SM3_OK;
}

manylane_sm3_status manylane_sm3_update(manylane_sm3_device *device, manylane_sm3_context *context,
                                        const void *data, size_t length)
{
    manylane_sm3_status status = check(device, context, data, length);

    if ((status == MANYLANE_SM3_OK) && (length > 0u)) {
        if (length < (BLOCK_LENGTH - held(context))) {
            status = absorb(device, context, data, length);
        } else {
            load(device, context);
            status = manylane_sm3_core_unload(device, context->chaining, absorb(device, context, data, length));
            if (status != MANYLANE_SM3_OK) {
                manylane_sm3_wipe(context);
            }
        }
    }
    return status;
}

/* The rest of the message, and the digest. The context is wiped whatever comes. */
static manylane_sm3_status complete(manylane_sm3_device *device, manylane_sm3_context *context, const void *data,
                                    size_t length, uint8_t *digest)
{
    manylane_sm3_status status = check(device, context, data, length);
    size_t i;

    if ((status == MANYLANE_SM3_OK) && (digest == NULL)) {
        status = MANYLANE_SM3_ERROR_ARGUMENT;
    }
    if (status == MANYLANE_SM3_OK) {
        load(device, context);
        if (length > 0u) {
            status = absorb(device, context, data, length);
        }
        if (status == MANYLANE_SM3_OK) {
            status = pad(device, context);
        }
        if (manylane_sm3_is_aligned(digest)) {
            void *words = digest;

            status = manylane_sm3_core_unload(device, words, status);
        } else {
            status = manylane_sm3_core_unload(device, context->chaining, status);
            for (i = 0; (i < MANYLANE_SM3_DIGEST_LENGTH) && (status == MANYLANE_SM3_OK); i++) {
                digest[i] = ((const uint8_t *)context->chaining)[i];
            }
        }
        manylane_sm3_wipe(context);
    }
    return status;
}

manylane_sm3_status manylane_sm3_final(manylane_sm3_device *device, manylane_sm3_context *context,
                                       uint8_t digest[MANYLANE_SM3_DIGEST_LENGTH])
{
    return complete(device, context, NULL, 0, digest);
}

manylane_sm3_status manylane_sm3_digest(manylane_sm3_device *device, const void *data, size_t length,
                                        uint8_t digest[MANYLANE_SM3_DIGEST_LENGTH])
{
    manylane_sm3_context context;

    (void)manylane_sm3_init(&context);
    return complete(device, &context, data, length, digest);
}

void manylane_sm3_wipe(manylane_sm3_context *context)
{
    if (context != NULL) {
        manylane_sm3_erase(context, sizeof *context);
    }
}
