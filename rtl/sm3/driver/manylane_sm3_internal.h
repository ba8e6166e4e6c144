/* Shared by the driver's own files. */
#ifndef MANYLANE_SM3_INTERNAL_H
#define MANYLANE_SM3_INTERNAL_H

#include "manylane_sm3.h"

/* A context or a key that holds something: neither zeros nor what memory is likely to hold by chance. */
#define MANYLANE_SM3_PHASE_OPEN 0x534D334Fu

/* Words of memory that were not necessarily written as words. */
#if defined(__GNUC__)
typedef uint32_t __attribute__((__may_alias__)) manylane_sm3_word;
#else
typedef uint32_t manylane_sm3_word;
#endif

/* Zeros that the compiler does not remove. `memory` and `length`, in bytes, are multiples of 4. */
void manylane_sm3_erase(void *memory, size_t length);

static inline int manylane_sm3_is_aligned(const uint8_t *data)
{
    return ((uintptr_t)data % sizeof(uint32_t)) == 0u;
}

/* Takes the core for a message: with that chaining value, or from the start if it is NULL. */
void manylane_sm3_core_load(const manylane_sm3_device *device, const uint32_t *chaining);

/* Whole blocks: in the device's mode, or in every mode by the processor. */
manylane_sm3_status manylane_sm3_core_move(const manylane_sm3_device *device, const uint8_t *data, size_t blocks);
manylane_sm3_status manylane_sm3_core_write(const manylane_sm3_device *device, const uint8_t *data, size_t blocks);

/* The end of a message: `count` words (1 to 16), zeros, and the length. Zeros are not stored anywhere. */
manylane_sm3_status manylane_sm3_core_end(const manylane_sm3_device *device, const uint32_t *words, size_t count,
                                          const uint32_t length[2]);

/* If all went well so far, waits for the last block and reads the chaining value to `chaining` (aligned to 4).
 * Leaves nothing of it in the core in any case. */
manylane_sm3_status manylane_sm3_core_unload(const manylane_sm3_device *device, manylane_sm3_word *chaining,
                                             manylane_sm3_status so_far);

#endif
