/* HMAC-SM3 (RFC 2104 with SM3; GB/T 15852.2): the key's two blocks are compressed once a key. */
#include "manylane_sm3.h"
#include "manylane_sm3_internal.h"

/* A pad's byte, four times. */
#define INNER_PAD 0x36363636u
#define OUTER_PAD 0x5C5C5C5Cu
#define TAG_MINIMUM ((size_t)16)
#define TAG_MAXIMUM ((size_t)MANYLANE_SM3_DIGEST_LENGTH)

static void copy_words(uint32_t *to, const uint32_t *from, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/* A message whose first block is already in the chaining value. */
static void resume(manylane_sm3_context *context, const uint32_t chaining[8])
{
    context->length = MANYLANE_SM3_BLOCK_LENGTH;
    context->phase = MANYLANE_SM3_PHASE_OPEN;
    copy_words(context->chaining, chaining, 8);
}

/* The chaining value after the block key xor pad. */
static manylane_sm3_status compress_key(manylane_sm3_device *device, uint32_t chaining[8],
                                        const uint32_t key[16], uint32_t pad)
{
    manylane_sm3_context context;
    manylane_sm3_status status;
    uint32_t block[16];
    size_t i;

    for (i = 0; i < 16u; i++) {
        block[i] = key[i] ^ pad;
    }
    (void)manylane_sm3_init(&context);
    status = manylane_sm3_update(device, &context, block, sizeof block);
    if (status == MANYLANE_SM3_OK) {
        copy_words(chaining, context.chaining, 8);
    }
    manylane_sm3_wipe(&context);
    manylane_sm3_erase(block, sizeof block);
    return status;
}

manylane_sm3_status manylane_sm3_hmac_set_key(manylane_sm3_device *device, manylane_sm3_hmac_key *key,
                                              const void *bytes, size_t length)
{
    uint32_t block[16] = {0};
    uint8_t *block_bytes = (uint8_t *)block;
    const uint8_t *key_bytes = bytes;
    manylane_sm3_status status = MANYLANE_SM3_OK;
    size_t i;

    if ((device == NULL) || (key == NULL) || ((bytes == NULL) && (length > 0u))) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    key->phase = 0;
    if (length > sizeof block) {
        status = manylane_sm3_digest(device, bytes, length, block_bytes);
    } else {
        for (i = 0; i < length; i++) {
            block_bytes[i] = key_bytes[i];
        }
    }
    if (status == MANYLANE_SM3_OK) {
        status = compress_key(device, key->inner, block, INNER_PAD);
    }
    if (status == MANYLANE_SM3_OK) {
        status = compress_key(device, key->outer, block, OUTER_PAD);
    }
    manylane_sm3_erase(block, sizeof block);
    if (status == MANYLANE_SM3_OK) {
        key->phase = MANYLANE_SM3_PHASE_OPEN;
    } else {
        manylane_sm3_hmac_wipe_key(key);
    }
    return status;
}

void manylane_sm3_hmac_wipe_key(manylane_sm3_hmac_key *key)
{
    if (key != NULL) {
        manylane_sm3_erase(key, sizeof *key);
    }
}

manylane_sm3_status manylane_sm3_hmac_init(manylane_sm3_hmac_context *context, const manylane_sm3_hmac_key *key)
{
    if ((context == NULL) || (key == NULL)) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    if (key->phase != MANYLANE_SM3_PHASE_OPEN) {
        return MANYLANE_SM3_ERROR_STATE;
    }
    resume(&context->inner, key->inner);
    copy_words(context->outer, key->outer, 8);
    return MANYLANE_SM3_OK;
}

manylane_sm3_status manylane_sm3_hmac_update(manylane_sm3_device *device, manylane_sm3_hmac_context *context,
                                             const void *data, size_t length)
{
    manylane_sm3_status status = MANYLANE_SM3_ERROR_ARGUMENT;

    if (context != NULL) {
        status = manylane_sm3_update(device, &context->inner, data, length);
        if ((status != MANYLANE_SM3_OK) && (context->inner.phase != MANYLANE_SM3_PHASE_OPEN)) {
            manylane_sm3_hmac_wipe(context);
        }
    }
    return status;
}

manylane_sm3_status manylane_sm3_hmac_final(manylane_sm3_device *device, manylane_sm3_hmac_context *context,
                                            uint8_t tag[MANYLANE_SM3_DIGEST_LENGTH])
{
    uint32_t inner[8];
    manylane_sm3_status status;

    if ((device == NULL) || (context == NULL) || (tag == NULL)) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    status = manylane_sm3_final(device, &context->inner, (uint8_t *)inner);
    if (status == MANYLANE_SM3_OK) {
        resume(&context->inner, context->outer);
        status = manylane_sm3_update(device, &context->inner, inner, sizeof inner);
        if (status == MANYLANE_SM3_OK) {
            status = manylane_sm3_final(device, &context->inner, tag);
        }
    }
    manylane_sm3_erase(inner, sizeof inner);
    manylane_sm3_hmac_wipe(context);
    return status;
}

manylane_sm3_status manylane_sm3_hmac_verify(manylane_sm3_device *device, manylane_sm3_hmac_context *context,
                                             const uint8_t *tag, size_t length)
{
    uint32_t expected[8];
    const uint8_t *expected_bytes = (const uint8_t *)expected;
    manylane_sm3_status status;
    uint32_t differences = 0;
    size_t i;

    if ((tag == NULL) || (length < TAG_MINIMUM) || (length > TAG_MAXIMUM)) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    status = manylane_sm3_hmac_final(device, context, (uint8_t *)expected);
    if (status == MANYLANE_SM3_OK) {
        for (i = 0; i < length; i++) {
            differences |= (uint32_t)expected_bytes[i] ^ (uint32_t)tag[i];
        }
        if (differences != 0u) {
            status = MANYLANE_SM3_ERROR_TAG;
        }
    }
    manylane_sm3_erase(expected, sizeof expected);
    return status;
}

void manylane_sm3_hmac_wipe(manylane_sm3_hmac_context *context)
{
    if (context != NULL) {
        manylane_sm3_erase(context, sizeof *context);
    }
}
