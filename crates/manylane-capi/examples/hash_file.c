/*
 * The digest of a file, as sha256sum has it, with any hash function of the library's.
 *
 *   hash_file sm3 FILE
 *
 * Try:
 * $ printf abc > message
 * $ "$EXAMPLE" sm3 message | grep '^66c7f0f462eeedd9d1f2d46bdc10e4e2'
 * $ "$EXAMPLE" sha3-256 message | grep '^3a985da74fe225b2045c172d6bd390bd'
 * $ ! "$EXAMPLE" md5 message
 * $ ! "$EXAMPLE" sm3 no-such-file
 */
#include <manylane.h>

#include <stdio.h>

static int hash_stream(manylane_hash *hash, FILE *file) {
  static unsigned char buffer[1 << 16];
  size_t len;
  int status = MANYLANE_OK;
  while (status == MANYLANE_OK && (len = fread(buffer, 1, sizeof buffer, file)) > 0)
    status = manylane_hash_update(hash, buffer, len);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: hash_file ALGORITHM FILE\n");
    return 2;
  }
  manylane_hash *hash;
  if (manylane_hash_new(&hash, argv[1], 0) != MANYLANE_OK) {
    fprintf(stderr, "hash_file: %s\n", manylane_last_error());
    return 2;
  }
  int result = 1;
  FILE *file = fopen(argv[2], "rb");
  if (file == NULL) {
    perror(argv[2]);
  } else {
    unsigned char digest[MANYLANE_MAX_DIGEST_LEN];
    size_t len = sizeof digest;
    int status = hash_stream(hash, file);
    if (status == MANYLANE_OK)
      status = manylane_hash_finish(hash, digest, &len);
    if (status != MANYLANE_OK) {
      fprintf(stderr, "hash_file: %s\n", manylane_last_error());
    } else if (ferror(file)) {
      perror(argv[2]);
    } else {
      for (size_t i = 0; i < len; i++)
        printf("%02x", (unsigned)digest[i]);
      printf("  %s\n", argv[2]);
      result = 0;
    }
    fclose(file);
  }
  manylane_hash_free(hash);
  return result;
}
