/*
 * The digests of many rows of a table at once, on all cores and, where that is faster, on GPUs.
 *
 *   hash_rows ROWS ROW_LENGTH
 *
 * Try:
 * $ "$EXAMPLE" 10000 1000
 * $ "$EXAMPLE" 3 0
 */
#include <manylane.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: hash_rows ROWS ROW_LENGTH\n");
    return 2;
  }
  size_t count = strtoul(argv[1], NULL, 10), len = strtoul(argv[2], NULL, 10);
  unsigned char *table = calloc(count, len > 0 ? len : 1), *digests = calloc(count, 32);
  manylane_engine *engine = NULL;
  int result = 1;
  if (table == NULL || digests == NULL) {
    fprintf(stderr, "hash_rows: not enough memory\n");
    goto end;
  }
  if (manylane_engine_new(&engine, "auto", 0) != MANYLANE_OK) {
    fprintf(stderr, "hash_rows: %s\n", manylane_last_error());
    goto end;
  }
  for (size_t i = 0; i < count && len > 0; i++)
    memcpy(table + i * len, &i, len < sizeof i ? len : sizeof i);

  manylane_messages rows = manylane_strided(table, count * len, len, len, count);
  if (manylane_hash_many(engine, "sm3", 0, &rows, digests, 32 * count) != MANYLANE_OK) {
    fprintf(stderr, "hash_rows: %s\n", manylane_last_error());
    goto end;
  }
  char why[4096];
  size_t why_len = sizeof why;
  if (manylane_engine_explain(engine, "sm3", why, &why_len) == MANYLANE_OK)
    puts(why);
  for (size_t i = 0; i < count && i < 3; i++)
    printf("row %zu: %02x%02x%02x%02x...\n", i, (unsigned)digests[32 * i], (unsigned)digests[32 * i + 1],
           (unsigned)digests[32 * i + 2], (unsigned)digests[32 * i + 3]);
  result = 0;
end:
  manylane_engine_free(engine);
  free(digests);
  free(table);
  return result;
}
