/* The system's registers, and the driver's hooks for it. */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <stdint.h>

#include "manylane_sm3.h"

#define SM3_REGISTERS ((volatile uint32_t *)0x20000000u)
#define PAPER_REGISTERS ((volatile uint32_t *)0x20001000u)

/* The hooks, for every mode. */
extern const manylane_sm3_platform platform;
/* The same, with a handler that takes the interrupt, as under an operating system. */
extern const manylane_sm3_platform platform_with_handler;
/* Interrupts that the handler took. */
extern volatile uint32_t interrupts_taken;
/* The device whose interrupt the handler lowers. */
extern manylane_sm3_device *handled_device;

void platform_start(void);
uint32_t cycles_now(void);
uint32_t cycles_slept(void);
uint32_t cycles_waited(void);
void profile(int on);
/* The next byte of the input, or -1. */
int read_byte(void);
void print(const char *text);
void print_number(uint32_t number);
void print_hex(const uint8_t *bytes, uint32_t length);

#endif
