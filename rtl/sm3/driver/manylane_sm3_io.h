/*
 * Access to a register of the core: one transfer of 32 bits, in program order. A port whose bus needs more
 * than a volatile access (barriers, an I/O space of its own) names its own header with
 * -DMANYLANE_SM3_IO_HEADER='"file.h"', which defines the same two functions.
 */
#ifndef MANYLANE_SM3_IO_H
#define MANYLANE_SM3_IO_H

#include <stdint.h>

#ifdef MANYLANE_SM3_IO_HEADER
#include MANYLANE_SM3_IO_HEADER
#else

static inline uint32_t manylane_sm3_read(const volatile uint32_t *address)
{
    return *address;
}

static inline void manylane_sm3_write(volatile uint32_t *address, uint32_t value)
{
    *address = value;
}

#endif

#endif
