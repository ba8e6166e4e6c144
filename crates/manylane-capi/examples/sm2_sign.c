/*
 * Keys and signatures of SM2, in files that OpenSSL, GmSSL and the command `manylane` read too.
 *
 *   sm2_sign keygen KEY PUBLIC
 *   sm2_sign sign KEY FILE SIGNATURE
 *   sm2_sign verify PUBLIC FILE SIGNATURE
 *
 * Try:
 * $ "$EXAMPLE" keygen key.pem public.pem
 * $ "$EXAMPLE" sign key.pem "$SOURCE" signature
 * $ "$EXAMPLE" verify public.pem "$SOURCE" signature
 * $ openssl dgst -sm3 -verify public.pem -sigopt distid:1234567812345678 -signature signature "$SOURCE"
 * $ openssl dgst -sm3 -sign key.pem -sigopt distid:1234567812345678 -out signature "$SOURCE"
 * $ "$EXAMPLE" verify public.pem "$SOURCE" signature
 * $ ! "$EXAMPLE" verify public.pem key.pem signature
 * $ ! "$EXAMPLE" sign key.pem . of_nothing
 * $ test ! -e of_nothing
 * $ test "$(stat -c %a key.pem)" = 600
 * $ ! "$EXAMPLE" keygen key.pem public.pem
 */
#include <manylane.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Gives back memory that may hold a key. */
static void wipe_and_free(unsigned char *data, size_t len) {
  if (data != NULL)
    manylane_wipe(data, len);
  free(data);
}

/* A file as a whole, to be given back by wipe_and_free(). Null if it cannot be read to its end. */
static unsigned char *read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  size_t room = 4096;
  unsigned char *data = file != NULL ? malloc(room) : NULL;
  *len = 0;
  if (data != NULL)
    setvbuf(file, NULL, _IONBF, 0); /* no copy of a key in a buffer */
  while (data != NULL) {
    *len += fread(data + *len, 1, room - *len, file);
    if (*len < room)
      break;
    /* Not realloc(), which would leave a copy. */
    unsigned char *more = malloc(2 * room);
    if (more != NULL)
      memcpy(more, data, room);
    wipe_and_free(data, room);
    data = more;
    room *= 2;
  }
  /* What could not be read must not be taken for the end. */
  if (data != NULL && ferror(file)) {
    wipe_and_free(data, room);
    data = NULL;
  }
  if (file != NULL)
    fclose(file);
  return data;
}

/* Writes a file; a secret one for its owner alone, and never over another. */
static int write_file(const char *path, const unsigned char *data, size_t len, int is_secret) {
  int number = open(path, O_WRONLY | O_CREAT | (is_secret ? O_EXCL : O_TRUNC), is_secret ? 0600 : 0666);
  if (number < 0)
    return -1;
  size_t done = 0;
  while (done < len) {
    ssize_t written = write(number, data + done, len - done);
    if (written <= 0)
      break;
    done += (size_t)written;
  }
  return close(number) == 0 && done == len ? 0 : -1;
}

static int keygen(const char *key_path, const char *public_path) {
  manylane_sm2_key *key = NULL;
  manylane_sm2_public *public_key = NULL;
  unsigned char text[512];
  size_t len = sizeof text;
  int status = manylane_sm2_key_generate(&key);
  if (status == MANYLANE_OK)
    status = manylane_sm2_key_encode(key, MANYLANE_SM2_PEM, text, &len);
  if (status == MANYLANE_OK && write_file(key_path, text, len, 1) != 0)
    status = MANYLANE_ERROR_IO;
  manylane_wipe(text, sizeof text);
  len = sizeof text;
  if (status == MANYLANE_OK)
    status = manylane_sm2_key_public(key, &public_key);
  if (status == MANYLANE_OK)
    status = manylane_sm2_public_encode(public_key, MANYLANE_SM2_PEM, text, &len);
  if (status == MANYLANE_OK && write_file(public_path, text, len, 0) != 0)
    status = MANYLANE_ERROR_IO;
  manylane_sm2_public_free(public_key);
  manylane_sm2_key_free(key);
  return status;
}

static int sign(const char *key_path, const char *path, const char *signature_path) {
  size_t key_len, len, signature_len = 72;
  unsigned char *text = read_file(key_path, &key_len), *message = read_file(path, &len);
  unsigned char signature[72];
  manylane_sm2_key *key = NULL;
  int status = text == NULL || message == NULL ? MANYLANE_ERROR_IO : MANYLANE_OK;
  if (status == MANYLANE_OK)
    status = manylane_sm2_key_decode(&key, text, key_len, NULL, 0);
  if (status == MANYLANE_OK)
    status = manylane_sm2_sign(key, MANYLANE_SM2_DEFAULT_ID, MANYLANE_SM2_DEFAULT_ID_LEN, message, len,
                               MANYLANE_SM2_SIGNATURE_DER, signature, &signature_len);
  if (status == MANYLANE_OK && write_file(signature_path, signature, signature_len, 0) != 0)
    status = MANYLANE_ERROR_IO;
  manylane_sm2_key_free(key);
  free(message);
  wipe_and_free(text, key_len);
  return status;
}

static int verify(const char *public_path, const char *path, const char *signature_path) {
  size_t public_len, len, signature_len;
  unsigned char *text = read_file(public_path, &public_len), *message = read_file(path, &len);
  unsigned char *signature = read_file(signature_path, &signature_len);
  manylane_sm2_public *key = NULL;
  int status = text == NULL || message == NULL || signature == NULL ? MANYLANE_ERROR_IO : MANYLANE_OK;
  if (status == MANYLANE_OK)
    status = manylane_sm2_public_decode(&key, text, public_len);
  if (status == MANYLANE_OK)
    status = manylane_sm2_verify(key, MANYLANE_SM2_DEFAULT_ID, MANYLANE_SM2_DEFAULT_ID_LEN, message, len,
                                 MANYLANE_SM2_SIGNATURE_DER, signature, signature_len);
  manylane_sm2_public_free(key);
  free(signature);
  free(message);
  free(text);
  return status;
}

int main(int argc, char **argv) {
  int status;
  if (argc == 4 && strcmp(argv[1], "keygen") == 0) {
    status = keygen(argv[2], argv[3]);
  } else if (argc == 5 && strcmp(argv[1], "sign") == 0) {
    status = sign(argv[2], argv[3], argv[4]);
  } else if (argc == 5 && strcmp(argv[1], "verify") == 0) {
    status = verify(argv[2], argv[3], argv[4]);
  } else {
    fprintf(stderr, "usage: sm2_sign keygen|sign|verify ...\n");
    return 2;
  }
  if (status != MANYLANE_OK)
    fprintf(stderr, "sm2_sign: %s\n", manylane_error_text(status));
  return status == MANYLANE_OK ? 0 : 1;
}
