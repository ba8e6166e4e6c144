/* Shared by the driver's own files. */
#ifndef MANYLANE_SM3_INTERNAL_H
#define MANYLANE_SM3_INTERNAL_H

#include "manylane_sm3.h"

/* A context or a key that holds something: neither zeros nor what memory is likely to hold by chance. */
#define MANYLANE_SM3_PHASE_OPEN 0x534D334Fu

/* Words of memory that were not necessarily written as words. */
#if defined(__GNUC__)
typedef uint32_t __attribute__((__may_alias__)) message_word;
#else
typedef uint32_t message_word;
#endif

/* Zeros that the compiler does not remove. `memory` and `length`, in bytes, are multiples of 4. */
void manylane_sm3_erase(void *memory, size_t length);

#endif
