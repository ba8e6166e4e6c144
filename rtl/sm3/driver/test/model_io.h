/* The driver's register accesses, to the model. */
#include <stdint.h>

uint32_t manylane_sm3_read(const volatile uint32_t *address);
void manylane_sm3_write(volatile uint32_t *address, uint32_t value);
