#include "platform.h"

#include <stddef.h>

#define PLATFORM ((volatile uint32_t *)0x30000000u)
#define DMA ((volatile uint32_t *)0x30001000u)

enum { PRINT, EXIT, INPUT, PROFILE, CYCLES, SLEPT, WAITED };
enum { DMA_SOURCE, DMA_DESTINATION, DMA_BLOCKS, DMA_STATUS };

#define DMA_RUNNING 1u
#define DMA_ERROR 2u
#define MIE_EXTERNAL 0x800u
#define MSTATUS_MIE 8u

volatile uint32_t interrupts_taken;
manylane_sm3_device *handled_device;
static volatile uint32_t woken;

void exit_with(int code) __attribute__((noreturn));
void fault_handler(uint32_t cause, uint32_t address) __attribute__((noreturn));
void external_handler(void) __attribute__((interrupt("machine")));

/* Interrupts stay masked in mstatus: WFI goes on as soon as one is pending, and no handler runs. */
static int wait_masked(void *user)
{
    (void)user;
    __asm__ volatile("wfi" : : : "memory");
    return 0;
}

/* The handler sets `woken`, which an operating system would call a semaphore. */
static int wait_for_handler(void *user)
{
    (void)user;
    while (woken == 0) {
        __asm__ volatile("wfi" : : : "memory");
        __asm__ volatile("csrs mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
        __asm__ volatile("nop" : : : "memory");
        __asm__ volatile("csrc mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
    }
    woken = 0;
    return 0;
}

static int dma_start(void *user, volatile uint32_t *window, const void *source, size_t blocks)
{
    (void)user;
    DMA[DMA_STATUS] = 0;
    DMA[DMA_SOURCE] = (uint32_t)(uintptr_t)source;
    DMA[DMA_DESTINATION] = (uint32_t)(uintptr_t)window;
    DMA[DMA_BLOCKS] = (uint32_t)blocks;
    return 0;
}

static int dma_state(void *user)
{
    const uint32_t status = DMA[DMA_STATUS];

    (void)user;
    if ((status & DMA_RUNNING) != 0u) {
        return MANYLANE_SM3_DMA_RUNNING;
    }
    DMA[DMA_STATUS] = 0;
    return ((status & DMA_ERROR) != 0u) ? -1 : MANYLANE_SM3_DMA_DONE;
}

static void dma_stop(void *user)
{
    (void)user;
    DMA[DMA_BLOCKS] = 0;
    while ((DMA[DMA_STATUS] & DMA_RUNNING) != 0u) {
    }
    DMA[DMA_STATUS] = 0;
}

/* The controller writes in the cycle in which it sees the request; the first word is a cycle later. */
#define DMA_EARLY 1u

const manylane_sm3_platform platform = {
    .wait = wait_masked,
    .dma_start = dma_start,
    .dma_state = dma_state,
    .dma_stop = dma_stop,
    .dma_max_blocks = UINT32_MAX,
    .dma_min_blocks = 2,
    .dma_early = DMA_EARLY,
};

const manylane_sm3_platform platform_with_handler = {
    .wait = wait_for_handler,
    .dma_start = dma_start,
    .dma_state = dma_state,
    .dma_stop = dma_stop,
    .dma_max_blocks = 3,
    .dma_min_blocks = 1,
    .dma_early = 20,
};

void external_handler(void)
{
    interrupts_taken++;
    woken = 1;
    if (handled_device != NULL) {
        manylane_sm3_interrupt(handled_device);
    }
    DMA[DMA_STATUS] = 0;
}

void fault_handler(uint32_t cause, uint32_t address)
{
    print("fault ");
    print_number(cause);
    print(" at ");
    print_number(address);
    print("\n");
    exit_with(97);
}

void platform_start(void)
{
    __asm__ volatile("csrw mie, %0" : : "r"(MIE_EXTERNAL));
}

uint32_t cycles_now(void)
{
    return PLATFORM[CYCLES];
}

uint32_t cycles_slept(void)
{
    return PLATFORM[SLEPT];
}

uint32_t cycles_waited(void)
{
    return PLATFORM[WAITED];
}

void profile(int on)
{
    PLATFORM[PROFILE] = (uint32_t)on;
}

int read_byte(void)
{
    return (int)PLATFORM[INPUT];
}

void print(const char *text)
{
    while (*text != '\0') {
        PLATFORM[PRINT] = (uint8_t)*text;
        text++;
    }
}

void print_number(uint32_t number)
{
    char digits[11];
    char *next = &digits[10];

    *next = '\0';
    do {
        next--;
        *next = (char)('0' + number % 10u);
        number /= 10u;
    } while (number > 0u);
    print(next);
}

void print_hex(const uint8_t *bytes, uint32_t length)
{
    static const char digits[] = "0123456789abcdef";

    for (uint32_t i = 0; i < length; i++) {
        const char pair[3] = {digits[bytes[i] >> 4], digits[bytes[i] & 15u], '\0'};

        print(pair);
    }
}
