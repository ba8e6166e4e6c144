/* Keys shared by threads, a stream that two of them want, and an engine under many at once. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 40, ROWS = 3000, LEN = 300 };

static manylane_sm2_key *key;
static manylane_sm2_public *public_key;
static manylane_aead *aead;
static manylane_engine *engine;
static uint8_t rows[ROWS][LEN], expected[ROWS][32];
static atomic_int wrong;

static void *work(void *argument) {
  int number = *(int *)argument;
  for (int i = 0; i < ROUNDS; i++) {
    uint8_t signature[72], text[64], tag[16], nonce[12] = {(uint8_t)number, (uint8_t)i};
    size_t len = sizeof signature;
    wrong += manylane_sm2_sign(key, DEFAULT_ID, "abc", 3, MANYLANE_SM2_SIGNATURE_DER, signature, &len) != 0;
    wrong += manylane_sm2_verify(public_key, DEFAULT_ID, "abc", 3, MANYLANE_SM2_SIGNATURE_DER, signature, len) != 0;
    memset(text, number, sizeof text);
    wrong += manylane_aead_encrypt(aead, nonce, 12, NULL, 0, text, 64, text, tag, 16) != 0;
    wrong += manylane_aead_decrypt(aead, nonce, 12, NULL, 0, text, 64, text, tag, 16) != 0;
    wrong += text[63] != number;
    /* What went wrong here is not what went wrong elsewhere. */
    char name[16];
    snprintf(name, sizeof name, "none-%d", number);
    manylane_hash *hash = NULL;
    wrong += manylane_hash_new(&hash, name, 0) != MANYLANE_ERROR_NAME;
    wrong += strstr(manylane_last_error(), name) == NULL;
    if (i % 8 == 0) {
      uint8_t *digests = (uint8_t *)malloc(sizeof expected);
      manylane_messages all = manylane_strided(rows, sizeof rows, LEN, LEN, ROWS);
      wrong += manylane_hash_many(engine, "sm3", 0, &all, digests, sizeof expected) != 0;
      wrong += memcmp(digests, expected, sizeof expected) != 0;
      free(digests);
    }
  }
  return NULL;
}

static manylane_hash *stream;
static atomic_size_t fed;

/* Feeds a stream that others feed too: each piece is taken whole, or refused. */
static void *feed(void *argument) {
  (void)argument;
  for (int i = 0; i < 2000; i++) {
    int done = manylane_hash_update(stream, rows, 64);
    if (done == MANYLANE_OK)
      fed++;
    else
      wrong += done != MANYLANE_ERROR_BUSY;
  }
  return NULL;
}

static void all(void *(*of)(void *)) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, of, &numbers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(wrong == 0);
}

static void shared_keys(void) { all(work); }

static void one_stream(void) {
  OK(manylane_hash_new(&stream, "sm3", 0));
  all(feed);
  manylane_hash *again = NULL;
  OK(manylane_hash_new(&again, "sm3", 0));
  for (size_t i = 0; i < fed; i++)
    OK(manylane_hash_update(again, rows, 64));
  uint8_t one[32], other[32];
  size_t len = 32;
  OK(manylane_hash_finish(stream, one, &len));
  OK(manylane_hash_finish(again, other, &len));
  CHECK(memcmp(one, other, 32) == 0);
  manylane_hash_free(stream), manylane_hash_free(again);
}

/* Makes and frees: what is freed is used again, or the leak sanitizer says that it is not. */
static void *make_and_free(void *argument) {
  (void)argument;
  for (int i = 0; i < 20000; i++) {
    manylane_hash *hash = NULL;
    wrong += manylane_hash_new(&hash, "sm3", 0) != MANYLANE_OK;
    manylane_hash_free(hash);
  }
  return NULL;
}

static void handles(void) { all(make_and_free); }

int main(void) {
  if (manylane_sm2_key_generate(&key) != MANYLANE_OK || manylane_sm2_key_public(key, &public_key) != MANYLANE_OK ||
      manylane_aead_new(&aead, "sm4-gcm", "sixteen bytes of", 16, 0) != MANYLANE_OK ||
      manylane_engine_new(&engine, "cpu", 2) != MANYLANE_OK)
    return 1;
  for (size_t i = 0; i < ROWS; i++) {
    memset(rows[i], (int)(i % 251), LEN);
    size_t len = 32;
    if (manylane_hash_once("sm3", rows[i], LEN, expected[i], &len) != MANYLANE_OK)
      return 1;
  }
  TEST(shared_keys);
  TEST(one_stream);
  TEST(handles);
  manylane_engine_free(engine), manylane_aead_free(aead);
  manylane_sm2_public_free(public_key), manylane_sm2_key_free(key);
  return done();
}
