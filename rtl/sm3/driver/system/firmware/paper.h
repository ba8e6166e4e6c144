/* The paper's interface: words in, words out, padding by software. */
#ifndef PAPER_H
#define PAPER_H

#include <stddef.h>
#include <stdint.h>

/* `data` is aligned to 4. */
void paper_digest(const uint8_t *data, size_t length, uint8_t digest[32]);

#endif
