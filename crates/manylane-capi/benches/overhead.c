/*
 * What calls from C cost: the same work as overhead.rs does in Rust. Prints seconds, each the median of several runs, as JSON.
 */
#include <manylane.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 100000, ROW = 1024, PIECE = 64 << 10, PIECES = 400, SMALL = 200000, RUNS = 15 };

static uint8_t *rows, *digests;
static manylane_hash *hash;
static manylane_engine *engine;
static int failed;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void many(void) {
  manylane_messages all = manylane_strided(rows, (size_t)ROWS * ROW, ROW, ROW, ROWS);
  failed |= manylane_hash_many(NULL, "sm3", 0, &all, digests, (size_t)ROWS * 32);
}

static void many_on_all(void) {
  manylane_messages all = manylane_strided(rows, (size_t)ROWS * ROW, ROW, ROW, ROWS);
  failed |= manylane_hash_many(engine, "sm3", 0, &all, digests, (size_t)ROWS * 32);
}

static void update(void) {
  for (size_t i = 0; i < PIECES; i++)
    failed |= manylane_hash_update(hash, rows + i * PIECE, PIECE);
}

/* One block at a time: nearly nothing but calls. */
static void small(void) {
  for (size_t i = 0; i < SMALL; i++)
    failed |= manylane_hash_update(hash, rows, 64);
}

static void report(const char *name, void (*work)(void), const char *end) {
  double runs[RUNS];
  work();
  for (int i = 0; i < RUNS; i++) {
    double start = now();
    work();
    runs[i] = now() - start;
  }
  qsort(runs, RUNS, sizeof *runs, by_value);
  printf("\"%s\": %.9f%s", name, runs[RUNS / 2], end);
}

int main(void) {
  rows = malloc((size_t)ROWS * ROW);
  digests = malloc((size_t)ROWS * 32);
  if (rows == NULL || digests == NULL || manylane_hash_new(&hash, "sm3", 0) != MANYLANE_OK ||
      manylane_engine_new(&engine, "cpu", 0) != MANYLANE_OK)
    return 1;
  memset(rows, 7, (size_t)ROWS * ROW);
  printf("{");
  report("hash_many, 100000 rows of 1 KiB, one thread", many, ", ");
  report("hash_many, 100000 rows of 1 KiB, all cores", many_on_all, ", ");
  report("400 updates of 64 KiB", update, ", ");
  report("200000 updates of 64 bytes", small, "");
  printf("}\n");
  manylane_engine_free(engine);
  manylane_hash_free(hash);
  free(digests);
  free(rows);
  return failed != 0;
}
