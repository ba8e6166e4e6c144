/*
 * A file encrypted with SM4-GCM, in bounded memory: nonce, ciphertext, tag.
 *
 *   sm4_gcm_file encrypt KEY_FILE IN OUT
 *   sm4_gcm_file decrypt KEY_FILE IN OUT
 *
 * The key file has 16 bytes. One key must not encrypt more than 2^32 files, for their nonces are random.
 * A file is decrypted only if its tag is right. What is written has another name until it is whole.
 *
 * Try:
 * $ head -c 16 /dev/urandom > key
 * $ head -c 1000003 /dev/urandom > plain
 * $ "$EXAMPLE" encrypt key plain sealed
 * $ "$EXAMPLE" decrypt key sealed opened
 * $ cmp plain opened
 * $ rm opened; printf x >> sealed
 * $ ! "$EXAMPLE" decrypt key sealed opened
 * $ test ! -e opened && test ! -e opened.unfinished
 * $ echo mine > opened.unfinished
 * $ ! "$EXAMPLE" encrypt key plain opened
 * $ test "$(cat opened.unfinished)" = mine
 */
#include <manylane.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NONCE = 12, TAG = 16, PIECE = 1 << 16 };

static unsigned char buffer[PIECE + TAG];

static int encrypt(const manylane_aead *key, FILE *in, FILE *out) {
  unsigned char nonce[NONCE], tag[TAG];
  manylane_gcm_stream *stream = NULL;
  int status = manylane_random(nonce, NONCE);
  if (status == MANYLANE_OK)
    status = manylane_gcm_stream_new(&stream, key, MANYLANE_ENCRYPT, nonce, NONCE, NULL, 0);
  if (status == MANYLANE_OK && fwrite(nonce, 1, NONCE, out) != NONCE)
    status = MANYLANE_ERROR_IO;
  size_t len;
  while (status == MANYLANE_OK && (len = fread(buffer, 1, PIECE, in)) > 0) {
    status = manylane_gcm_stream_update(stream, buffer, len, buffer);
    if (status == MANYLANE_OK && fwrite(buffer, 1, len, out) != len)
      status = MANYLANE_ERROR_IO;
  }
  if (status == MANYLANE_OK)
    status = manylane_gcm_stream_tag(stream, tag, TAG);
  if (status == MANYLANE_OK && fwrite(tag, 1, TAG, out) != TAG)
    status = MANYLANE_ERROR_IO;
  manylane_gcm_stream_free(stream);
  return status;
}

/* Goes over a ciphertext: without `out` to verify it, and then to decrypt it. */
static int pass(const manylane_aead *key, FILE *in, FILE *out) {
  unsigned char nonce[NONCE];
  rewind(in);
  if (fread(nonce, 1, NONCE, in) != NONCE)
    return MANYLANE_ERROR_DECRYPTION;
  manylane_gcm_stream *stream = NULL;
  int direction = out == NULL ? MANYLANE_VERIFY : MANYLANE_DECRYPT;
  int status = manylane_gcm_stream_new(&stream, key, direction, nonce, NONCE, NULL, 0);
  /* The last bytes are the tag, so as many are kept back. */
  size_t held = fread(buffer, 1, TAG, in), len = 0;
  while (status == MANYLANE_OK && held == TAG && (len = fread(buffer + TAG, 1, PIECE, in)) > 0) {
    status = manylane_gcm_stream_update(stream, buffer, len, out == NULL ? NULL : buffer);
    if (status == MANYLANE_OK && out != NULL && fwrite(buffer, 1, len, out) != len)
      status = MANYLANE_ERROR_IO;
    memmove(buffer, buffer + len, TAG);
  }
  if (status == MANYLANE_OK)
    status = ferror(in) ? MANYLANE_ERROR_IO : manylane_gcm_stream_verify(stream, buffer, held);
  manylane_gcm_stream_free(stream);
  return status;
}

/* Plaintext is not to be written before it is known to be the message, so the file is read twice. That it is the same
 * both times is found by the second pass, which verifies too. */
static int decrypt(const manylane_aead *key, FILE *in, FILE *out) {
  int status = pass(key, in, NULL);
  return status == MANYLANE_OK ? pass(key, in, out) : status;
}

/* A new file for its owner alone, under no name that others could have prepared. */
static FILE *create(const char *path) {
  int number = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  FILE *file = number < 0 ? NULL : fdopen(number, "wb");
  if (number >= 0 && file == NULL)
    close(number);
  return file;
}

int main(int argc, char **argv) {
  int encrypts = argc == 5 && strcmp(argv[1], "encrypt") == 0;
  if (!encrypts && (argc != 5 || strcmp(argv[1], "decrypt") != 0)) {
    fprintf(stderr, "usage: sm4_gcm_file encrypt|decrypt KEY_FILE IN OUT\n");
    return 2;
  }
  unsigned char bytes[17] = {0};
  FILE *key_file = fopen(argv[2], "rb"), *in = fopen(argv[3], "rb");
  char unfinished[4096];
  int named = snprintf(unfinished, sizeof unfinished, "%s.unfinished", argv[4]);
  FILE *out = named > 0 && (size_t)named < sizeof unfinished ? create(unfinished) : NULL;
  manylane_aead *key = NULL;
  int status = MANYLANE_ERROR_IO;
  if (key_file != NULL && in != NULL && out != NULL) {
    setvbuf(key_file, NULL, _IONBF, 0); /* no copy of the key in a buffer */
    size_t len = fread(bytes, 1, sizeof bytes, key_file);
    status = manylane_aead_new(&key, "sm4-gcm", bytes, len, TAG);
    manylane_wipe(bytes, sizeof bytes);
  }
  if (status == MANYLANE_OK)
    status = encrypts ? encrypt(key, in, out) : decrypt(key, in, out);
  manylane_aead_free(key);
  if (status == MANYLANE_OK && ferror(in))
    status = MANYLANE_ERROR_IO;
  if (key_file != NULL)
    fclose(key_file);
  if (in != NULL)
    fclose(in);
  if (out != NULL && fclose(out) != 0)
    status = MANYLANE_ERROR_IO;
  if (status == MANYLANE_OK && rename(unfinished, argv[4]) != 0)
    status = MANYLANE_ERROR_IO;
  manylane_wipe(buffer, sizeof buffer);
  if (status != MANYLANE_OK) {
    if (out != NULL)
      remove(unfinished);
    fprintf(stderr, "sm4_gcm_file: %s\n", manylane_error_text(status));
  }
  return status == MANYLANE_OK ? 0 : 1;
}
