/* The register block of sm3_ahb as a model in C, with time, ERROR responses, and faults to order. */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "manylane_sm3.h"

typedef struct {
    /* Parameters. */
    uint32_t rounds;      /* a cycle: 1 or 2 */
    int buffered;
    int reversing_bus;    /* a bridge, or a big-endian processor, that reverses the bytes of words */
    uint64_t access_time; /* cycles from one access to the next */
    /* Faults. */
    int stuck;              /* a block never ends */
    uint32_t id;
    uint32_t major;
    uint64_t error_at;      /* an ERROR response to somebody else at that access, counted from 1 */
    int wait_gives_up;
    size_t dma_fails_after; /* blocks, counted over all transfers; SIZE_MAX: never */
    int dma_refuses;
    int dma_hangs;
    /* What was seen. */
    uint64_t accesses;
    uint64_t errors;
    uint64_t stalls;
    uint64_t waits;
    uint64_t idle_waits; /* the wait hook was called although nothing was to come */
    uint64_t mixed; /* words by the processor while DMA was asked for */
    uint64_t dma_blocks;
    uint64_t dma_stops;
    uint64_t initialisations;
    /* State. */
    uint64_t now;
    uint64_t end; /* of the block being compressed */
    uint32_t v[8];
    uint32_t words[16];
    uint32_t count;
    uint32_t control;
    uint32_t irq_enable;
    uint32_t irq_status;
    int was_busy;
    int was_ready;
    const uint8_t *dma_source;
    size_t dma_left;
} model;

/* Reset, with those parameters and no faults. */
void model_reset(model *m, uint32_t rounds, int buffered);
/* Whose registers manylane_sm3_read and _write meet. */
void model_select(model *m);
/* The address to open. */
volatile uint32_t *model_registers(void);
/* Hooks. `user` is the model. */
manylane_sm3_platform model_platform(model *m);
int model_irq(const model *m);
/* Whether V is IV and nothing is loaded: that nothing of a message is left to read. */
int model_is_clean(const model *m);

#endif
