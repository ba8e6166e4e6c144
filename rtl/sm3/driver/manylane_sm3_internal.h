/* Shared by the driver's own files. */
#ifndef MANYLANE_SM3_INTERNAL_H
#define MANYLANE_SM3_INTERNAL_H

#include "manylane_sm3.h"

/* A context or a key that holds something: neither zeros nor what memory is likely to hold by chance. */
#define MANYLANE_SM3_PHASE_OPEN 0x534D334Fu

/* Zeros that the compiler does not remove. */
void manylane_sm3_erase(void *memory, size_t length);

#endif
