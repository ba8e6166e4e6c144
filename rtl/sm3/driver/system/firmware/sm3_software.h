/* SM3 by the processor alone: what the core is compared with. */
#ifndef SM3_SOFTWARE_H
#define SM3_SOFTWARE_H

#include <stddef.h>
#include <stdint.h>

/* The same source compiled for the base instructions, and with rotations (Zbb). */
void sm3_software_digest(const uint8_t *data, size_t length, uint8_t digest[32]);
void sm3_software_zbb_digest(const uint8_t *data, size_t length, uint8_t digest[32]);

#endif
