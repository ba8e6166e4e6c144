/*
 * The driver against the model: test_driver FILE
 *
 * FILE has a line for each vector, in hexadecimal digits, "-" for nothing:
 *   digest MESSAGE DIGEST
 *   hmac KEY MESSAGE TAG 1|0     whether the tag is right
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manylane_sm3.h"
#include "model.h"

#define LONGEST 70000u
#define OFFSETS 4u

#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

static model core;
static manylane_sm3_platform platform;
static manylane_sm3_device device;
static uint64_t checks;
/* What is being done, for the line of a failure. */
static char doing[128];

static void check(int holds, const char *what, int line)
{
    checks++;
    if (!holds) {
        fprintf(stderr, "test_driver.c:%d: %s (%s)\n", line, what, doing);
        exit(1);
    }
}

static void open_core(uint32_t rounds, int buffered, manylane_sm3_mode mode)
{
    model_reset(&core, rounds, buffered);
#ifdef MANYLANE_SM3_SWAP
    core.reversing_bus = !MANYLANE_SM3_SWAP;
#endif
    model_select(&core);
    platform = model_platform(&core);
    CHECK(manylane_sm3_open(&device, model_registers(), &platform, mode) == MANYLANE_SM3_OK);
}

/* After any call that went well: no ERROR response, no interrupt left enabled, nothing left in the core; and the
 * bus waited only where that is the mode. */
static void check_core(void)
{
    CHECK(core.errors == 0);
    CHECK(core.irq_enable == 0);
    CHECK(model_is_clean(&core));
    CHECK(core.idle_waits == 0);
    CHECK(core.mixed == 0);
    CHECK((device.mode == MANYLANE_SM3_MODE_STALL) || (core.stalls == 0));
}

/* The message in pieces, each as long as `piece` allows; 0: a length of its own each time. */
static void digest_in_pieces(const uint8_t *message, size_t length, size_t piece, uint8_t digest[32])
{
    manylane_sm3_context context;
    size_t done = 0;
    size_t turn = 0;

    CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
    while (done < length) {
        size_t part = (piece > 0) ? piece : (turn * 37) % 150;

        part = (part < length - done) ? part : length - done;
        CHECK(manylane_sm3_update(&device, &context, &message[done], part) == MANYLANE_SM3_OK);
        check_core();
        done += part;
        turn++;
    }
    CHECK(manylane_sm3_final(&device, &context, digest) == MANYLANE_SM3_OK);
    for (size_t i = 0; i < sizeof context; i++) {
        CHECK(((const uint8_t *)&context)[i] == 0);
    }
}

static void check_digest(const uint8_t *message, size_t length, const uint8_t expected[32])
{
    static const size_t pieces[] = {0, 1, 55, 64, 65, 128, 1000};
    /* Exactly as long as the message, so that a sanitizer sees a byte too many. */
    uint8_t *memory = malloc(length + OFFSETS);
    uint8_t output[33];

    CHECK(memory != NULL);
    for (uint32_t offset = 0; offset < OFFSETS; offset++) {
        uint8_t *at = (length > 0) ? &memory[OFFSETS - offset] : NULL;

        if (length > 0) {
            memcpy(at, message, length);
            memory = realloc(memory, OFFSETS - offset + length);
            CHECK(memory != NULL);
            at = &memory[OFFSETS - offset];
        }
        CHECK(manylane_sm3_digest(&device, at, length, &output[offset % 2]) == MANYLANE_SM3_OK);
        CHECK(memcmp(&output[offset % 2], expected, 32) == 0);
        check_core();
        memory = realloc(memory, length + OFFSETS);
        CHECK(memory != NULL);
    }
    free(memory);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        digest_in_pieces(message, length, pieces[i], output);
        CHECK(memcmp(output, expected, 32) == 0);
        check_core();
    }
}

static void check_hmac(const uint8_t *key, size_t key_length, const uint8_t *message, size_t length,
                       const uint8_t *tag, size_t tag_length, int right)
{
    manylane_sm3_hmac_key ready;
    manylane_sm3_hmac_context context;
    uint8_t made[32];
    uint8_t wrong[32];

    CHECK(manylane_sm3_hmac_set_key(&device, &ready, key, key_length) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_init(&context, &ready) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_update(&device, &context, message, length / 3) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_update(&device, &context, &message[length / 3], length - length / 3) ==
          MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_final(&device, &context, made) == MANYLANE_SM3_OK);
    CHECK((memcmp(made, tag, tag_length) == 0) == right);
    check_core();
    CHECK(manylane_sm3_hmac_init(&context, &ready) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_update(&device, &context, message, length) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_verify(&device, &context, tag, tag_length) ==
          (right ? MANYLANE_SM3_OK : MANYLANE_SM3_ERROR_TAG));
    memcpy(wrong, tag, tag_length);
    wrong[tag_length - 1] ^= 0x80;
    CHECK(manylane_sm3_hmac_init(&context, &ready) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_update(&device, &context, message, length) == MANYLANE_SM3_OK);
    if (right) {
        CHECK(manylane_sm3_hmac_verify(&device, &context, wrong, tag_length) == MANYLANE_SM3_ERROR_TAG);
    }
    manylane_sm3_hmac_wipe_key(&ready);
    CHECK(manylane_sm3_hmac_init(&context, &ready) == MANYLANE_SM3_ERROR_STATE);
    check_core();
}

static size_t decode(const char *digits, uint8_t *bytes)
{
    const size_t length = (strcmp(digits, "-") == 0) ? 0 : strlen(digits) / 2;

    CHECK(length <= LONGEST);
    for (size_t i = 0; i < length; i++) {
        char pair[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        char *end;

        bytes[i] = (uint8_t)strtoul(pair, &end, 16);
        CHECK(*end == '\0');
    }
    return length;
}

/* The file's vectors, in one mode on one core. Returns how many. */
static unsigned check_vectors(FILE *file)
{
    static char line[3 * LONGEST];
    static uint8_t key[LONGEST];
    static uint8_t message[LONGEST];
    uint8_t result[32];
    unsigned count = 0;

    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *kind = strtok(line, " \n");

        if (strcmp(kind, "digest") == 0) {
            const size_t length = decode(strtok(NULL, " \n"), message);

            CHECK(decode(strtok(NULL, " \n"), result) == 32);
            (void)snprintf(doing, sizeof doing, "digest of %zu bytes, mode %d", length, (int)device.mode);
            check_digest(message, length, result);
        } else {
            const size_t key_length = decode(strtok(NULL, " \n"), key);
            const size_t length = decode(strtok(NULL, " \n"), message);
            const size_t tag_length = decode(strtok(NULL, " \n"), result);
            const int right = strcmp(strtok(NULL, " \n"), "1") == 0;

            CHECK(strcmp(kind, "hmac") == 0);
            (void)snprintf(doing, sizeof doing, "HMAC of %zu bytes, mode %d", length, (int)device.mode);
            check_hmac(key, key_length, message, length, result, tag_length, right);
        }
        count++;
    }
    return count;
}

static const uint8_t abc_digest[32] = {0x66, 0xC7, 0xF0, 0xF4, 0x62, 0xEE, 0xED, 0xD9, 0xD1, 0xF2, 0xD4,
                                       0x6B, 0xDC, 0x10, 0xE4, 0xE2, 0x41, 0x67, 0xC4, 0x87, 0x5C, 0xF2,
                                       0xF7, 0xA2, 0x29, 0x7D, 0xA0, 0x2B, 0x8F, 0x4B, 0xA8, 0xE0};

static void check_abc(void)
{
    uint8_t digest[32];

    CHECK(manylane_sm3_digest(&device, "abc", 3, digest) == MANYLANE_SM3_OK);
    CHECK(memcmp(digest, abc_digest, 32) == 0);
    check_core();
}

/* Five messages take turns on one core, and a copy of a context goes its own way. */
static void check_interleaving(void)
{
    static uint8_t message[1000];
    manylane_sm3_context contexts[5];
    manylane_sm3_context copy;
    uint8_t digest[32];
    uint8_t expected[32];

    strcpy(doing, "interleaving");
    for (size_t i = 0; i < sizeof message; i++) {
        message[i] = (uint8_t)(i * 7 + 3);
    }
    for (size_t i = 0; i < 5; i++) {
        CHECK(manylane_sm3_init(&contexts[i]) == MANYLANE_SM3_OK);
    }
    for (size_t turn = 0; turn < 10; turn++) {
        for (size_t i = 0; i < 5; i++) {
            const size_t part = 20 * (i + 1);

            CHECK(manylane_sm3_update(&device, &contexts[i], &message[turn * part], part) == MANYLANE_SM3_OK);
            check_abc();
        }
    }
    copy = contexts[4];
    CHECK(manylane_sm3_update(&device, &copy, message, 100) == MANYLANE_SM3_OK);
    for (size_t i = 0; i < 5; i++) {
        CHECK(manylane_sm3_final(&device, &contexts[i], digest) == MANYLANE_SM3_OK);
        CHECK(manylane_sm3_digest(&device, message, 200 * (i + 1), expected) == MANYLANE_SM3_OK);
        CHECK(memcmp(digest, expected, 32) == 0);
    }
    CHECK(manylane_sm3_final(&device, &copy, digest) == MANYLANE_SM3_OK);
    CHECK(memcmp(digest, expected, 32) != 0);
}

static void check_open(void)
{
    manylane_sm3_platform none = {0};
    manylane_sm3_device other;
    volatile uint32_t *const at = model_registers();

    strcpy(doing, "arguments of open");
    open_core(1, 0, MANYLANE_SM3_MODE_POLL);
    CHECK(manylane_sm3_open(NULL, at, NULL, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_open(&other, NULL, NULL, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_open(&other, at, NULL, (manylane_sm3_mode)7) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_open(&other, at, NULL, MANYLANE_SM3_MODE_DMA) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_open(&other, at, NULL, MANYLANE_SM3_MODE_INTERRUPT) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_open(&other, at, NULL, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_set_mode(&other, MANYLANE_SM3_MODE_DMA) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_set_mode(NULL, MANYLANE_SM3_MODE_STALL) == MANYLANE_SM3_ERROR_ARGUMENT);
    /* Each hook of a mode is asked for. */
    CHECK(manylane_sm3_open(&other, at, &none, MANYLANE_SM3_MODE_INTERRUPT) == MANYLANE_SM3_ERROR_ARGUMENT);
    for (int missing = 0; missing < 4; missing++) {
        manylane_sm3_platform part = model_platform(&core);

        switch (missing) {
        case 0: part.dma_start = NULL; break;
        case 1: part.dma_state = NULL; break;
        case 2: part.dma_stop = NULL; break;
        default: part.dma_max_blocks = 0; break;
        }
        CHECK(manylane_sm3_open(&other, at, &part, MANYLANE_SM3_MODE_DMA) == MANYLANE_SM3_ERROR_ARGUMENT);
    }
}

static void check_arguments(void)
{
    manylane_sm3_context context;
    uint8_t out[32];

    strcpy(doing, "arguments");
    open_core(1, 0, MANYLANE_SM3_MODE_POLL);
    CHECK(manylane_sm3_init(NULL) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_update(NULL, &context, "a", 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_update(&device, NULL, "a", 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_update(&device, &context, NULL, 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_update(&device, &context, NULL, 0) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_final(&device, &context, NULL) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_final(&device, &context, out) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_final(&device, &context, out) == MANYLANE_SM3_ERROR_STATE);
    CHECK(manylane_sm3_update(&device, &context, "a", 1) == MANYLANE_SM3_ERROR_STATE);
    manylane_sm3_wipe(NULL);
}

static void check_hmac_arguments(void)
{
    manylane_sm3_hmac_context hmac;
    manylane_sm3_hmac_key key;
    uint8_t out[32] = {0};

    strcpy(doing, "arguments of HMAC");
    open_core(1, 0, MANYLANE_SM3_MODE_POLL);
    CHECK(manylane_sm3_hmac_set_key(NULL, &key, "k", 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_set_key(&device, NULL, "k", 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_set_key(&device, &key, NULL, 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_set_key(&device, &key, NULL, 0) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_init(NULL, &key) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_init(&hmac, NULL) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_init(&hmac, &key) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_update(&device, NULL, "a", 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_update(&device, &hmac, NULL, 1) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_final(NULL, &hmac, out) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_final(&device, NULL, out) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_final(&device, &hmac, NULL) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_verify(&device, &hmac, NULL, 32) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_verify(&device, &hmac, out, 15) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_verify(&device, &hmac, out, 33) == MANYLANE_SM3_ERROR_ARGUMENT);
    CHECK(manylane_sm3_hmac_final(&device, &hmac, out) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_final(&device, &hmac, out) == MANYLANE_SM3_ERROR_STATE);
    manylane_sm3_hmac_wipe(NULL);
    manylane_sm3_hmac_wipe_key(NULL);
}

/* A length in bits has 64 bits. */
static void check_length_limit(void)
{
    manylane_sm3_context context;
    uint8_t digest[32];

    strcpy(doing, "limit of lengths");
    open_core(1, 0, MANYLANE_SM3_MODE_POLL);
    CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
    context.length = (UINT64_C(1) << 61) - 2;
    CHECK(manylane_sm3_update(&device, &context, "ab", 2) == MANYLANE_SM3_ERROR_LENGTH);
    CHECK(context.length == (UINT64_C(1) << 61) - 2);
    CHECK(manylane_sm3_update(&device, &context, "a", 1) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_final(&device, &context, digest) == MANYLANE_SM3_OK);
    CHECK((core.words[14] == 0xFFFFFFFFu) && (core.words[15] == 0xFFFFFFF8u));
    memset(&context, 0, sizeof context);
    CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
    context.length = (UINT64_C(5) << 29) + 64;
    CHECK(manylane_sm3_final(&device, &context, digest) == MANYLANE_SM3_OK);
    CHECK((core.words[14] == 5u) && (core.words[15] == 512u));
}

/* The core is not what it should be, does not answer, or is written to by somebody else. */
static void check_core_faults(void)
{
    static const uint8_t message[300];
    manylane_sm3_context context;
    uint8_t digest[32] = {0};

    strcpy(doing, "faults of the core");
    open_core(1, 0, MANYLANE_SM3_MODE_POLL);
    core.id ^= 1u;
    CHECK(manylane_sm3_open(&device, model_registers(), NULL, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_ERROR_DEVICE);
    core.id ^= 1u;
    core.major++;
    CHECK(manylane_sm3_open(&device, model_registers(), NULL, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_ERROR_DEVICE);
    for (int mode = 0; mode <= 3; mode++) {
        open_core(1, 0, (manylane_sm3_mode)mode);
        core.stuck = 1;
        CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
        CHECK(manylane_sm3_update(&device, &context, &message[1], 200) == MANYLANE_SM3_ERROR_TIMEOUT);
        CHECK(manylane_sm3_final(&device, &context, digest) == MANYLANE_SM3_ERROR_STATE);
        CHECK(manylane_sm3_digest(&device, message, 64, digest) == MANYLANE_SM3_ERROR_TIMEOUT);
        CHECK(core.irq_enable == 0);
        core.stuck = 0;
        core.idle_waits = 0;
        check_abc();
        core.error_at = core.accesses + 10;
        CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
        CHECK(manylane_sm3_update(&device, &context, message, 200) == MANYLANE_SM3_ERROR_BUS);
        CHECK(context.phase == 0);
        CHECK(core.errors == 1);
        core.errors = 0;
        check_abc();
    }
}

static void check_hook_faults(void)
{
    static const uint32_t message[100];
    manylane_sm3_context context;
    manylane_sm3_hmac_key key;
    manylane_sm3_hmac_context hmac;
    uint8_t digest[32];

    strcpy(doing, "faults of the hooks");
    open_core(1, 0, MANYLANE_SM3_MODE_INTERRUPT);
    core.wait_gives_up = 1;
    CHECK(manylane_sm3_digest(&device, message, 400, digest) == MANYLANE_SM3_ERROR_TIMEOUT);
    CHECK(core.irq_enable == 0);
    CHECK(manylane_sm3_hmac_set_key(&device, &key, message, 100) == MANYLANE_SM3_ERROR_TIMEOUT);
    CHECK(manylane_sm3_hmac_set_key(&device, &key, message, 10) == MANYLANE_SM3_ERROR_TIMEOUT);
    CHECK(manylane_sm3_hmac_init(&hmac, &key) == MANYLANE_SM3_ERROR_STATE);
    core.wait_gives_up = 0;
    CHECK(manylane_sm3_hmac_set_key(&device, &key, message, 10) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_hmac_init(&hmac, &key) == MANYLANE_SM3_OK);
    core.wait_gives_up = 1;
    CHECK(manylane_sm3_hmac_update(&device, &hmac, message, 400) == MANYLANE_SM3_ERROR_TIMEOUT);
    for (size_t i = 0; i < sizeof hmac; i++) {
        CHECK(((const uint8_t *)&hmac)[i] == 0);
    }
    open_core(1, 0, MANYLANE_SM3_MODE_DMA);
    core.wait_gives_up = 1;
    CHECK(manylane_sm3_digest(&device, message, 400, digest) == MANYLANE_SM3_ERROR_TIMEOUT);
    CHECK(core.dma_stops == 1);
    core.wait_gives_up = 0;
    core.dma_refuses = 1;
    CHECK(manylane_sm3_digest(&device, message, 400, digest) == MANYLANE_SM3_ERROR_DMA);
    core.dma_refuses = 0;
    core.dma_fails_after = core.dma_blocks + 4;
    CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_update(&device, &context, message, 400) == MANYLANE_SM3_ERROR_DMA);
    CHECK(context.phase == 0);
    CHECK(core.dma_stops == 3);
    core.dma_fails_after = SIZE_MAX;
    core.dma_hangs = 1;
    CHECK(manylane_sm3_digest(&device, message, 400, digest) == MANYLANE_SM3_ERROR_TIMEOUT);
    CHECK(core.dma_stops == 4);
    core.dma_hangs = 0;
    CHECK(model_is_clean(&core));
    check_abc();
    /* Without a wait hook, DMA polls. */
    platform.wait = NULL;
    CHECK(manylane_sm3_digest(&device, message, 400, digest) == MANYLANE_SM3_OK);
    check_core();
}

/* Modes do what they say: polling does not sleep, interrupts do, DMA moves what it can. */
static void check_modes(void)
{
    static const uint32_t message[512];
    uint8_t digest[32];

    strcpy(doing, "modes");
    open_core(1, 0, MANYLANE_SM3_MODE_STALL);
    CHECK(manylane_sm3_digest(&device, message, 2000, digest) == MANYLANE_SM3_OK);
    CHECK((core.stalls > 0) && (core.waits == 0) && (core.dma_blocks == 0));
    open_core(1, 0, MANYLANE_SM3_MODE_POLL);
    CHECK(manylane_sm3_digest(&device, message, 2000, digest) == MANYLANE_SM3_OK);
    CHECK((core.stalls == 0) && (core.waits == 0));
    open_core(1, 0, MANYLANE_SM3_MODE_INTERRUPT);
    CHECK(manylane_sm3_digest(&device, message, 2000, digest) == MANYLANE_SM3_OK);
    CHECK((core.stalls == 0) && (core.waits >= 30) && (core.dma_blocks == 0));
    manylane_sm3_interrupt(&device);
    CHECK(core.irq_enable == 0);
    open_core(1, 0, MANYLANE_SM3_MODE_DMA);
    CHECK(manylane_sm3_digest(&device, message, 2000, digest) == MANYLANE_SM3_OK);
    CHECK((core.stalls == 0) && (core.dma_blocks == 31));
    CHECK((core.control & 0xFF00u) == 0x500u);
    CHECK(manylane_sm3_digest(&device, (const uint8_t *)message + 1, 2000, digest) == MANYLANE_SM3_OK);
    CHECK(core.dma_blocks == 31);
    platform.dma_min_blocks = 3;
    CHECK(manylane_sm3_digest(&device, message, 128, digest) == MANYLANE_SM3_OK);
    CHECK(core.dma_blocks == 31);
    CHECK(manylane_sm3_digest(&device, message, 192, digest) == MANYLANE_SM3_OK);
    CHECK(core.dma_blocks == 34);
    CHECK(manylane_sm3_set_mode(&device, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_OK);
    CHECK(manylane_sm3_digest(&device, message, 2000, digest) == MANYLANE_SM3_OK);
    CHECK(core.dma_blocks == 34);
    /* What does not complete a block does not touch the core. */
    {
        manylane_sm3_context context;
        const uint64_t accesses = core.accesses;

        CHECK(manylane_sm3_init(&context) == MANYLANE_SM3_OK);
        CHECK(manylane_sm3_update(&device, &context, message, 63) == MANYLANE_SM3_OK);
        CHECK(core.accesses == accesses);
    }
}

int main(int argc, char **argv)
{
    FILE *file = (argc == 2) ? fopen(argv[1], "r") : NULL;
    unsigned vectors = 0;

    if (file == NULL) {
        fprintf(stderr, "usage: test_driver FILE\n");
        return 2;
    }
    for (uint32_t parameters = 0; parameters < 4; parameters++) {
        for (int mode = 0; mode <= 3; mode++) {
            open_core(1 + parameters % 2, (int)(parameters / 2), (manylane_sm3_mode)mode);
            vectors = check_vectors(file);
            check_interleaving();
        }
    }
    CHECK(vectors > 0);
    (void)fclose(file);
    check_open();
    check_arguments();
    check_hmac_arguments();
    check_length_limit();
    check_core_faults();
    check_hook_faults();
    check_modes();
    printf("%u vectors on 4 cores in 4 modes, %llu checks\n", vectors, (unsigned long long)checks);
    return 0;
}
