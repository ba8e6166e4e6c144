/* Everything that has known answers, against vectors/. */
#include "check.h"
#include "vectors.h"

/* Every layout of messages, here and there, gives the same digests. */
static void layouts(void) {
  enum { ROWS = 1000, LEN = 100 };
  static uint8_t data[ROWS * LEN], expected[ROWS * 32], digests[ROWS * 32];
  static const void *pointers[ROWS];
  static size_t lens[ROWS];
  static uint32_t offsets32[ROWS + 1];
  static uint64_t offsets64[ROWS + 1];
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (uint8_t)(i * i >> 5);
  for (size_t i = 0; i < ROWS; i++) {
    size_t len = 32;
    pointers[i] = data + LEN * i, lens[i] = LEN;
    offsets32[i + 1] = (uint32_t)(LEN * (i + 1)), offsets64[i + 1] = LEN * (i + 1);
    OK(manylane_hash_once("sha3-256", pointers[i], LEN, expected + 32 * i, &len));
  }
  const manylane_messages all[] = {
      manylane_pointers(pointers, lens, ROWS),
      manylane_strided(data, sizeof data, LEN, LEN, ROWS),
      manylane_offsets32(data, sizeof data, offsets32, ROWS),
      manylane_offsets64(data, sizeof data, offsets64, ROWS),
  };
  manylane_engine *engine = NULL;
  OK(manylane_engine_new(&engine, "cpu", 2));
  for (size_t i = 0; i < 2 * COUNT(all); i++) {
    memset(digests, 0, sizeof digests);
    OK(manylane_hash_many(i % 2 ? engine : NULL, "sha3-256", 0, &all[i / 2], digests, sizeof digests));
    CHECK(memcmp(digests, expected, sizeof digests) == 0);
  }
  manylane_engine_free(engine);
}

/* One long message, in memory and in a file, on all threads. */
static void long_messages(void) {
  const char *path = "long-message.tmp";
  bytes message = make(300000);
  memset(message.data, 0x5a, message.len);
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(message.data, 1, message.len, file) == message.len && fclose(file) == 0);
  manylane_engine *engine = NULL;
  OK(manylane_engine_new(&engine, "cpu", 2));
  for (size_t i = 0; manylane_hash_name(i) != NULL; i++) {
    uint8_t digests[3][MANYLANE_MAX_DIGEST_LEN];
    size_t lens[3] = {MANYLANE_MAX_DIGEST_LEN, MANYLANE_MAX_DIGEST_LEN, MANYLANE_MAX_DIGEST_LEN};
    const char *name = manylane_hash_name(i);
    OK(manylane_hash_once(name, message.data, message.len, digests[0], &lens[0]));
    OK(manylane_engine_hash(engine, name, message.data, message.len, digests[1], &lens[1]));
    OK(manylane_engine_hash_file(engine, name, 0, path, digests[2], &lens[2]));
    CHECK(lens[1] == lens[0] && memcmp(digests[1], digests[0], lens[0]) == 0);
    CHECK(lens[2] == lens[0] && memcmp(digests[2], digests[0], lens[0]) == 0);
  }
  manylane_engine_free(engine);
  drop(&message);
  CHECK(remove(path) == 0);
}

static void hashes(void) {
  manylane_engine *engine = NULL;
  OK(manylane_engine_new(&engine, "cpu", 2));
  for (size_t i = 0; i < COUNT(hash_vectors); i++) {
    bytes message = unhex(hash_vectors[i].message), digest = unhex(hash_vectors[i].digest);
    bytes got = make(digest.len);
    manylane_hash *hash = NULL;
    size_t len = 0;
    OK(manylane_hash_new(&hash, hash_vectors[i].algorithm, digest.len));
    size_t half = message.len / 3;
    OK(manylane_hash_update(hash, message.data, half));
    manylane_hash *clone = NULL;
    OK(manylane_hash_clone(hash, &clone));
    OK(manylane_hash_update(hash, message.data + half, message.len - half));
    STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_hash_finish(hash, NULL, &len));
    CHECK(len == digest.len);
    OK(manylane_hash_finish(hash, got.data, &len));
    CHECK(same(digest, got.data, len));
    OK(manylane_hash_update(clone, message.data + half, message.len - half));
    memset(got.data, 0, got.len);
    OK(manylane_hash_finish(clone, got.data, &len));
    CHECK(same(digest, got.data, len));
    /* As one of many, in rows. */
    manylane_messages rows = manylane_strided(message.data, message.len, message.len, message.len, 1);
    memset(got.data, 0, got.len);
    OK(manylane_hash_many(NULL, hash_vectors[i].algorithm, digest.len, &rows, got.data, got.len));
    CHECK(same(digest, got.data, got.len));
    memset(got.data, 0, got.len);
    OK(manylane_hash_many(engine, hash_vectors[i].algorithm, digest.len, &rows, got.data, got.len));
    CHECK(same(digest, got.data, got.len));
    manylane_hash_free(clone);
    manylane_hash_free(hash);
    drop(&message), drop(&digest), drop(&got);
  }
  manylane_engine_free(engine);
}

static void macs(void) {
  for (size_t i = 0; i < COUNT(hmac_vectors); i++) {
    bytes key = unhex(hmac_vectors[i].key), message = unhex(hmac_vectors[i].message);
    bytes code = unhex(hmac_vectors[i].code), got = make(32);
    size_t len = got.len;
    OK(manylane_hmac_once("sm3", key.data, key.len, message.data, message.len, got.data, &len));
    CHECK(same(code, got.data, len));
    manylane_hmac *hmac = NULL;
    OK(manylane_hmac_new(&hmac, "sm3", key.data, key.len));
    OK(manylane_hmac_update(hmac, message.data, message.len));
    OK(manylane_hmac_verify(hmac, code.data, code.len));
    OK(manylane_hmac_reset(hmac));
    OK(manylane_hmac_update(hmac, message.data, message.len));
    code.data[31] ^= 1;
    STATUS(MANYLANE_ERROR_SIGNATURE, manylane_hmac_verify(hmac, code.data, code.len));
    code.data[31] ^= 1;
    OK(manylane_hmac_reset(hmac));
    OK(manylane_hmac_update(hmac, message.data, message.len));
    STATUS(MANYLANE_ERROR_SIGNATURE, manylane_hmac_verify(hmac, code.data, code.len - 1));
    manylane_hmac_free(hmac);
    const void *keys[] = {key.data, key.data}, *messages[] = {message.data, message.data};
    size_t key_lens[] = {key.len, key.len}, lens[] = {message.len, message.len};
    manylane_messages all_keys = manylane_pointers(keys, key_lens, 2);
    manylane_messages all = manylane_pointers(messages, lens, 2);
    uint8_t codes[64];
    OK(manylane_hmac_sm3_many(NULL, &all_keys, &all, codes, sizeof codes));
    CHECK(same(code, codes, 32) && same(code, codes + 32, 32));
    drop(&key), drop(&message), drop(&code), drop(&got);
  }
  for (size_t i = 0; i < COUNT(hkdf_vectors); i++) {
    bytes ikm = unhex(hkdf_vectors[i].ikm), salt = unhex(hkdf_vectors[i].salt);
    bytes info = unhex(hkdf_vectors[i].info), okm = unhex(hkdf_vectors[i].okm);
    bytes got = make(okm.len);
    OK(manylane_hkdf_sm3(ikm.data, ikm.len, salt.data, salt.len, info.data, info.len, got.data, got.len));
    CHECK(same(okm, got.data, got.len));
    drop(&ikm), drop(&salt), drop(&info), drop(&okm), drop(&got);
  }
  for (size_t i = 0; i < COUNT(pbkdf2_vectors); i++) {
    bytes password = unhex(pbkdf2_vectors[i].password), salt = unhex(pbkdf2_vectors[i].salt);
    bytes key = unhex(pbkdf2_vectors[i].key), got = make(key.len);
    uint32_t iterations = (uint32_t)strtoul(pbkdf2_vectors[i].iterations, NULL, 10);
    OK(manylane_pbkdf2_sm3(password.data, password.len, salt.data, salt.len, iterations, got.data, got.len));
    CHECK(same(key, got.data, got.len));
    drop(&password), drop(&salt), drop(&key), drop(&got);
  }
}

/* Through a cipher in pieces of `piece` bytes, from `in` to `out`, which may be the same place. */
static size_t through(manylane_cipher *cipher, const uint8_t *in, size_t len, size_t piece, uint8_t *out,
                      size_t room) {
  size_t written = 0;
  for (size_t at = 0; at < len; at += piece) {
    size_t now = len - at < piece ? len - at : piece, more = room - written;
    OK(manylane_cipher_update(cipher, in + at, now, out + written, &more));
    written += more;
  }
  return written;
}

static void ciphers(void) {
  for (size_t i = 0; i < COUNT(cipher_vectors); i++) {
    bytes key = unhex(cipher_vectors[i].key), iv = unhex(cipher_vectors[i].iv);
    bytes message = unhex(cipher_vectors[i].message), ciphertext = unhex(cipher_vectors[i].ciphertext);
    const char *name = cipher_vectors[i].algorithm;
    int padding = cipher_vectors[i].padding[0] == '1';
    size_t key_len = 0, iv_len = 0;
    OK(manylane_cipher_lens(name, &key_len, &iv_len));
    CHECK(key_len == key.len && iv_len == iv.len);
    for (int direction = MANYLANE_ENCRYPT; direction <= MANYLANE_DECRYPT; direction++) {
      bytes in = direction ? ciphertext : message, expected = direction ? message : ciphertext;
      const size_t pieces[] = {1, 7, 16, 33, 4096};
      for (size_t j = 0; j < COUNT(pieces); j++) {
        manylane_cipher *cipher = NULL;
        OK(manylane_cipher_new(&cipher, name, direction, padding, key.data, key.len, iv.data, iv.len));
        bytes out = make(in.len + 32);
        size_t len = through(cipher, in.data, in.len, pieces[j], out.data, out.len), end = out.len - len;
        OK(manylane_cipher_finish(cipher, out.data + len, &end));
        CHECK(same(expected, out.data, len + end));
        end = 0;
        STATUS(MANYLANE_ERROR_FINISHED, manylane_cipher_finish(cipher, NULL, &end));
        manylane_cipher_free(cipher);
        drop(&out);
      }
      /* In place, all at once. */
      manylane_cipher *cipher = NULL;
      OK(manylane_cipher_new(&cipher, name, direction, padding, key.data, key.len, iv.data, iv.len));
      bytes out = make(in.len + 32);
      if (in.len > 0)
        memcpy(out.data, in.data, in.len);
      size_t len = out.len;
      OK(manylane_cipher_update(cipher, out.data, in.len, out.data, &len));
      size_t end = out.len - len;
      OK(manylane_cipher_finish(cipher, out.data + len, &end));
      CHECK(same(expected, out.data, len + end));
      manylane_cipher_free(cipher);
      drop(&out);
    }
    drop(&key), drop(&iv), drop(&message), drop(&ciphertext);
  }
}

static void gcm_in_parts(const manylane_aead *aead, bytes nonce, bytes aad, bytes message, bytes ciphertext,
                         bytes tag) {
  bytes out = make(message.len), got = make(tag.len);
  manylane_gcm_stream *stream = NULL;
  OK(manylane_gcm_stream_new(&stream, aead, MANYLANE_ENCRYPT, nonce.data, nonce.len, aad.data, aad.len));
  size_t half = message.len / 2;
  OK(manylane_gcm_stream_update(stream, message.data, half, out.data));
  OK(manylane_gcm_stream_update(stream, message.data + half, message.len - half, out.data + half));
  OK(manylane_gcm_stream_tag(stream, got.data, got.len));
  CHECK(same(ciphertext, out.data, out.len) && same(tag, got.data, got.len));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_gcm_stream_tag(stream, got.data, got.len));
  manylane_gcm_stream_free(stream);
  OK(manylane_gcm_stream_new(&stream, aead, MANYLANE_DECRYPT, nonce.data, nonce.len, aad.data, aad.len));
  OK(manylane_gcm_stream_update(stream, out.data, out.len, out.data));
  OK(manylane_gcm_stream_verify(stream, tag.data, tag.len));
  CHECK(same(message, out.data, out.len));
  manylane_gcm_stream_free(stream);
  drop(&out), drop(&got);
}

static void aeads(void) {
  for (size_t i = 0; i < COUNT(aead_vectors); i++) {
    bytes key = unhex(aead_vectors[i].key), nonce = unhex(aead_vectors[i].nonce);
    bytes aad = unhex(aead_vectors[i].aad), message = unhex(aead_vectors[i].message);
    bytes ciphertext = unhex(aead_vectors[i].ciphertext), tag = unhex(aead_vectors[i].tag);
    bytes out = make(ciphertext.len), got = make(tag.len);
    manylane_aead *aead = NULL;
    OK(manylane_aead_new(&aead, aead_vectors[i].algorithm, key.data, key.len, tag.len));
    int expected = aead_vectors[i].valid[0] == '1' ? MANYLANE_OK : MANYLANE_ERROR_DECRYPTION;
    STATUS(expected, manylane_aead_decrypt(aead, nonce.data, nonce.len, aad.data, aad.len, ciphertext.data,
                                           ciphertext.len, out.data, tag.data, tag.len));
    if (expected == MANYLANE_OK) {
      CHECK(same(message, out.data, out.len));
      OK(manylane_aead_encrypt(aead, nonce.data, nonce.len, aad.data, aad.len, message.data, message.len,
                               out.data, got.data, got.len));
      CHECK(same(ciphertext, out.data, out.len) && same(tag, got.data, got.len));
      if (strstr(aead_vectors[i].algorithm, "gcm") != NULL)
        gcm_in_parts(aead, nonce, aad, message, ciphertext, tag);
      /* In place, with a tag that is not its. */
      got.data[0] ^= 0x80;
      STATUS(MANYLANE_ERROR_DECRYPTION,
             manylane_aead_decrypt(aead, nonce.data, nonce.len, aad.data, aad.len, out.data, out.len, out.data,
                                   got.data, got.len));
    }
    CHECK(expected == MANYLANE_OK || all_zero(out.data, out.len));
    CHECK(all_zero(out.data, out.len));
    manylane_aead_free(aead);
    drop(&key), drop(&nonce), drop(&aad), drop(&message), drop(&ciphertext), drop(&tag);
    drop(&out), drop(&got);
  }
}

static void xts(void) {
  for (size_t i = 0; i < COUNT(xts_vectors); i++) {
    bytes key = unhex(xts_vectors[i].key), tweak = unhex(xts_vectors[i].tweak);
    bytes message = unhex(xts_vectors[i].message), ciphertext = unhex(xts_vectors[i].ciphertext);
    bytes out = make(message.len);
    manylane_xts *keys = NULL;
    int order = xts_vectors[i].gb[0] == '1' ? MANYLANE_XTS_GB : MANYLANE_XTS_IEEE;
    int weak = memcmp(key.data, key.data + key.len / 2, key.len / 2) == 0;
    STATUS(weak ? MANYLANE_ERROR_WEAK_KEY : MANYLANE_OK,
           manylane_xts_new(&keys, xts_vectors[i].algorithm, order, key.data, key.len));
    if (weak) {
      CHECK(keys == NULL);
      drop(&key), drop(&tweak), drop(&message), drop(&ciphertext), drop(&out);
      continue;
    }
    OK(manylane_xts_crypt(keys, MANYLANE_ENCRYPT, tweak.data, message.data, message.len, out.data));
    CHECK(same(ciphertext, out.data, out.len));
    OK(manylane_xts_crypt(keys, MANYLANE_DECRYPT, tweak.data, out.data, out.len, out.data));
    CHECK(same(message, out.data, out.len));
    if (all_zero(tweak.data + 8, 8)) {
      uint64_t sector = 0;
      for (size_t j = 8; j-- > 0;)
        sector = sector << 8 | tweak.data[j];
      OK(manylane_xts_crypt_units(keys, MANYLANE_ENCRYPT, sector, message.len, message.data, message.len,
                                  out.data));
      CHECK(same(ciphertext, out.data, out.len));
    }
    manylane_xts_free(keys);
    drop(&key), drop(&tweak), drop(&message), drop(&ciphertext), drop(&out);
  }
}

static void version(void) { CHECK(strcmp(manylane_version(), MANYLANE_VERSION) == 0); }

int main(void) {
  TEST(version);
  TEST(hashes);
  TEST(layouts);
  TEST(long_messages);
  TEST(macs);
  TEST(ciphers);
  TEST(aeads);
  TEST(xts);
  return done();
}
