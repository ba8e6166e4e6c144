#include "model.h"

#include <string.h>

#include "model_io.h"
#include "sm3_regs.h"

enum { DONE = 1, READY = 2, ERROR = 4 };

/* From a block's last word to the end of its rounds, with one round a cycle. */
#define BLOCK_CYCLES 52u

/* Only its addresses are used. */
static uint32_t registers[sizeof(sm3_t) / sizeof(uint32_t)];
static model *selected;

static const uint32_t iv[8] = {0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600,
                               0xA96F30BC, 0x163138AA, 0xE38DEE4D, 0xB0FB0E4E};

static uint32_t rol(uint32_t x, unsigned n)
{
    n %= 32u;
    return (n == 0u) ? x : (x << n) | (x >> (32u - n));
}

static uint32_t reversed(uint32_t x)
{
    return (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24);
}

static uint32_t p0(uint32_t x)
{
    return x ^ rol(x, 9) ^ rol(x, 17);
}

static uint32_t p1(uint32_t x)
{
    return x ^ rol(x, 15) ^ rol(x, 23);
}

/* The standard's 5.3, letter by letter. */
static void compress(uint32_t V[8], const uint32_t B[16])
{
    uint32_t W[68], A = V[0], Bb = V[1], C = V[2], D = V[3], E = V[4], F = V[5], G = V[6], H = V[7];

    memcpy(W, B, 64);
    for (unsigned j = 16; j < 68; j++) {
        W[j] = p1(W[j - 16] ^ W[j - 9] ^ rol(W[j - 3], 15)) ^ rol(W[j - 13], 7) ^ W[j - 6];
    }
    for (unsigned j = 0; j < 64; j++) {
        const uint32_t T = (j < 16) ? 0x79CC4519u : 0x7A879D8Au;
        const uint32_t SS1 = rol(rol(A, 12) + E + rol(T, j), 7);
        const uint32_t SS2 = SS1 ^ rol(A, 12);
        const uint32_t FF = (j < 16) ? (A ^ Bb ^ C) : ((A & Bb) | (A & C) | (Bb & C));
        const uint32_t GG = (j < 16) ? (E ^ F ^ G) : ((E & F) | (~E & G));
        const uint32_t TT1 = FF + D + SS2 + (W[j] ^ W[j + 4]);
        const uint32_t TT2 = GG + H + SS1 + W[j];

        D = C;
        C = rol(Bb, 9);
        Bb = A;
        A = TT1;
        H = G;
        G = rol(F, 19);
        F = E;
        E = p0(TT2);
    }
    V[0] ^= A;
    V[1] ^= Bb;
    V[2] ^= C;
    V[3] ^= D;
    V[4] ^= E;
    V[5] ^= F;
    V[6] ^= G;
    V[7] ^= H;
}

static int compressing(const model *m)
{
    return m->now < m->end;
}

static int busy(const model *m)
{
    return compressing(m) || (m->count > 0u);
}

/* Room for the next word: in the last 16 cycles, or in the buffer once no block waits there. */
static int room(const model *m)
{
    const uint64_t early = m->buffered ? BLOCK_CYCLES / m->rounds : 16u;

    return m->now + early >= m->end;
}

static int ready(const model *m)
{
    return room(m) && (m->count == 0u);
}

static void advance(model *m, uint64_t cycles)
{
    for (uint64_t i = 0; i < cycles; i++) {
        if (!(m->stuck && compressing(m))) {
            m->now++;
        }
        if (m->was_busy && !busy(m)) {
            m->irq_status |= DONE;
        }
        if (!m->was_ready && ready(m)) {
            m->irq_status |= READY;
        }
        m->was_busy = busy(m);
        m->was_ready = ready(m);
    }
}

static void initialise(model *m)
{
    memcpy(m->v, iv, sizeof iv);
    m->count = 0;
    m->end = m->now;
    m->initialisations++;
}

static void take_word(model *m, uint32_t word)
{
    while (!room(m) && !m->stuck) {
        m->stalls++;
        advance(m, 1);
    }
    word = m->reversing_bus ? reversed(word) : word;
    m->words[m->count] = (m->control & SM3__CTRL__SWAP_IN_bm) ? reversed(word) : word;
    m->count++;
    if (m->count == 16u) {
        const uint64_t begin = compressing(m) ? m->end : m->now;

        compress(m->v, m->words);
        m->count = 0;
        m->end = begin + BLOCK_CYCLES / m->rounds;
    }
}

static void refuse(model *m)
{
    m->errors++;
    m->irq_status |= ERROR;
}

static uint32_t digest_order(const model *m, uint32_t word)
{
    const int swaps = ((m->control & SM3__CTRL__SWAP_OUT_bm) != 0u) != (m->reversing_bus != 0);

    return swaps ? reversed(word) : word;
}

static void count_access(model *m)
{
    m->accesses++;
    advance(m, m->access_time);
    if (m->accesses == m->error_at) {
        refuse(m);
    }
}

uint32_t manylane_sm3_read(const volatile uint32_t *address)
{
    model *m = selected;
    const size_t offset = (size_t)(address - registers) * sizeof(uint32_t);

    count_access(m);
    switch (offset) {
    case offsetof(sm3_t, ID): return m->id;
    case offsetof(sm3_t, VERSION):
        return (m->major << SM3__VERSION__MAJOR_bp) | (m->rounds << SM3__VERSION__ROUNDS_bp) |
               (m->buffered ? SM3__VERSION__BUFFERED_bm : 0u);
    case offsetof(sm3_t, CTRL): return m->control;
    case offsetof(sm3_t, STATUS):
        return (ready(m) ? SM3__STATUS__READY_bm : 0u) | (busy(m) ? SM3__STATUS__BUSY_bm : 0u) |
               (m->count << SM3__STATUS__COUNT_bp);
    case offsetof(sm3_t, IRQ_ENABLE): return m->irq_enable;
    case offsetof(sm3_t, IRQ_STATUS): return m->irq_status;
    default: break;
    }
    if ((offset >= offsetof(sm3_t, DIGEST)) && (offset < sizeof(sm3_t)) && !busy(m)) {
        return digest_order(m, m->v[(offset - offsetof(sm3_t, DIGEST)) / sizeof(uint32_t)]);
    }
    refuse(m);
    return 0;
}

void manylane_sm3_write(volatile uint32_t *address, uint32_t value)
{
    model *m = selected;
    const size_t offset = (size_t)(address - registers) * sizeof(uint32_t);

    count_access(m);
    if (offset == offsetof(sm3_t, CTRL)) {
        m->control = value & ~(uint32_t)SM3__CTRL__INIT_bm;
        if ((value & SM3__CTRL__INIT_bm) != 0u) {
            initialise(m);
        }
    } else if (offset == offsetof(sm3_t, IRQ_ENABLE)) {
        m->irq_enable = value;
    } else if (offset == offsetof(sm3_t, IRQ_STATUS)) {
        m->irq_status &= ~value;
    } else if ((offset >= offsetof(sm3_t, DIN)) && (offset < offsetof(sm3_t, DIGEST))) {
        m->mixed += (m->control & SM3__CTRL__DMA_ENABLE_bm) != 0u;
        take_word(m, value);
    } else if ((offset >= offsetof(sm3_t, DIGEST)) && (offset < sizeof(sm3_t)) && !busy(m)) {
        m->v[(offset - offsetof(sm3_t, DIGEST)) / sizeof(uint32_t)] = digest_order(m, value);
    } else {
        refuse(m);
    }
    m->was_busy = busy(m);
    m->was_ready = ready(m);
}

int model_irq(const model *m)
{
    return (m->irq_enable & m->irq_status) != 0u;
}

/* One block of the transfer, if one is asked for. */
static void dma_step(model *m)
{
    uint32_t word;

    if (((m->control & SM3__CTRL__DMA_ENABLE_bm) == 0u) || m->dma_hangs) {
        return;
    }
    while (!ready(m) && !m->stuck) {
        advance(m, 1);
    }
    for (size_t i = 0; i < 16u; i++) {
        memcpy(&word, m->dma_source, sizeof word);
        m->dma_source += sizeof word;
        take_word(m, word);
        advance(m, 1);
    }
    m->dma_blocks++;
    m->dma_left--;
}

static int wait_hook(void *user)
{
    model *m = user;

    m->waits++;
    if (m->wait_gives_up) {
        return 1;
    }
    if (m->dma_left > 0u) {
        dma_step(m);
        return 0;
    }
    for (unsigned i = 0; (i < 1000u) && !model_irq(m); i++) {
        advance(m, 1);
    }
    if (!model_irq(m)) {
        m->idle_waits++;
    }
    return 0;
}

static int dma_start_hook(void *user, volatile uint32_t *window, const void *source, size_t blocks)
{
    model *m = user;

    if (m->dma_refuses || (((uintptr_t)source % 4u) != 0u) ||
        ((size_t)(window - registers) != offsetof(sm3_t, DIN) / sizeof(uint32_t))) {
        return 1;
    }
    m->dma_source = source;
    m->dma_left = blocks;
    return 0;
}

static int dma_state_hook(void *user)
{
    model *m = user;

    if ((m->dma_left > 0u) && (m->dma_blocks >= m->dma_fails_after)) {
        return -1;
    }
    if (m->dma_left > 0u) {
        dma_step(m);
    }
    return (m->dma_left > 0u) ? MANYLANE_SM3_DMA_RUNNING : MANYLANE_SM3_DMA_DONE;
}

static void dma_stop_hook(void *user)
{
    model *m = user;

    m->dma_left = 0;
    m->dma_stops++;
}

manylane_sm3_platform model_platform(model *m)
{
    const manylane_sm3_platform platform = {
        .wait = wait_hook,
        .dma_start = dma_start_hook,
        .dma_state = dma_state_hook,
        .dma_stop = dma_stop_hook,
        .user = m,
        .dma_max_blocks = 3,
        .dma_min_blocks = 1,
        .dma_early = 5,
    };

    return platform;
}

void model_reset(model *m, uint32_t rounds, int buffered)
{
    memset(m, 0, sizeof *m);
    m->rounds = rounds;
    m->buffered = buffered;
    m->access_time = 2;
    m->id = SM3__ID__VALUE_reset;
    m->major = SM3__VERSION__MAJOR_reset;
    m->dma_fails_after = SIZE_MAX;
    memcpy(m->v, iv, sizeof iv);
    m->was_ready = 1;
}

void model_select(model *m)
{
    selected = m;
}

volatile uint32_t *model_registers(void)
{
    return registers;
}

int model_is_clean(const model *m)
{
    return !busy(m) && (memcmp(m->v, iv, sizeof iv) == 0);
}
