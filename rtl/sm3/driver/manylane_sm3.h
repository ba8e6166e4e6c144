/*
 * SM3 (GB/T 32905-2016) and HMAC-SM3 on the manylane SM3 core (sm3_ahb).
 *
 * Bare metal, C99, no allocation, no C library. The whole state of a message is in
 * its context, so any number of messages may take turns on one core. Between calls the core holds nothing
 * of any message that software can read.
 *
 * Lengths are in bytes. Data may be anywhere in memory, at any alignment; aligned to 4 it goes in fastest.
 *
 * One call at a time: calls with the same device must not overlap. Where threads share a core, hold a lock
 * around each call, not around each message. A context belongs to one thread at a time.
 */
#ifndef MANYLANE_SM3_H
#define MANYLANE_SM3_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a digest and of an HMAC tag. */
#define MANYLANE_SM3_DIGEST_LENGTH 32u
/* Bytes of a block. */
#define MANYLANE_SM3_BLOCK_LENGTH 64u

typedef enum {
    MANYLANE_SM3_OK = 0,
    /* A null pointer, a length out of range, or a mode whose hooks are missing. Nothing was changed. */
    MANYLANE_SM3_ERROR_ARGUMENT = 1,
    /* The context was not initialised, is finished, or met an error before: initialise it again. */
    MANYLANE_SM3_ERROR_STATE = 2,
    /* The message would be longer than 2^61 - 1 bytes. Nothing was changed. */
    MANYLANE_SM3_ERROR_LENGTH = 3,
    /* ID or the major version is not what this driver was written for. */
    MANYLANE_SM3_ERROR_DEVICE = 4,
    /* The core did not become ready in the time that its rounds can take, or the wait hook gave up. */
    MANYLANE_SM3_ERROR_TIMEOUT = 5,
    /* The core gave an ERROR response: somebody else wrote to it, or the bus is not what it should be. */
    MANYLANE_SM3_ERROR_BUS = 6,
    /* The DMA hooks reported a failure. */
    MANYLANE_SM3_ERROR_DMA = 7,
    /* The tag is not the message's. */
    MANYLANE_SM3_ERROR_TAG = 8
} manylane_sm3_status;

typedef enum {
    /* Words are written as they come and the bus waits for room (HREADYOUT): the fewest instructions, but
     * other masters of the same bus layer wait up to a block's rounds too. */
    MANYLANE_SM3_MODE_STALL = 0,
    /* STATUS is polled before each block; the bus never waits. */
    MANYLANE_SM3_MODE_POLL = 1,
    /* As polled, but the processor sleeps in the wait hook until the core's interrupt. */
    MANYLANE_SM3_MODE_INTERRUPT = 2,
    /* Whole blocks at addresses aligned to 4 go by DMA; what is left goes as with MODE_POLL, or as with
     * MODE_INTERRUPT where there is a wait hook. */
    MANYLANE_SM3_MODE_DMA = 3
} manylane_sm3_mode;

/* What the DMA hook `dma_state` returns; anything else is a failure. */
#define MANYLANE_SM3_DMA_DONE 0
#define MANYLANE_SM3_DMA_RUNNING 1

/* The platform's hooks. Each gets `user`. A hook must not call this driver with the same device, save that
 * an interrupt handler calls manylane_sm3_interrupt. */
typedef struct {
    /* Waits until the core's IRQ, or the end or failure of the DMA transfer, is pending; may return early.
     * IRQ is a level: if it is high already, it returns at once. 0: woken; anything else: gave up. */
    int (*wait)(void *user);
    /* Starts the transfer of `blocks` blocks of 16 words from `source` to the 16 words at `window`, a burst
     * of 16 for each rise of DMA_REQ. The hook does what the caches need. 0: started. */
    int (*dma_start)(void *user, volatile uint32_t *window, const void *source, size_t blocks);
    /* Whether the transfer runs: MANYLANE_SM3_DMA_RUNNING, MANYLANE_SM3_DMA_DONE, else it failed. */
    int (*dma_state)(void *user);
    /* After a failure: returns once the controller neither reads `source` nor writes to the window. */
    void (*dma_stop)(void *user);
    void *user;
    /* The most blocks of a transfer. */
    size_t dma_max_blocks;
    /* Fewer blocks than this are written by the processor. */
    size_t dma_min_blocks;
    /* Cycles from the rise of DMA_REQ to the controller's first transfer, 0 to 255 (CTRL.DMA_EARLY). */
    uint8_t dma_early;
} manylane_sm3_platform;

/* One core. Its fields are the driver's. */
typedef struct {
    volatile uint32_t *registers;
    const manylane_sm3_platform *platform;
    manylane_sm3_mode mode;
    uint32_t control;
} manylane_sm3_device;

/* A message on its way. Its fields are the driver's; a copy of the whole is a copy of the state. */
typedef struct {
    uint64_t length;
    uint32_t chaining[8];
    uint32_t block[16];
    uint32_t phase;
} manylane_sm3_context;

/* A key made ready for HMAC: as secret as the key. */
typedef struct {
    uint32_t inner[8];
    uint32_t outer[8];
    uint32_t phase;
} manylane_sm3_hmac_key;

/* An authenticated message on its way. */
typedef struct {
    manylane_sm3_context inner;
    uint32_t outer[8];
} manylane_sm3_hmac_context;

/* Finds the core whose registers begin at `registers`, checks ID and VERSION, disables its interrupts and
 * sets the order of bytes. `platform` may be NULL for MODE_STALL and MODE_POLL; it must outlive the device. */
manylane_sm3_status manylane_sm3_open(manylane_sm3_device *device, volatile uint32_t *registers,
                                      const manylane_sm3_platform *platform, manylane_sm3_mode mode);

/* Another mode, between calls. */
manylane_sm3_status manylane_sm3_set_mode(manylane_sm3_device *device, manylane_sm3_mode mode);

/* For the interrupt handler of systems that take the interrupt: lowers IRQ until the driver, woken, looks
 * itself. Systems that sleep with interrupts masked (RISC-V: WFI with mstatus.MIE = 0) do not need it. */
void manylane_sm3_interrupt(manylane_sm3_device *device);

/* The digest of `length` bytes at `data`, in one call. */
manylane_sm3_status manylane_sm3_digest(manylane_sm3_device *device, const void *data, size_t length,
                                        uint8_t digest[MANYLANE_SM3_DIGEST_LENGTH]);

/* Begins a message. The core is not touched. */
manylane_sm3_status manylane_sm3_init(manylane_sm3_context *context);

/* The next `length` bytes; `data` may be NULL if that is 0. Blocks that became whole are compressed, and the
 * chaining value is saved in the context. After an error other than ARGUMENT, LENGTH the context is wiped. */
manylane_sm3_status manylane_sm3_update(manylane_sm3_device *device, manylane_sm3_context *context,
                                        const void *data, size_t length);

/* Pads, compresses what is left, writes the digest and wipes the context. After an error nothing is written. */
manylane_sm3_status manylane_sm3_final(manylane_sm3_device *device, manylane_sm3_context *context,
                                       uint8_t digest[MANYLANE_SM3_DIGEST_LENGTH]);

/* Drops a message: the context holds nothing of it any more. */
void manylane_sm3_wipe(manylane_sm3_context *context);

/* Makes a key ready (2 blocks, more for keys over 64 bytes). It serves any number of messages. */
manylane_sm3_status manylane_sm3_hmac_set_key(manylane_sm3_device *device, manylane_sm3_hmac_key *key,
                                              const void *bytes, size_t length);
void manylane_sm3_hmac_wipe_key(manylane_sm3_hmac_key *key);

/* As for digests: init, update, final; the tag has 32 bytes. */
manylane_sm3_status manylane_sm3_hmac_init(manylane_sm3_hmac_context *context,
                                           const manylane_sm3_hmac_key *key);
manylane_sm3_status manylane_sm3_hmac_update(manylane_sm3_device *device, manylane_sm3_hmac_context *context,
                                             const void *data, size_t length);
manylane_sm3_status manylane_sm3_hmac_final(manylane_sm3_device *device, manylane_sm3_hmac_context *context,
                                            uint8_t tag[MANYLANE_SM3_DIGEST_LENGTH]);

/* In place of final: compares with the first `length` (16 to 32) bytes of a tag received, in a time that does
 * not depend on where they differ. OK, or ERROR_TAG. */
manylane_sm3_status manylane_sm3_hmac_verify(manylane_sm3_device *device, manylane_sm3_hmac_context *context,
                                             const uint8_t *tag, size_t length);
void manylane_sm3_hmac_wipe(manylane_sm3_hmac_context *context);

#ifdef __cplusplus
}
#endif

#endif
