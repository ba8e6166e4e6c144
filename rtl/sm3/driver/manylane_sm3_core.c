/* The core: its registers, the ways to wait for it, blocks by the processor and by DMA. */
#include "manylane_sm3.h"

#include "manylane_sm3_internal.h"
#include "manylane_sm3_io.h"
#include "sm3_regs.h"

/* Looks at the core, or wakings, before it is given up. Rounds take 68 cycles a block, and a look several. */
#ifndef MANYLANE_SM3_LOOK_LIMIT
#define MANYLANE_SM3_LOOK_LIMIT 1000u
#endif

/* Where the length begins in the last block. */
#define LENGTH_WORD ((size_t)14)
#define IRQ_ALL (SM3__IRQ_STATUS__DONE_bm | SM3__IRQ_STATUS__READY_bm | SM3__IRQ_STATUS__ERROR_bm)

/* Index of a register, as a word. */
#define REGISTER(name) (offsetof(sm3_t, name) / sizeof(uint32_t))

/* The order of bytes of the processor. */
#ifndef MANYLANE_SM3_BIG_ENDIAN
#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#define MANYLANE_SM3_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#else
#define MANYLANE_SM3_BIG_ENDIAN 0
#endif
#endif

/* Whether the core reverses the bytes of words: a word of the message in memory is a word of the standard on a
 * big-endian processor, or where a bridge reverses them on the way. */
#ifndef MANYLANE_SM3_SWAP
#define MANYLANE_SM3_SWAP (!MANYLANE_SM3_BIG_ENDIAN)
#endif
#define SWAP_BYTES (MANYLANE_SM3_SWAP ? (SM3__CTRL__SWAP_IN_bm | SM3__CTRL__SWAP_OUT_bm) : 0u)

/* A word moved so that its bytes are `bits` / 8 places earlier, or later, in memory. */
#if MANYLANE_SM3_BIG_ENDIAN
#define EARLIER(word, bits) ((word) << (bits))
#define LATER(word, bits) ((word) >> (bits))
#define FIRST_BYTE(byte) ((uint32_t)(byte) << 24)
#else
#define EARLIER(word, bits) ((word) >> (bits))
#define LATER(word, bits) ((word) << (bits))
#define FIRST_BYTE(byte) ((uint32_t)(byte))
#endif

static uint32_t read_register(const manylane_sm3_device *device, size_t index)
{
    return manylane_sm3_read(&device->registers[index]);
}

static void write_register(const manylane_sm3_device *device, size_t index, uint32_t value)
{
    manylane_sm3_write(&device->registers[index], value);
}

/* Polls until the bits `mask` of STATUS are `wanted`. */
static manylane_sm3_status poll_status(const manylane_sm3_device *device, uint32_t mask, uint32_t wanted)
{
    uint32_t looks;

    for (looks = 0; looks < MANYLANE_SM3_LOOK_LIMIT; looks++) {
        if ((read_register(device, REGISTER(STATUS)) & mask) == wanted) {
            return MANYLANE_SM3_OK;
        }
    }
    return MANYLANE_SM3_ERROR_TIMEOUT;
}

/* Sleeps until then. The event is cleared before STATUS is read: if it comes in between, IRQ is high when the
 * hook is called, and the hook returns at once. */
static manylane_sm3_status sleep_until(const manylane_sm3_device *device, uint32_t mask, uint32_t wanted,
                                       uint32_t event)
{
    const manylane_sm3_platform *platform = device->platform;
    uint32_t wakes;

    for (wakes = 0; wakes < MANYLANE_SM3_LOOK_LIMIT; wakes++) {
        int gave_up;

        write_register(device, REGISTER(IRQ_STATUS), event);
        if ((read_register(device, REGISTER(STATUS)) & mask) == wanted) {
            return MANYLANE_SM3_OK;
        }
        write_register(device, REGISTER(IRQ_ENABLE), event);
        gave_up = platform->wait(platform->user);
        write_register(device, REGISTER(IRQ_ENABLE), 0);
        if (gave_up != 0) {
            break;
        }
    }
    return MANYLANE_SM3_ERROR_TIMEOUT;
}

static int sleeps(const manylane_sm3_device *device)
{
    return (device->mode >= MANYLANE_SM3_MODE_INTERRUPT) && (device->platform->wait != NULL);
}

/* Until a block can be written without waiting, save where the bus is to wait. */
static manylane_sm3_status wait_room(const manylane_sm3_device *device)
{
    const uint32_t mask = SM3__STATUS__READY_bm;
    manylane_sm3_status status = MANYLANE_SM3_OK;

    if (device->mode != MANYLANE_SM3_MODE_STALL) {
        status = sleeps(device) ? sleep_until(device, mask, mask, SM3__IRQ_ENABLE__READY_bm)
                                : poll_status(device, mask, mask);
    }
    return status;
}

static manylane_sm3_status wait_idle(const manylane_sm3_device *device)
{
    const uint32_t mask = SM3__STATUS__BUSY_bm;

    return sleeps(device) ? sleep_until(device, mask, 0, SM3__IRQ_ENABLE__DONE_bm)
                          : poll_status(device, mask, 0);
}

/* Four words at a time, so that the loads come before the stores and few loops are counted. */
static inline void write_four(volatile uint32_t *window, const manylane_sm3_word *words)
{
    const uint32_t w0 = words[0];
    const uint32_t w1 = words[1];
    const uint32_t w2 = words[2];
    const uint32_t w3 = words[3];

    manylane_sm3_write(&window[0], w0);
    manylane_sm3_write(&window[1], w1);
    manylane_sm3_write(&window[2], w2);
    manylane_sm3_write(&window[3], w3);
}

static inline void read_four(const volatile uint32_t *window, manylane_sm3_word *words)
{
    const uint32_t w0 = manylane_sm3_read(&window[0]);
    const uint32_t w1 = manylane_sm3_read(&window[1]);
    const uint32_t w2 = manylane_sm3_read(&window[2]);
    const uint32_t w3 = manylane_sm3_read(&window[3]);

    words[0] = w0;
    words[1] = w1;
    words[2] = w2;
    words[3] = w3;
}

static void write_aligned(const manylane_sm3_device *device, const void *data)
{
    volatile uint32_t *window = &device->registers[REGISTER(DIN)];
    const manylane_sm3_word *words = data;

    write_four(&window[0], &words[0]);
    write_four(&window[4], &words[4]);
    write_four(&window[8], &words[8]);
    write_four(&window[12], &words[12]);
}

/* A word of which only `count` bytes, 1 to 3, are in `data`; the rest is 0. */
static uint32_t load_bytes(const uint8_t *data, uint32_t count)
{
    uint32_t word = FIRST_BYTE(data[0]);

    if (count > 1u) {
        word |= LATER(FIRST_BYTE(data[1]), 8u);
    }
    if (count > 2u) {
        word |= LATER(FIRST_BYTE(data[2]), 16u);
    }
    return word;
}

/* Aligned words are read and put together, and nothing beside the block is read. */
static void write_unaligned(const manylane_sm3_device *device, const uint8_t *data)
{
    volatile uint32_t *window = &device->registers[REGISTER(DIN)];
    const uint32_t off = (uint32_t)((uintptr_t)data % sizeof(uint32_t));
    const uint32_t early = 8u * off;
    const uint32_t late = 32u - early;
    const void *inside = &data[4u - off];
    const manylane_sm3_word *words = inside;
    uint32_t carry = load_bytes(data, 4u - off);
    size_t i;

    for (i = 0; i < 15u; i += 3u) {
        const uint32_t w0 = words[i];
        const uint32_t w1 = words[i + 1u];
        const uint32_t w2 = words[i + 2u];

        manylane_sm3_write(&window[i], carry | LATER(w0, late));
        manylane_sm3_write(&window[i + 1u], EARLIER(w0, early) | LATER(w1, late));
        manylane_sm3_write(&window[i + 2u], EARLIER(w1, early) | LATER(w2, late));
        carry = EARLIER(w2, early);
    }
    manylane_sm3_write(&window[15], carry | LATER(load_bytes(&data[MANYLANE_SM3_BLOCK_LENGTH - off], off), late));
}

static manylane_sm3_status wait_transfer(const manylane_sm3_platform *platform, size_t blocks)
{
    size_t left;
    uint32_t looks;

    for (left = blocks; left > 0u; left--) {
        for (looks = 0; looks < MANYLANE_SM3_LOOK_LIMIT; looks++) {
            const int state = platform->dma_state(platform->user);

            if (state == MANYLANE_SM3_DMA_DONE) {
                return MANYLANE_SM3_OK;
            }
            if (state != MANYLANE_SM3_DMA_RUNNING) {
                return MANYLANE_SM3_ERROR_DMA;
            }
            if ((platform->wait != NULL) && (platform->wait(platform->user) != 0)) {
                return MANYLANE_SM3_ERROR_TIMEOUT;
            }
        }
    }
    return MANYLANE_SM3_ERROR_TIMEOUT;
}

static manylane_sm3_status transfer_blocks(const manylane_sm3_device *device, const uint8_t *data, size_t blocks)
{
    const manylane_sm3_platform *platform = device->platform;
    volatile uint32_t *window = &device->registers[REGISTER(DIN)];
    manylane_sm3_status status = MANYLANE_SM3_OK;
    size_t done = 0;

    write_register(device, REGISTER(CTRL), device->control | SM3__CTRL__DMA_ENABLE_bm);
    while ((done < blocks) && (status == MANYLANE_SM3_OK)) {
        const size_t left = blocks - done;
        const size_t part = (left < platform->dma_max_blocks) ? left : platform->dma_max_blocks;

        if (platform->dma_start(platform->user, window, &data[done * MANYLANE_SM3_BLOCK_LENGTH], part) != 0) {
            status = MANYLANE_SM3_ERROR_DMA;
        } else {
            status = wait_transfer(platform, part);
        }
        if (status != MANYLANE_SM3_OK) {
            platform->dma_stop(platform->user);
        }
        done += part;
    }
    write_register(device, REGISTER(CTRL), device->control);
    return status;
}

manylane_sm3_status manylane_sm3_core_write(const manylane_sm3_device *device, const uint8_t *data, size_t blocks)
{
    const int aligned = manylane_sm3_is_aligned(data);
    manylane_sm3_status status = MANYLANE_SM3_OK;
    size_t i;

    for (i = 0; (i < blocks) && (status == MANYLANE_SM3_OK); i++) {
        status = wait_room(device);
        if (status == MANYLANE_SM3_OK) {
            if (aligned) {
                write_aligned(device, &data[i * MANYLANE_SM3_BLOCK_LENGTH]);
            } else {
                write_unaligned(device, &data[i * MANYLANE_SM3_BLOCK_LENGTH]);
            }
        }
    }
    return status;
}

manylane_sm3_status manylane_sm3_core_move(const manylane_sm3_device *device, const uint8_t *data, size_t blocks)
{
    const int by_dma = (device->mode == MANYLANE_SM3_MODE_DMA) && manylane_sm3_is_aligned(data) &&
                       (blocks >= device->platform->dma_min_blocks);

    return by_dma ? transfer_blocks(device, data, blocks) : manylane_sm3_core_write(device, data, blocks);
}

manylane_sm3_status manylane_sm3_core_end(const manylane_sm3_device *device, const uint32_t *words, size_t count,
                                          const uint32_t length[2])
{
    static const uint32_t zeros[4] = {0};
    volatile uint32_t *window = &device->registers[REGISTER(DIN)];
    manylane_sm3_status status = wait_room(device);
    size_t word = 0;

    if (status == MANYLANE_SM3_OK) {
        for (; (word + 4u) <= count; word += 4u) {
            write_four(&window[word], &words[word]);
        }
        for (; word < count; word++) {
            manylane_sm3_write(&window[word], words[word]);
        }
        if (count > LENGTH_WORD) {
            for (; word < 16u; word++) {
                manylane_sm3_write(&window[word], 0);
            }
            word = 0;
            status = wait_room(device);
        }
    }
    if (status == MANYLANE_SM3_OK) {
        for (; (word + 4u) <= LENGTH_WORD; word += 4u) {
            write_four(&window[word], zeros);
        }
        for (; word < LENGTH_WORD; word++) {
            manylane_sm3_write(&window[word], 0);
        }
        manylane_sm3_write(&window[14], length[0]);
        manylane_sm3_write(&window[15], length[1]);
    }
    return status;
}

void manylane_sm3_core_load(const manylane_sm3_device *device, const uint32_t *chaining)
{
    volatile uint32_t *value = &device->registers[REGISTER(DIGEST)];

    write_register(device, REGISTER(CTRL), device->control | SM3__CTRL__INIT_bm);
    write_register(device, REGISTER(IRQ_STATUS), IRQ_ALL);
    if (chaining != NULL) {
        write_four(&value[0], &chaining[0]);
        write_four(&value[4], &chaining[4]);
    }
}

manylane_sm3_status manylane_sm3_core_unload(const manylane_sm3_device *device, manylane_sm3_word *chaining,
                                             manylane_sm3_status so_far)
{
    const volatile uint32_t *value = &device->registers[REGISTER(DIGEST)];
    manylane_sm3_status status = so_far;

    if (status == MANYLANE_SM3_OK) {
        status = wait_idle(device);
    }
    if ((status == MANYLANE_SM3_OK) &&
        ((read_register(device, REGISTER(IRQ_STATUS)) & SM3__IRQ_STATUS__ERROR_bm) != 0u)) {
        status = MANYLANE_SM3_ERROR_BUS;
    }
    if (status == MANYLANE_SM3_OK) {
        read_four(&value[0], &chaining[0]);
        read_four(&value[4], &chaining[4]);
    }
    write_register(device, REGISTER(CTRL), device->control | SM3__CTRL__INIT_bm);
    return status;
}

static int hooks_suffice(const manylane_sm3_platform *platform, manylane_sm3_mode mode)
{
    int suffice = 0;

    switch (mode) {
    case MANYLANE_SM3_MODE_STALL:
    case MANYLANE_SM3_MODE_POLL:
        suffice = 1;
        break;
    case MANYLANE_SM3_MODE_INTERRUPT:
        suffice = (platform != NULL) && (platform->wait != NULL);
        break;
    case MANYLANE_SM3_MODE_DMA:
        suffice = (platform != NULL) && (platform->dma_start != NULL) && (platform->dma_state != NULL) &&
                  (platform->dma_stop != NULL) && (platform->dma_max_blocks > 0u);
        break;
    default:
        /* Not a mode. */
        break;
    }
    return suffice;
}

manylane_sm3_status manylane_sm3_open(manylane_sm3_device *device, volatile uint32_t *registers,
                                      const manylane_sm3_platform *platform, manylane_sm3_mode mode)
{
    const uint32_t major = SM3__VERSION__MAJOR_reset << SM3__VERSION__MAJOR_bp;
    uint32_t early = 0;

    if ((device == NULL) || (registers == NULL) || !hooks_suffice(platform, mode)) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    device->registers = registers;
    device->platform = platform;
    device->mode = mode;
    if (platform != NULL) {
        early = (uint32_t)platform->dma_early << SM3__CTRL__DMA_EARLY_bp;
    }
    device->control = SWAP_BYTES | early;
    if ((read_register(device, REGISTER(ID)) != SM3__ID__VALUE_reset) ||
        ((read_register(device, REGISTER(VERSION)) & SM3__VERSION__MAJOR_bm) != major)) {
        return MANYLANE_SM3_ERROR_DEVICE;
    }
    write_register(device, REGISTER(IRQ_ENABLE), 0);
    write_register(device, REGISTER(CTRL), device->control | SM3__CTRL__INIT_bm);
    return MANYLANE_SM3_OK;
}

manylane_sm3_status manylane_sm3_set_mode(manylane_sm3_device *device, manylane_sm3_mode mode)
{
    if ((device == NULL) || !hooks_suffice(device->platform, mode)) {
        return MANYLANE_SM3_ERROR_ARGUMENT;
    }
    device->mode = mode;
    return MANYLANE_SM3_OK;
}

void manylane_sm3_interrupt(manylane_sm3_device *device)
{
    write_register(device, REGISTER(IRQ_ENABLE), 0);
}
