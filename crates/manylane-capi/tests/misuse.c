/* Everything wrong that a program can do and a library can notice: an error each time, and nothing written. */
#include "check.h"

#include <limits.h>

/* A place that a failed call must leave as it was. */
static uint8_t untouched[64];

static void reset(void) { memset(untouched, 0xa5, sizeof untouched); }

static int intact(void) {
  for (size_t i = 0; i < sizeof untouched; i++)
    if (untouched[i] != 0xa5)
      return 0;
  return 1;
}

static void texts(void) {
  CHECK(strlen(manylane_error_text(MANYLANE_OK)) > 0);
  CHECK(strcmp(manylane_error_text(MANYLANE_ERROR_KEY), manylane_error_text(MANYLANE_ERROR_NULL)) != 0);
  CHECK(strcmp(manylane_error_text(1), "unknown status") == 0);
  CHECK(strcmp(manylane_error_text(INT_MIN), "unknown status") == 0);
  manylane_hash *hash = NULL;
  STATUS(MANYLANE_ERROR_NAME, manylane_hash_new(&hash, "md5", 0));
  CHECK(strcmp(manylane_last_error(), "unknown algorithm 'md5'") == 0);
  for (size_t i = 0; manylane_hash_name(i) != NULL; i++) {
    size_t len = 0;
    OK(manylane_hash_len(manylane_hash_name(i), &len));
    CHECK(len >= 28 && len <= MANYLANE_MAX_DIGEST_LEN);
  }
  CHECK(manylane_hash_name(SIZE_MAX) == NULL);
}

static void null_pointers(void) {
  manylane_hash *hash = NULL;
  size_t len = 32;
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_new(NULL, "sm3", 0));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_new(&hash, NULL, 0));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_update(NULL, "abc", 3));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_finish(NULL, untouched, &len));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_reset(NULL));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_clone(NULL, &hash));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_once("sm3", NULL, 3, untouched, &len));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_once("sm3", "abc", 3, NULL, &len));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_once("sm3", "abc", 3, untouched, NULL));
  OK(manylane_hash_new(&hash, "sm3", 0));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_update(hash, NULL, 3));
  OK(manylane_hash_update(hash, NULL, 0));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_finish(hash, NULL, &len));
  manylane_hash_free(hash);
  manylane_hash_free(NULL), manylane_hmac_free(NULL), manylane_engine_free(NULL), manylane_cipher_free(NULL);
  manylane_aead_free(NULL), manylane_gcm_stream_free(NULL), manylane_xts_free(NULL);
  manylane_sm2_key_free(NULL), manylane_sm2_public_free(NULL), manylane_sm2_signer_free(NULL);
  manylane_sm2_verifier_free(NULL), manylane_sm2_exchange_free(NULL);
  STATUS(MANYLANE_ERROR_NULL, manylane_sm2_key_generate(NULL));
  STATUS(MANYLANE_ERROR_NULL, manylane_sm2_key_public(NULL, NULL));
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_many(NULL, "sm3", 0, NULL, untouched, 32));
  STATUS(MANYLANE_ERROR_NULL, manylane_hkdf_sm3(NULL, 1, NULL, 0, NULL, 0, untouched, 32));
  STATUS(MANYLANE_ERROR_NULL, manylane_pbkdf2_sm3("x", 1, "y", 1, 1, NULL, 32));
  CHECK(manylane_equal(NULL, NULL, 1) == 0);
  CHECK(manylane_equal(NULL, NULL, 0) == 1);
  CHECK(intact());
}

static void handles(void) {
  manylane_hash *hash = NULL;
  manylane_hmac *hmac = NULL;
  uint8_t digest[32];
  size_t len = sizeof digest;
  OK(manylane_hash_new(&hash, "sm3", 0));
  OK(manylane_hmac_new(&hmac, "sm3", "key", 3));
  STATUS(MANYLANE_ERROR_HANDLE, manylane_hash_update((manylane_hash *)hmac, "abc", 3));
  manylane_hash_free((manylane_hash *)hmac); /* no effect */
  OK(manylane_hmac_update(hmac, "abc", 3));
  OK(manylane_hash_finish(hash, digest, &len));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_hash_update(hash, "abc", 3));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_hash_finish(hash, digest, &len));
  manylane_hash *clone = NULL;
  OK(manylane_hash_clone(hash, &clone));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_hash_update(clone, "abc", 3));
  OK(manylane_hash_reset(hash));
  OK(manylane_hash_update(hash, "abc", 3));
  manylane_hash_free(hash);
  manylane_hash_free(clone);
  /* Freed, and freed again. */
  STATUS(MANYLANE_ERROR_HANDLE, manylane_hash_update(hash, "abc", 3));
  STATUS(MANYLANE_ERROR_HANDLE, manylane_hash_finish(hash, digest, &len));
  manylane_hash_free(hash);
  STATUS(MANYLANE_ERROR_HANDLE, manylane_hash_update((manylane_hash *)(void *)(digest + 1), "abc", 3));
  manylane_hmac_free(hmac);
  STATUS(MANYLANE_ERROR_HANDLE, manylane_hmac_reset(hmac));
  manylane_engine *engine = NULL;
  OK(manylane_engine_new(&engine, "cpu", 1));
  manylane_engine_free(engine);
  manylane_messages none = manylane_pointers(NULL, NULL, 0);
  STATUS(MANYLANE_ERROR_HANDLE, manylane_hash_many(engine, "sm3", 0, &none, NULL, 0));
  manylane_sm2_key *key = NULL;
  manylane_sm2_public *public_key = NULL;
  OK(manylane_sm2_key_generate(&key));
  OK(manylane_sm2_key_public(key, &public_key));
  manylane_sm2_key_free(key);
  len = sizeof digest;
  STATUS(MANYLANE_ERROR_HANDLE, manylane_sm2_key_encode(key, MANYLANE_SM2_RAW, digest, &len));
  uint8_t signature[72];
  len = sizeof signature;
  STATUS(MANYLANE_ERROR_HANDLE, manylane_sm2_sign((const manylane_sm2_key *)public_key, DEFAULT_ID, "", 0,
                                                  MANYLANE_SM2_SIGNATURE_DER, signature, &len));
  manylane_sm2_public_free(public_key);
  CHECK(manylane_sm2_public_equal(public_key, public_key) == 0);
}

static void rooms(void) {
  manylane_hash *hash = NULL;
  OK(manylane_hash_new(&hash, "sm3", 0));
  size_t len = 31;
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_hash_finish(hash, untouched, &len));
  CHECK(len == 32 && intact());
  len = 0;
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_hash_finish(hash, NULL, &len));
  CHECK(len == 32);
  uint8_t digest[33] = {0};
  len = sizeof digest;
  OK(manylane_hash_finish(hash, digest, &len));
  CHECK(len == 32 && digest[32] == 0);
  manylane_hash_free(hash);
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_hash_new(&hash, "sm3", 31));
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_hash_new(&hash, "shake128", SIZE_MAX));
  CHECK(hash == NULL);
  OK(manylane_hash_new(&hash, "shake128", 1000));
  bytes out = make(1000);
  len = out.len;
  OK(manylane_hash_finish(hash, out.data, &len));
  CHECK(len == 1000 && !all_zero(out.data + 900, 100));
  drop(&out);
  manylane_hash_free(hash);
  STATUS(MANYLANE_ERROR_NAME, manylane_hmac_new((manylane_hmac **)&hash, "shake128", "key", 3));
  OK(manylane_hkdf_sm3("k", 1, NULL, 0, NULL, 0, NULL, 0));
  bytes okm = make(8161);
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_hkdf_sm3("k", 1, NULL, 0, NULL, 0, okm.data, okm.len));
  OK(manylane_hkdf_sm3("k", 1, NULL, 0, NULL, 0, okm.data, okm.len - 1));
  drop(&okm);
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_pbkdf2_sm3("k", 1, NULL, 0, 0, digest, sizeof digest));
}

static void lengths(void) {
  size_t len = 32;
  STATUS(MANYLANE_ERROR_LENGTH, manylane_hash_once("sm3", "abc", SIZE_MAX, untouched, &len));
  STATUS(MANYLANE_ERROR_LENGTH, manylane_hash_once("sm3", "abc", (size_t)PTRDIFF_MAX + 1, untouched, &len));
  const uint8_t rows[100] = {0};
  uint8_t out[96];
  manylane_messages many = manylane_strided(rows, sizeof rows, 10, 10, 10);
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_strided(rows, sizeof rows, 10, SIZE_MAX / 2, 3);
  STATUS(MANYLANE_ERROR_SHAPE, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_strided(rows, sizeof rows, 10, SIZE_MAX, 3);
  STATUS(MANYLANE_ERROR_SHAPE, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_strided(rows, sizeof rows, 10, 9, 3);
  STATUS(MANYLANE_ERROR_SHAPE, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_strided(rows, sizeof rows, 10, 10, SIZE_MAX);
  STATUS(MANYLANE_ERROR_SHAPE, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  /* Messages of nothing, more of them than there are digests in memory. */
  many = manylane_strided(rows, sizeof rows, 0, 0, SIZE_MAX);
  STATUS(MANYLANE_ERROR_LENGTH, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_strided(rows, SIZE_MAX, 10, 10, 3);
  STATUS(MANYLANE_ERROR_LENGTH, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  const uint32_t down[] = {0, 50, 40, 100}, far[] = {0, 50, 60, 101};
  many = manylane_offsets32(rows, sizeof rows, down, 3);
  STATUS(MANYLANE_ERROR_OFFSET, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_offsets32(rows, sizeof rows, far, 3);
  STATUS(MANYLANE_ERROR_OFFSET, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  const uint64_t wide[] = {0, 50, 60, UINT64_MAX};
  many = manylane_offsets64(rows, sizeof rows, wide, 3);
  STATUS(MANYLANE_ERROR_OFFSET, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_offsets64(rows, sizeof rows, wide, SIZE_MAX);
  STATUS(MANYLANE_ERROR_LENGTH, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_offsets64(rows, sizeof rows, NULL, 3);
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_offsets64(rows, sizeof rows, (const uint64_t *)(const void *)(rows + 1), 3);
  int code = manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out);
  CHECK(code == MANYLANE_ERROR_ARGUMENT || code == MANYLANE_ERROR_OFFSET || code == MANYLANE_OK);
  const void *pointers[] = {rows, NULL, rows};
  size_t lens[] = {1, 1, 1};
  many = manylane_pointers(pointers, lens, 3);
  STATUS(MANYLANE_ERROR_NULL, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  lens[1] = 0;
  OK(manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many.shape = 4;
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many.shape = INT_MIN;
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_hash_many(NULL, "sm3", 0, &many, out, sizeof out));
  many = manylane_pointers(NULL, NULL, 0);
  OK(manylane_hash_many(NULL, "sm3", 0, &many, NULL, 0));
  many = manylane_offsets32(NULL, 0, NULL, 0);
  OK(manylane_hash_many(NULL, "sm3", 0, &many, NULL, 0));
  many = manylane_pointers(pointers, lens, 3);
  manylane_messages two = manylane_pointers(pointers, lens, 2);
  STATUS(MANYLANE_ERROR_COUNT_MISMATCH, manylane_hmac_sm3_many(NULL, &two, &many, out, sizeof out));
  CHECK(intact());
}

static void overlaps(void) {
  uint8_t buffer[200];
  memset(buffer, 7, sizeof buffer);
  manylane_messages many = manylane_strided(buffer, 100, 50, 50, 2);
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hash_many(NULL, "sm3", 0, &many, buffer + 99, 64));
  OK(manylane_hash_many(NULL, "sm3", 0, &many, buffer + 100, 64));
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hkdf_sm3(buffer, 16, NULL, 0, NULL, 0, buffer + 15, 32));
  /* Nor may digests lie on what says where messages are. */
  enum { MANY = 400 };
  static union {
    uint32_t narrow[MANY + 1];
    uint64_t wide[MANY + 1];
    size_t lens[MANY];
    const void *pointers[MANY];
    uint8_t bytes[32 * MANY];
  } shared, other;
  static uint8_t data[8 * MANY];
  memset(&shared, 0, sizeof shared);
  many = manylane_offsets32(data, sizeof data, shared.narrow, MANY);
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hash_many(NULL, "sm3", 0, &many, shared.bytes, 32 * MANY));
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hmac_sm3_many(NULL, &many, &many, shared.bytes, 32 * MANY));
  OK(manylane_hash_many(NULL, "sm3", 0, &many, other.bytes, 32 * MANY));
  many = manylane_offsets64(data, sizeof data, shared.wide, MANY);
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hash_many(NULL, "sm3", 0, &many, shared.bytes, 32 * MANY));
  memset(&other, 0, sizeof other);
  many = manylane_pointers(shared.pointers, other.lens, MANY);
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hash_many(NULL, "sm3", 0, &many, shared.bytes, 32 * MANY));
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_hash_many(NULL, "sm3", 0, &many, other.bytes, 32 * MANY));
  for (size_t i = 0; i < sizeof shared; i++)
    CHECK(shared.bytes[i] == 0 && other.bytes[i] == 0);
  manylane_cipher *cipher = NULL;
  OK(manylane_cipher_new(&cipher, "sm4-ctr", MANYLANE_ENCRYPT, MANYLANE_PADDING_NONE, buffer, 16, buffer, 16));
  size_t len = 100;
  STATUS(MANYLANE_ERROR_OVERLAP, manylane_cipher_update(cipher, buffer, 100, buffer + 1, &len));
  manylane_cipher_free(cipher);
  manylane_aead *aead = NULL;
  OK(manylane_aead_new(&aead, "sm4-gcm", buffer, 16, 0));
  STATUS(MANYLANE_ERROR_OVERLAP,
         manylane_aead_encrypt(aead, buffer, 12, NULL, 0, buffer, 100, buffer, untouched, 16));
  STATUS(MANYLANE_ERROR_OVERLAP,
         manylane_aead_encrypt(aead, "twelve bytes", 12, NULL, 0, buffer, 100, buffer, buffer + 90, 16));
  STATUS(MANYLANE_ERROR_OVERLAP,
         manylane_aead_encrypt(aead, "twelve bytes", 12, NULL, 0, buffer, 100, buffer + 4, untouched, 16));
  manylane_aead_free(aead);
  CHECK(intact());
}

static void numbers(void) {
  uint8_t key[64] = {1}, iv[16] = {0};
  manylane_cipher *cipher = NULL;
  const int wrong[] = {-1, 2, INT_MAX, INT_MIN};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    STATUS(MANYLANE_ERROR_ARGUMENT, manylane_cipher_new(&cipher, "sm4-cbc", wrong[i], 0, key, 16, iv, 16));
    STATUS(MANYLANE_ERROR_ARGUMENT, manylane_cipher_new(&cipher, "sm4-cbc", 0, wrong[i], key, 16, iv, 16));
    manylane_xts *xts = NULL;
    STATUS(MANYLANE_ERROR_ARGUMENT, manylane_xts_new(&xts, "sm4-xts", wrong[i], key, 32));
    manylane_sm2_exchange *exchange = NULL;
    STATUS(MANYLANE_ERROR_ARGUMENT,
           manylane_sm2_exchange_new(&exchange, wrong[i], NULL, NULL, 0, NULL, NULL, 0));
  }
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_cipher_new(&cipher, "sm4-ctr", 0, 1, key, 16, iv, 16));
  STATUS(MANYLANE_ERROR_KEY_LENGTH, manylane_cipher_new(&cipher, "sm4-ctr", 0, 0, key, 17, iv, 16));
  STATUS(MANYLANE_ERROR_IV_LENGTH, manylane_cipher_new(&cipher, "sm4-ctr", 0, 0, key, 16, iv, 12));
  STATUS(MANYLANE_ERROR_IV_LENGTH, manylane_cipher_new(&cipher, "sm4-ecb", 0, 0, key, 16, iv, 16));
  const char *names[] = {"", "-", "sm4", "sm4-", "-ctr", "sm4-gcm", "des-cbc", "aes-ctr", "sm4-ctr-x", "\xff\xfe"};
  for (size_t i = 0; i < COUNT(names); i++)
    STATUS(MANYLANE_ERROR_NAME, manylane_cipher_new(&cipher, names[i], 0, 0, key, 16, iv, 16));
  CHECK(cipher == NULL);
  manylane_aead *aead = NULL;
  STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_aead_new(&aead, "sm4-gcm", key, 16, 5));
  STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_aead_new(&aead, "sm4-ccm", key, 16, 17));
  STATUS(MANYLANE_ERROR_NAME, manylane_aead_new(&aead, "sm4-cbc", key, 16, 0));
  OK(manylane_aead_new(&aead, "sm4-ccm", key, 16, 0));
  manylane_gcm_stream *stream = NULL;
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_gcm_stream_new(&stream, aead, 0, iv, 12, NULL, 0));
  STATUS(MANYLANE_ERROR_IV_LENGTH, manylane_aead_encrypt(aead, iv, 14, NULL, 0, "x", 1, untouched, untouched + 16, 16));
  STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_aead_encrypt(aead, iv, 12, NULL, 0, "x", 1, untouched, untouched + 16, 12));
  manylane_aead_free(aead);
  OK(manylane_aead_new(&aead, "aes-128-gcm", key, 16, 12));
  STATUS(MANYLANE_ERROR_IV_LENGTH, manylane_aead_encrypt(aead, NULL, 0, NULL, 0, NULL, 0, NULL, untouched, 12));
  STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_aead_decrypt(aead, iv, 12, NULL, 0, NULL, 0, NULL, untouched, 16));
  OK(manylane_gcm_stream_new(&stream, aead, MANYLANE_ENCRYPT, iv, 12, NULL, 0));
  STATUS(MANYLANE_ERROR_STATE, manylane_gcm_stream_verify(stream, key, 12));
  STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_gcm_stream_tag(stream, key, 16));
  OK(manylane_gcm_stream_tag(stream, key, 12));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_gcm_stream_update(stream, key, 12, key));
  manylane_gcm_stream_free(stream);
  manylane_aead_free(aead);
  /* Not whole blocks, and no padding. */
  size_t len = 16;
  uint8_t out[32];
  OK(manylane_cipher_new(&cipher, "aes-128-cbc", MANYLANE_DECRYPT, MANYLANE_PADDING_NONE, iv, 16, iv, 16));
  OK(manylane_cipher_update(cipher, key, 15, out, &len));
  CHECK(len == 0);
  STATUS(MANYLANE_ERROR_DATA_LENGTH, manylane_cipher_finish(cipher, out, &len));
  manylane_cipher_free(cipher);
  OK(manylane_cipher_new(&cipher, "aes-128-cbc", MANYLANE_DECRYPT, MANYLANE_PADDING_PKCS7, iv, 16, iv, 16));
  /* A question takes nothing, though no room would be needed. */
  len = 0;
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_cipher_update(cipher, key, 5, NULL, &len));
  CHECK(len == 20);
  len = 0;
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_cipher_update(cipher, key, 16, NULL, &len));
  CHECK(len == 31);
  len = 0;
  OK(manylane_cipher_update(cipher, NULL, 0, NULL, &len));
  CHECK(len == 0);
  OK(manylane_cipher_update(cipher, key, 16, out, &len));
  len = 15;
  STATUS(MANYLANE_ERROR_DECRYPTION, manylane_cipher_finish(cipher, out, &len));
  manylane_cipher_free(cipher);
  CHECK(intact());
}

/* What is asked for is told, and a message is as it was before the question. */
static void questions(void) {
  static const char *const modes[] = {"sm4-ctr", "sm4-cbc", "aes-128-ecb"};
  const uint8_t key[16] = {1}, iv[16] = {2};
  for (size_t i = 0; i < COUNT(modes); i++) {
    manylane_cipher *cipher = NULL;
    uint8_t sealed[32], opened[32], *to = sealed;
    int padding = i == 0 ? MANYLANE_PADDING_NONE : MANYLANE_PADDING_PKCS7;
    const void *from = "hello";
    size_t from_len = 5, len = 0;
    for (int direction = MANYLANE_ENCRYPT; direction <= MANYLANE_DECRYPT; direction++) {
      OK(manylane_cipher_new(&cipher, modes[i], direction, padding, key, 16, iv, i == 2 ? 0 : 16));
      size_t done = 0;
      for (int asks = 1; asks >= 0; asks--) {
        len = asks ? 0 : 32;
        STATUS(asks ? MANYLANE_ERROR_OUTPUT_LENGTH : MANYLANE_OK,
               manylane_cipher_update(cipher, from, from_len, asks ? NULL : to, &len));
        done = len;
      }
      len = 0;
      STATUS(i == 0 ? MANYLANE_OK : MANYLANE_ERROR_OUTPUT_LENGTH, manylane_cipher_finish(cipher, NULL, &len));
      if (i > 0) {
        len = sizeof sealed - done;
        OK(manylane_cipher_finish(cipher, to + done, &len));
      }
      manylane_cipher_free(cipher);
      from = sealed, from_len = done + len, to = opened;
    }
    CHECK(from_len == 5 && memcmp(opened, "hello", 5) == 0);
  }
}

/* What is refused for its lengths has written nothing. */
static void nothing_written(void) {
  uint8_t key[64] = {1}, text[32];
  for (size_t i = 0; i < 32; i++)
    key[32 + i] = (uint8_t)i;
  memset(text, 0x5c, sizeof text);
  manylane_xts *xts = NULL;
  STATUS(MANYLANE_ERROR_NAME, manylane_xts_new(&xts, "aes-192-xts", MANYLANE_XTS_IEEE, key, 48));
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_xts_new(&xts, "aes-256-xts", MANYLANE_XTS_GB, key, 64));
  OK(manylane_xts_new(&xts, "aes-256-xts", MANYLANE_XTS_IEEE, key, 64));
  STATUS(MANYLANE_ERROR_DATA_LENGTH, manylane_xts_crypt(xts, MANYLANE_ENCRYPT, key, text, 15, untouched));
  STATUS(MANYLANE_ERROR_DATA_LENGTH, manylane_xts_crypt_units(xts, MANYLANE_ENCRYPT, 0, 0, text, 32, untouched));
  STATUS(MANYLANE_ERROR_DATA_LENGTH, manylane_xts_crypt_units(xts, MANYLANE_ENCRYPT, 0, 17, text, 32, untouched));
  manylane_xts_free(xts);
  size_t len = 77;
  STATUS(MANYLANE_ERROR_NULL, manylane_cipher_lens("sm4-ctr", &len, NULL));
  STATUS(MANYLANE_ERROR_NULL, manylane_cipher_lens("sm4-ctr", NULL, &len));
  STATUS(MANYLANE_ERROR_NAME, manylane_cipher_lens("aes-192-xts", &len, &len));
  CHECK(len == 77);
  static const char *const names[] = {"sm4-gcm", "sm4-ccm"};
  for (size_t i = 0; i < COUNT(names); i++) {
    manylane_aead *aead = NULL;
    OK(manylane_aead_new(&aead, names[i], key, 16, 0));
    STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_aead_decrypt(aead, key, 12, NULL, 0, text, 32, text, key, 12));
    STATUS(MANYLANE_ERROR_IV_LENGTH, manylane_aead_decrypt(aead, key, 0, NULL, 0, text, 32, text, key, 16));
    for (size_t j = 0; j < sizeof text; j++)
      CHECK(text[j] == 0x5c);
    STATUS(MANYLANE_ERROR_TAG_LENGTH, manylane_aead_decrypt(aead, key, 12, NULL, 0, text, 32, untouched, key, 12));
    manylane_aead_free(aead);
  }
  CHECK(intact());
}

/* A message of GCM that is only verified, in parts; and streams that go one way are not asked for the other. */
static void verifying(void) {
  const uint8_t key[16] = {1}, nonce[12] = {2};
  uint8_t text[100], tag[16];
  memset(text, 7, sizeof text);
  manylane_aead *aead = NULL;
  OK(manylane_aead_new(&aead, "aes-128-gcm", key, 16, 0));
  OK(manylane_aead_encrypt(aead, nonce, 12, "aad", 3, text, 100, text, tag, 16));
  for (int wrong = 0; wrong < 3; wrong++) {
    manylane_gcm_stream *stream = NULL;
    OK(manylane_gcm_stream_new(&stream, aead, MANYLANE_VERIFY, nonce, 12, "aad", 3));
    STATUS(MANYLANE_ERROR_ARGUMENT, manylane_gcm_stream_update(stream, text, 33, untouched));
    OK(manylane_gcm_stream_update(stream, text, 33, NULL));
    text[50] ^= wrong == 1;
    OK(manylane_gcm_stream_update(stream, text + 33, 67, NULL));
    text[50] ^= wrong == 1;
    tag[3] ^= wrong == 2;
    STATUS(MANYLANE_ERROR_STATE, manylane_gcm_stream_tag(stream, tag, 16));
    STATUS(wrong ? MANYLANE_ERROR_DECRYPTION : MANYLANE_OK, manylane_gcm_stream_verify(stream, tag, 16));
    STATUS(MANYLANE_ERROR_FINISHED, manylane_gcm_stream_update(stream, text, 1, NULL));
    manylane_gcm_stream_free(stream);
  }
  manylane_aead_free(aead);
  CHECK(intact());
}

static void memory(void) {
  uint8_t place[64] = {0};
  OK(manylane_random(place, sizeof place));
  CHECK(!all_zero(place, 32) && !all_zero(place + 32, 32) && memcmp(place, place + 32, 32) != 0);
  STATUS(MANYLANE_ERROR_NULL, manylane_random(NULL, 1));
  OK(manylane_random(NULL, 0));
  place[0] = place[63] = 1;
  manylane_wipe(place + 1, 62);
  CHECK(place[0] == 1 && place[63] == 1 && all_zero(place + 1, 62));
  manylane_wipe(NULL, 0), manylane_wipe(NULL, 5);
  /* 32 bytes of a file are no key by accident. */
  manylane_sm2_key *key = NULL;
  const char *cut = "-----BEGIN PRIVATE KEY-----\nMIGH";
  STATUS(MANYLANE_ERROR_ENCODING, manylane_sm2_key_decode(&key, cut, 32, NULL, 0));
  STATUS(MANYLANE_ERROR_KEY, manylane_sm2_key_from_bytes(&key, cut, 31));
  OK(manylane_sm2_key_from_bytes(&key, cut, 32));
  /* An ID is said, be it an empty one. */
  uint8_t signature[72];
  size_t len = sizeof signature;
  STATUS(MANYLANE_ERROR_NULL, manylane_sm2_sign(key, NULL, 0, "", 0, MANYLANE_SM2_SIGNATURE_DER, signature, &len));
  OK(manylane_sm2_sign(key, "", 0, "", 0, MANYLANE_SM2_SIGNATURE_DER, signature, &len));
  manylane_sm2_key_free(key);
  /* The text of an error is where it was. */
  const char *text = manylane_last_error();
  STATUS(MANYLANE_ERROR_NAME, manylane_hash_len("none", &len));
  CHECK(text == manylane_last_error() && strstr(text, "none") != NULL);
  OK(manylane_hash_len("SHA3-256", &len));
  manylane_messages many = manylane_pointers(NULL, NULL, 0);
  many.reserved[1] = 1;
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_hash_many(NULL, "sm3", 0, &many, NULL, 0));
}

static void engines(void) {
  manylane_engine *engine = NULL;
  STATUS(MANYLANE_ERROR_NAME, manylane_engine_new(&engine, "gpu", 0));
  STATUS(MANYLANE_ERROR_DEVICE, manylane_engine_new(&engine, "cuda:4000000000", 0));
  CHECK(engine == NULL);
  OK(manylane_engine_new(&engine, NULL, 0));
  manylane_engine_free(engine);
  OK(manylane_engine_new(&engine, "cpu", 2));
  size_t threads = 0, len = 0;
  OK(manylane_engine_threads(engine, &threads));
  CHECK(threads == 2);
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_engine_explain(engine, "sm3", NULL, &len));
  char *text = (char *)malloc(len);
  OK(manylane_engine_explain(engine, "sm3", text, &len));
  CHECK(text != NULL && strlen(text) + 1 == len && strstr(text, "threads: 2") != NULL);
  free(text);
  char none[8] = "x";
  len = sizeof none;
  OK(manylane_engine_warnings(engine, none, &len));
  CHECK(len == 1 && none[0] == 0);
  uint8_t digest[64];
  len = sizeof digest;
  STATUS(MANYLANE_ERROR_IO, manylane_engine_hash_file(engine, "sm3", 0, "/no/such/file", digest, &len));
  STATUS(MANYLANE_ERROR_IO, manylane_engine_hash_file(engine, "sm3", 0, "/", digest, &len));
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_engine_hash_file(engine, "shake128", 65, "/dev/null", digest, &len));
  uint8_t empty[32];
  size_t empty_len = sizeof empty;
  OK(manylane_hash_once("sm3", NULL, 0, empty, &empty_len));
  OK(manylane_engine_hash_file(engine, "sm3", 0, "/dev/null", digest, &len));
  CHECK(len == 32 && memcmp(digest, empty, 32) == 0);
  manylane_engine_free(engine);
}

int main(void) {
  reset();
  TEST(texts);
  TEST(null_pointers);
  TEST(handles);
  TEST(rooms);
  TEST(lengths);
  TEST(overlaps);
  TEST(numbers);
  TEST(questions);
  TEST(nothing_written);
  TEST(verifying);
  TEST(memory);
  TEST(engines);
  return done();
}
