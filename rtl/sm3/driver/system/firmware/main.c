/*
 * The firmware: carries out the commands of its input and prints what came of them.
 *
 *   'T' length              a row for each method: cycles, of them asleep and of them with the bus waiting, digest
 *   'P' length              the software's digest of that many bytes, profiled
 *   'Q' length              the same by the core, MODE_STALL
 *   'D' length data         the core's digest of the data
 *   'H' key length, key, length, data   the core's HMAC
 *   'C'                     what the driver promises beside digests, on this system
 *
 * Lengths are 4 bytes, the lowest first. Ends at the end of the input.
 */
#include <string.h>

#include "manylane_sm3.h"
#include "paper.h"
#include "platform.h"
#include "sm3_software.h"

#define LONGEST 65536u

void exit_with(int code) __attribute__((noreturn));

static manylane_sm3_device device;
static uint32_t message_words[LONGEST / 4 + 1];
static uint8_t *const message = (uint8_t *)message_words;

/* Ends with a line that says where, so that no failure goes unseen. */
static void demand(int holds, const char *what)
{
    if (!holds) {
        print("failed: ");
        print(what);
        print("\n");
        exit_with(1);
    }
}

static uint32_t read_length(void)
{
    uint32_t length = 0;

    for (uint32_t i = 0; i < 4; i++) {
        const int byte = read_byte();

        demand(byte >= 0, "a length is missing");
        length |= (uint32_t)byte << (8u * i);
    }
    demand(length <= LONGEST, "a length is too long");
    return length;
}

static void read_data(uint8_t *data, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        const int byte = read_byte();

        demand(byte >= 0, "data is missing");
        data[i] = (uint8_t)byte;
    }
}

/* The message of the measurements. */
static void fill(uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        message[i] = (uint8_t)(i * 167u + (i >> 8) * 31u + 11u);
    }
}

static void by_core(const uint8_t *data, size_t length, uint8_t digest[32])
{
    demand(manylane_sm3_digest(&device, data, length, digest) == MANYLANE_SM3_OK, "digest");
}

static void measure(const char *name, void (*method)(const uint8_t *, size_t, uint8_t *), const uint8_t *data,
                    uint32_t length)
{
    uint8_t digest[32];
    uint32_t slept = cycles_slept();
    uint32_t waited = cycles_waited();
    const uint32_t idle = cycles_now();
    const uint32_t begin = cycles_now();
    uint32_t cycles;

    method(data, length, digest);
    cycles = cycles_now();
    slept = cycles_slept() - slept;
    waited = cycles_waited() - waited;
    /* Less what looking at the clock takes. */
    cycles = cycles - begin - (begin - idle);
    print("row ");
    print(name);
    print(" ");
    print_number(length);
    print(" ");
    print_number(cycles);
    print(" ");
    print_number(slept);
    print(" ");
    print_number(waited);
    print(" ");
    print_hex(digest, sizeof digest);
    print("\n");
}

static void set_mode(manylane_sm3_mode mode)
{
    demand(manylane_sm3_set_mode(&device, mode) == MANYLANE_SM3_OK, "set_mode");
}

static void table(void)
{
    const uint32_t length = read_length();

    fill(length);
    measure("software", sm3_software_digest, message, length);
    measure("software_zbb", sm3_software_zbb_digest, message, length);
    set_mode(MANYLANE_SM3_MODE_STALL);
    measure("stall", by_core, message, length);
    set_mode(MANYLANE_SM3_MODE_POLL);
    measure("poll", by_core, message, length);
    set_mode(MANYLANE_SM3_MODE_INTERRUPT);
    measure("interrupt", by_core, message, length);
    set_mode(MANYLANE_SM3_MODE_DMA);
    measure("dma", by_core, message, length);
    set_mode(MANYLANE_SM3_MODE_STALL);
    memmove(message + 1, message, length);
    measure("unaligned", by_core, message + 1, length);
    memmove(message, message + 1, length);
    measure("paper", paper_digest, message, length);
}

static void profiled(void (*method)(const uint8_t *, size_t, uint8_t *))
{
    const uint32_t length = read_length();
    uint8_t digest[32];

    fill(length);
    set_mode(MANYLANE_SM3_MODE_STALL);
    profile(1);
    method(message, length, digest);
    profile(0);
    print("profile ");
    print_number(length);
    print(" ");
    print_hex(digest, sizeof digest);
    print("\n");
}

static void digest_input(void)
{
    const uint32_t length = read_length();
    uint8_t digest[32];

    read_data(message, length);
    set_mode(MANYLANE_SM3_MODE_DMA);
    by_core(message, length, digest);
    print("digest ");
    print_hex(digest, sizeof digest);
    print("\n");
}

static void hmac_input(void)
{
    manylane_sm3_hmac_context context;
    manylane_sm3_hmac_key key;
    uint8_t tag[32];
    uint32_t length = read_length();

    read_data(message, length);
    set_mode(MANYLANE_SM3_MODE_DMA);
    demand(manylane_sm3_hmac_set_key(&device, &key, message, length) == MANYLANE_SM3_OK, "hmac_set_key");
    length = read_length();
    read_data(message, length);
    demand(manylane_sm3_hmac_init(&context, &key) == MANYLANE_SM3_OK, "hmac_init");
    demand(manylane_sm3_hmac_update(&device, &context, message, length) == MANYLANE_SM3_OK, "hmac_update");
    demand(manylane_sm3_hmac_final(&device, &context, tag) == MANYLANE_SM3_OK, "hmac_final");
    demand(manylane_sm3_hmac_init(&context, &key) == MANYLANE_SM3_OK, "hmac_init");
    demand(manylane_sm3_hmac_update(&device, &context, message, length) == MANYLANE_SM3_OK, "hmac_update");
    demand(manylane_sm3_hmac_verify(&device, &context, tag, 32) == MANYLANE_SM3_OK, "hmac_verify");
    manylane_sm3_hmac_wipe_key(&key);
    print("hmac ");
    print_hex(tag, sizeof tag);
    print("\n");
}

/* Three messages take turns on the core, each in pieces of its own length and mode. */
static void check_interleaving(void)
{
    static const uint32_t lengths[3] = {1000, 640, 311};
    static const uint32_t pieces[3] = {61, 128, 7};
    manylane_sm3_context contexts[3];
    uint32_t done[3] = {0, 0, 0};
    uint8_t digest[32];
    uint8_t expected[32];
    int left = 3;

    fill(1000);
    for (uint32_t i = 0; i < 3; i++) {
        demand(manylane_sm3_init(&contexts[i]) == MANYLANE_SM3_OK, "init");
    }
    for (uint32_t turn = 0; left > 0; turn++) {
        const uint32_t i = turn % 3;
        const uint32_t rest = lengths[i] - done[i];
        const uint32_t piece = (rest < pieces[i]) ? rest : pieces[i];

        set_mode((manylane_sm3_mode)((turn / 3) % 4));
        demand(manylane_sm3_update(&device, &contexts[i], &message[done[i]], piece) == MANYLANE_SM3_OK, "update");
        done[i] += piece;
        if ((piece > 0u) && (done[i] == lengths[i])) {
            left--;
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        demand(manylane_sm3_final(&device, &contexts[i], digest) == MANYLANE_SM3_OK, "final");
        sm3_software_digest(message, lengths[i], expected);
        demand(memcmp(digest, expected, 32) == 0, "interleaved digests");
    }
}

/* The interrupt handler of a system that takes the interrupt, with DMA in parts of three blocks. */
static void check_handler(void)
{
    uint8_t digest[32];
    uint8_t expected[32];

    fill(1000);
    sm3_software_digest(message, 1000, expected);
    demand(manylane_sm3_open(&device, SM3_REGISTERS, &platform_with_handler, MANYLANE_SM3_MODE_INTERRUPT) ==
               MANYLANE_SM3_OK,
           "open");
    handled_device = &device;
    by_core(message, 1000, digest);
    demand(memcmp(digest, expected, 32) == 0, "digest by interrupts");
    /* A processor this slow may find the core ready whenever it looks; a transfer is long enough. */
    interrupts_taken = 0;
    set_mode(MANYLANE_SM3_MODE_DMA);
    by_core(message, 1000, digest);
    demand(memcmp(digest, expected, 32) == 0, "digest by DMA in parts");
    demand(interrupts_taken >= 5u, "DMA without interrupts");
}

/* A transfer from where there is no memory fails, the driver says so, and the next message is well. */
static void check_failures(void)
{
    manylane_sm3_context context;
    uint8_t digest[32];
    uint8_t expected[32];

    set_mode(MANYLANE_SM3_MODE_DMA);
    demand(manylane_sm3_init(&context) == MANYLANE_SM3_OK, "init");
    demand(manylane_sm3_update(&device, &context, (const void *)0x50000000u, 256) == MANYLANE_SM3_ERROR_DMA,
           "DMA from nowhere");
    demand(manylane_sm3_final(&device, &context, digest) == MANYLANE_SM3_ERROR_STATE, "final after a failure");
    by_core(message, 500, digest);
    sm3_software_digest(message, 500, expected);
    demand(memcmp(digest, expected, 32) == 0, "digest after a failure");
    demand(manylane_sm3_open(&device, PAPER_REGISTERS, NULL, MANYLANE_SM3_MODE_POLL) == MANYLANE_SM3_ERROR_DEVICE,
           "open of another core");
}

static void open_device(void)
{
    demand(manylane_sm3_open(&device, SM3_REGISTERS, &platform, MANYLANE_SM3_MODE_STALL) == MANYLANE_SM3_OK,
           "open");
}

static void check_promises(void)
{
    check_interleaving();
    check_handler();
    check_failures();
    handled_device = NULL;
    open_device();
    print("checks passed\n");
}

int main(void)
{
    int command;

    platform_start();
    open_device();
    for (command = read_byte(); command >= 0; command = read_byte()) {
        switch (command) {
        case 'T': table(); break;
        case 'P': profiled(sm3_software_digest); break;
        case 'Q': profiled(by_core); break;
        case 'D': digest_input(); break;
        case 'H': hmac_input(); break;
        case 'C': check_promises(); break;
        default: demand(0, "an unknown command");
        }
    }
    return 0;
}
