/* SM2: forms of keys, signatures, encryption, key exchange; against vectors/ where these can tell. */
#include "check.h"
#include "vectors.h"

#include <stdbool.h>

static manylane_sm2_key *key_of(const char *digits) {
  bytes d = unhex(digits);
  manylane_sm2_key *key = NULL;
  OK(manylane_sm2_key_from_bytes(&key, d.data, d.len));
  drop(&d);
  return key;
}

static manylane_sm2_public *public_of(const manylane_sm2_key *key) {
  manylane_sm2_public *public_key = NULL;
  OK(manylane_sm2_key_public(key, &public_key));
  return public_key;
}

static void forms(void) {
  for (size_t i = 0; i < COUNT(key_vectors); i++) {
    manylane_sm2_key *key = key_of(key_vectors[i].d);
    manylane_sm2_public *public_key = public_of(key);
    bytes d = unhex(key_vectors[i].d), point = unhex(key_vectors[i].point);
    bytes compressed = unhex(key_vectors[i].compressed);
    for (int form = MANYLANE_SM2_RAW; form <= MANYLANE_SM2_SEC1_PEM; form++) {
      size_t len = 0;
      if (form != MANYLANE_SM2_COMPRESSED) {
        STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_sm2_key_encode(key, form, NULL, &len));
        bytes text = make(len);
        OK(manylane_sm2_key_encode(key, form, text.data, &len));
        CHECK(len == text.len && (form != MANYLANE_SM2_RAW || same(d, text.data, len)));
        manylane_sm2_key *again = NULL;
        OK(form == MANYLANE_SM2_RAW ? manylane_sm2_key_from_bytes(&again, text.data, text.len)
                                    : manylane_sm2_key_decode(&again, text.data, text.len, NULL, 0));
        uint8_t number[32];
        len = sizeof number;
        OK(manylane_sm2_key_encode(again, MANYLANE_SM2_RAW, number, &len));
        CHECK(same(d, number, len));
        manylane_sm2_key_free(again);
        drop(&text);
      } else {
        STATUS(MANYLANE_ERROR_ARGUMENT, manylane_sm2_key_encode(key, form, NULL, &len));
      }
      len = 0;
      if (form < MANYLANE_SM2_SEC1_DER) {
        STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_sm2_public_encode(public_key, form, NULL, &len));
        bytes text = make(len);
        OK(manylane_sm2_public_encode(public_key, form, text.data, &len));
        CHECK(form != MANYLANE_SM2_RAW || same(point, text.data, len));
        CHECK(form != MANYLANE_SM2_COMPRESSED || same(compressed, text.data, len));
        manylane_sm2_public *again = NULL;
        OK(manylane_sm2_public_decode(&again, text.data, text.len));
        CHECK(manylane_sm2_public_equal(public_key, again));
        manylane_sm2_public_free(again);
        drop(&text);
      } else {
        STATUS(MANYLANE_ERROR_ARGUMENT, manylane_sm2_public_encode(public_key, form, NULL, &len));
      }
    }
    drop(&d), drop(&point), drop(&compressed);
    manylane_sm2_public_free(public_key);
    manylane_sm2_key_free(key);
  }
  for (size_t i = 0; i < COUNT(bad_point_vectors); i++) {
    bytes point = unhex(bad_point_vectors[i].point);
    manylane_sm2_public *public_key = (manylane_sm2_public *)&point;
    CHECK(manylane_sm2_public_decode(&public_key, point.data, point.len) < 0);
    CHECK(public_key == NULL);
    drop(&point);
  }
}

static void passwords(void) {
  manylane_sm2_key *key = NULL, *again = NULL;
  OK(manylane_sm2_key_generate(&key));
  for (int kdf = MANYLANE_SM2_KDF_SM3; kdf <= MANYLANE_SM2_KDF_SHA256; kdf++) {
    for (int form = MANYLANE_SM2_DER; form <= MANYLANE_SM2_PEM; form++) {
      size_t len = 0;
      STATUS(MANYLANE_ERROR_OUTPUT_LENGTH,
             manylane_sm2_key_encrypt(key, form, kdf, 1000, "secret", 6, NULL, &len));
      bytes text = make(len);
      OK(manylane_sm2_key_encrypt(key, form, kdf, 1000, "secret", 6, text.data, &len));
      STATUS(MANYLANE_ERROR_PASSWORD_NEEDED, manylane_sm2_key_decode(&again, text.data, len, NULL, 0));
      STATUS(MANYLANE_ERROR_PASSWORD, manylane_sm2_key_decode(&again, text.data, len, "wrong", 5));
      CHECK(again == NULL);
      OK(manylane_sm2_key_decode(&again, text.data, len, "secret", 6));
      manylane_sm2_public *a = public_of(key), *b = public_of(again);
      CHECK(manylane_sm2_public_equal(a, b));
      manylane_sm2_public_free(a), manylane_sm2_public_free(b);
      manylane_sm2_key_free(again);
      drop(&text);
    }
  }
  size_t len = 512;
  uint8_t text[512];
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_sm2_key_encrypt(key, MANYLANE_SM2_PEM, 2, 1000, "x", 1, text, &len));
  STATUS(MANYLANE_ERROR_ARGUMENT,
         manylane_sm2_key_encrypt(key, MANYLANE_SM2_PEM, 0, UINT32_MAX, "x", 1, text, &len));
  /* A password that was not read does not encrypt a key. */
  STATUS(MANYLANE_ERROR_NULL, manylane_sm2_key_encrypt(key, MANYLANE_SM2_PEM, 0, 1000, NULL, 0, text, &len));
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_sm2_key_encrypt(key, MANYLANE_SM2_PEM, 0, 1000, "", 0, text, &len));
  STATUS(MANYLANE_ERROR_ARGUMENT, manylane_sm2_key_encrypt(key, MANYLANE_SM2_RAW, 0, 1000, "x", 1, text, &len));
  manylane_sm2_key_free(key);
}

static void signatures(void) {
  for (size_t i = 0; i < COUNT(signature_vectors); i++) {
    manylane_sm2_key *key = key_of(signature_vectors[i].d);
    manylane_sm2_public *public_key = public_of(key);
    bytes id = unhex(signature_vectors[i].id), message = unhex(signature_vectors[i].message);
    bytes der = unhex(signature_vectors[i].der), r = unhex(signature_vectors[i].r);
    bytes s = unhex(signature_vectors[i].s);
    OK(manylane_sm2_verify(public_key, id.data, id.len, message.data, message.len, MANYLANE_SM2_SIGNATURE_DER, der.data,
                           der.len));
    uint8_t raw[64], skf[128] = {0};
    memcpy(raw, r.data, 32), memcpy(raw + 32, s.data, 32);
    memcpy(skf + 32, r.data, 32), memcpy(skf + 96, s.data, 32);
    OK(manylane_sm2_verify(public_key, id.data, id.len, message.data, message.len, MANYLANE_SM2_SIGNATURE_RAW, raw,
                           sizeof raw));
    OK(manylane_sm2_verify(public_key, id.data, id.len, message.data, message.len, MANYLANE_SM2_SIGNATURE_SKF, skf,
                           sizeof skf));
    raw[63] ^= 1;
    STATUS(MANYLANE_ERROR_SIGNATURE, manylane_sm2_verify(public_key, id.data, id.len, message.data, message.len,
                                                         MANYLANE_SM2_SIGNATURE_RAW, raw, sizeof raw));
    for (int form = MANYLANE_SM2_SIGNATURE_DER; form <= MANYLANE_SM2_SIGNATURE_SKF; form++) {
      size_t len = 0;
      STATUS(MANYLANE_ERROR_OUTPUT_LENGTH,
             manylane_sm2_sign(key, id.data, id.len, message.data, message.len, form, NULL, &len));
      bytes made = make(len);
      OK(manylane_sm2_sign(key, id.data, id.len, message.data, message.len, form, made.data, &len));
      manylane_sm2_verifier *verifier = NULL;
      OK(manylane_sm2_verifier_new(&verifier, public_key, id.data, id.len));
      OK(manylane_sm2_verifier_update(verifier, message.data, message.len / 2));
      OK(manylane_sm2_verifier_update(verifier, message.data + message.len / 2, message.len - message.len / 2));
      OK(manylane_sm2_verifier_finish(verifier, form, made.data, len));
      STATUS(MANYLANE_ERROR_FINISHED, manylane_sm2_verifier_finish(verifier, form, made.data, len));
      manylane_sm2_verifier_free(verifier);
      manylane_sm2_signer *signer = NULL;
      OK(manylane_sm2_signer_new(&signer, key, id.data, id.len));
      OK(manylane_sm2_signer_update(signer, message.data, message.len));
      len = made.len;
      OK(manylane_sm2_signer_finish(signer, form, made.data, &len));
      OK(manylane_sm2_verify(public_key, id.data, id.len, message.data, message.len, form, made.data, len));
      manylane_sm2_signer_free(signer);
      drop(&made);
    }
    drop(&id), drop(&message), drop(&der), drop(&r), drop(&s);
    manylane_sm2_public_free(public_key);
    manylane_sm2_key_free(key);
  }
  for (size_t i = 0; i < COUNT(bad_signature_vectors); i++) {
    manylane_sm2_key *key = key_of(bad_signature_vectors[i].d);
    manylane_sm2_public *public_key = public_of(key);
    bytes e = unhex(bad_signature_vectors[i].e), r = unhex(bad_signature_vectors[i].r);
    bytes s = unhex(bad_signature_vectors[i].s);
    uint8_t raw[72];
    memcpy(raw, r.data, 32), memcpy(raw + 32, s.data, 32);
    STATUS(MANYLANE_ERROR_SIGNATURE,
           manylane_sm2_verify_digest(public_key, e.data, MANYLANE_SM2_SIGNATURE_RAW, raw, 64));
    size_t len = sizeof raw;
    OK(manylane_sm2_sign_digest(key, e.data, MANYLANE_SM2_SIGNATURE_DER, raw, &len));
    OK(manylane_sm2_verify_digest(public_key, e.data, MANYLANE_SM2_SIGNATURE_DER, raw, len));
    drop(&e), drop(&r), drop(&s);
    manylane_sm2_public_free(public_key);
    manylane_sm2_key_free(key);
  }
}

/* The ID that null stands for. */
static void default_id(void) {
  manylane_sm2_key *key = NULL;
  OK(manylane_sm2_key_generate(&key));
  manylane_sm2_public *public_key = public_of(key);
  uint8_t signature[64];
  size_t len = sizeof signature;
  OK(manylane_sm2_sign(key, DEFAULT_ID, "abc", 3, MANYLANE_SM2_SIGNATURE_RAW, signature, &len));
  OK(manylane_sm2_verify(public_key, DEFAULT_ID, "abc", 3, MANYLANE_SM2_SIGNATURE_RAW, signature, 64));
  STATUS(MANYLANE_ERROR_SIGNATURE,
         manylane_sm2_verify(public_key, "", 0, "abc", 3, MANYLANE_SM2_SIGNATURE_RAW, signature, 64));
  STATUS(MANYLANE_ERROR_NULL,
         manylane_sm2_verify(public_key, NULL, 1, "abc", 3, MANYLANE_SM2_SIGNATURE_RAW, signature, 64));
  bytes long_id = make(8192);
  memset(long_id.data, 'x', long_id.len);
  STATUS(MANYLANE_ERROR_ID_LENGTH, manylane_sm2_sign(key, long_id.data, long_id.len, "abc", 3,
                                                     MANYLANE_SM2_SIGNATURE_RAW, signature, &len));
  drop(&long_id);
  manylane_sm2_public_free(public_key);
  manylane_sm2_key_free(key);
}

/* Decrypts, and compares. */
static void decrypts(const manylane_sm2_key *key, int form, const uint8_t *ciphertext, size_t len, bytes message) {
  size_t room = 0;
  STATUS(MANYLANE_ERROR_OUTPUT_LENGTH, manylane_sm2_decrypt(key, form, ciphertext, len, NULL, &room));
  CHECK(room == message.len);
  bytes out = make(room);
  OK(manylane_sm2_decrypt(key, form, ciphertext, len, out.data, &room));
  CHECK(same(message, out.data, room));
  drop(&out);
}

static void ciphertexts(void) {
  for (size_t i = 0; i < COUNT(ciphertext_vectors); i++) {
    manylane_sm2_key *key = key_of(ciphertext_vectors[i].d);
    manylane_sm2_public *public_key = public_of(key);
    bytes message = unhex(ciphertext_vectors[i].message), der = unhex(ciphertext_vectors[i].der);
    bytes c1 = unhex(ciphertext_vectors[i].c1), c2 = unhex(ciphertext_vectors[i].c2);
    bytes c3 = unhex(ciphertext_vectors[i].c3);
    decrypts(key, MANYLANE_SM2_ASN1, der.data, der.len, message);
    bytes raw = make(97 + c2.len);
    memcpy(raw.data, c1.data, 65);
    memcpy(raw.data + 65, c3.data, 32), memcpy(raw.data + 97, c2.data, c2.len);
    decrypts(key, MANYLANE_SM2_C1C3C2, raw.data, raw.len, message);
    decrypts(key, MANYLANE_SM2_C1C3C2_BARE, raw.data + 1, raw.len - 1, message);
    memcpy(raw.data + 65, c2.data, c2.len), memcpy(raw.data + 65 + c2.len, c3.data, 32);
    decrypts(key, MANYLANE_SM2_C1C2C3, raw.data, raw.len, message);
    decrypts(key, MANYLANE_SM2_C1C2C3_BARE, raw.data + 1, raw.len - 1, message);
    raw.data[raw.len - 1] ^= 1;
    size_t len = c2.len;
    STATUS(MANYLANE_ERROR_DECRYPTION,
           manylane_sm2_decrypt(key, MANYLANE_SM2_C1C2C3, raw.data, raw.len, c2.data, &len));
    for (int form = MANYLANE_SM2_ASN1; form <= MANYLANE_SM2_C1C2C3_BARE; form++) {
      len = 0;
      STATUS(MANYLANE_ERROR_OUTPUT_LENGTH,
             manylane_sm2_encrypt(public_key, form, message.data, message.len, NULL, &len));
      bytes made = make(len);
      OK(manylane_sm2_encrypt(public_key, form, message.data, message.len, made.data, &len));
      decrypts(key, form, made.data, len, message);
      drop(&made);
    }
    drop(&message), drop(&der), drop(&c1), drop(&c2), drop(&c3), drop(&raw);
    manylane_sm2_public_free(public_key);
    manylane_sm2_key_free(key);
  }
  for (size_t i = 0; i < COUNT(bad_ciphertext_vectors); i++) {
    manylane_sm2_key *key = key_of(bad_ciphertext_vectors[i].d);
    bytes c1 = unhex(bad_ciphertext_vectors[i].c1), c2 = unhex(bad_ciphertext_vectors[i].c2);
    bytes c3 = unhex(bad_ciphertext_vectors[i].c3), data = make(c2.len);
    memcpy(data.data, c2.data, c2.len);
    uint8_t *datas[] = {data.data};
    const manylane_sm2_key *keys[] = {key};
    int statuses[] = {1};
    STATUS(MANYLANE_ERROR_DECRYPTION,
           manylane_sm2_decrypt_many(keys, datas, &data.len, 1, c1.data, c3.data, statuses));
    CHECK(statuses[0] == MANYLANE_ERROR_DECRYPTION && all_zero(data.data, data.len));
    drop(&c1), drop(&c2), drop(&c3), drop(&data);
    manylane_sm2_key_free(key);
  }
}

enum { MANY = 40 };

static void many(void) {
  manylane_sm2_key *key = NULL;
  OK(manylane_sm2_key_generate(&key));
  manylane_sm2_public *public_key = public_of(key);
  const manylane_sm2_public *public_keys[MANY];
  const manylane_sm2_key *keys[MANY];
  static uint8_t texts[MANY][100], c1[MANY][65], c3[MANY][32];
  uint8_t *data[MANY];
  size_t lens[MANY];
  int statuses[MANY];
  for (size_t i = 0; i < MANY; i++) {
    public_keys[i] = public_key, keys[i] = key, data[i] = texts[i], lens[i] = 1 + 2 * i;
    memset(texts[i], (int)i, sizeof texts[i]);
  }
  lens[5] = 0;
  STATUS(MANYLANE_ERROR_MESSAGE_LENGTH,
         manylane_sm2_encrypt_many(public_keys, data, lens, MANY, c1[0], c3[0], statuses));
  for (size_t i = 0; i < MANY; i++)
    CHECK(statuses[i] == (i == 5 ? MANYLANE_ERROR_MESSAGE_LENGTH : MANYLANE_OK));
  c3[7][0] ^= 1;
  STATUS(MANYLANE_ERROR_DECRYPTION, manylane_sm2_decrypt_many(keys, data, lens, MANY, c1[0], c3[0], statuses));
  for (size_t i = 0; i < MANY; i++) {
    bool bad = i == 5 || i == 7;
    CHECK(statuses[i] == (bad ? MANYLANE_ERROR_DECRYPTION : MANYLANE_OK));
    for (size_t j = 0; j < lens[i]; j++)
      CHECK(texts[i][j] == (bad ? 0 : i));
  }
  /* One place for two messages. */
  data[3] = texts[2] + 1;
  STATUS(MANYLANE_ERROR_OVERLAP,
         manylane_sm2_encrypt_many(public_keys, data, lens, MANY, c1[0], c3[0], statuses));
  data[3] = texts[3];
  STATUS(MANYLANE_ERROR_OVERLAP,
         manylane_sm2_encrypt_many(public_keys, data, lens, MANY, texts[3], c3[0], statuses));
  public_keys[9] = (const manylane_sm2_public *)key;
  STATUS(MANYLANE_ERROR_HANDLE,
         manylane_sm2_encrypt_many(public_keys, data, lens, MANY, c1[0], c3[0], statuses));
  OK(manylane_sm2_encrypt_many(NULL, NULL, NULL, 0, NULL, NULL, NULL));
  STATUS(MANYLANE_ERROR_LENGTH,
         manylane_sm2_encrypt_many(public_keys, data, lens, SIZE_MAX / 2, c1[0], c3[0], statuses));
  manylane_sm2_public_free(public_key);
  manylane_sm2_key_free(key);
}

static void exchange(void) {
  manylane_sm2_key *a = NULL, *b = NULL;
  OK(manylane_sm2_key_generate(&a)), OK(manylane_sm2_key_generate(&b));
  manylane_sm2_public *public_a = public_of(a), *public_b = public_of(b);
  manylane_sm2_exchange *of_a = NULL, *of_b = NULL;
  OK(manylane_sm2_exchange_new(&of_a, MANYLANE_SM2_INITIATOR, a, "alice", 5, public_b, DEFAULT_ID));
  OK(manylane_sm2_exchange_new(&of_b, MANYLANE_SM2_RESPONDER, b, DEFAULT_ID, public_a, "alice", 5));
  /* The handles have keys of their own. */
  manylane_sm2_key_free(a), manylane_sm2_key_free(b);
  uint8_t r_a[65], r_b[65], key_a[48], key_b[48], confirm_a[32], confirm_b[32];
  STATUS(MANYLANE_ERROR_STATE, manylane_sm2_exchange_confirmation(of_a, confirm_a));
  OK(manylane_sm2_exchange_ephemeral(of_a, r_a)), OK(manylane_sm2_exchange_ephemeral(of_b, r_b));
  r_a[64] ^= 1;
  STATUS(MANYLANE_ERROR_KEY, manylane_sm2_exchange_agree(of_b, r_a, 65, key_b, sizeof key_b));
  r_a[64] ^= 1;
  OK(manylane_sm2_exchange_agree(of_b, r_a, 65, key_b, sizeof key_b));
  OK(manylane_sm2_exchange_agree(of_a, r_b, 65, key_a, sizeof key_a));
  CHECK(manylane_equal(key_a, key_b, sizeof key_a));
  OK(manylane_sm2_exchange_confirmation(of_a, confirm_a)), OK(manylane_sm2_exchange_confirmation(of_b, confirm_b));
  OK(manylane_sm2_exchange_check(of_a, confirm_b)), OK(manylane_sm2_exchange_check(of_b, confirm_a));
  STATUS(MANYLANE_ERROR_EXCHANGE, manylane_sm2_exchange_check(of_a, confirm_a));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_sm2_exchange_agree(of_a, r_b, 65, key_a, sizeof key_a));
  STATUS(MANYLANE_ERROR_FINISHED, manylane_sm2_exchange_ephemeral(of_a, r_a));
  manylane_sm2_exchange_free(of_a), manylane_sm2_exchange_free(of_b);
  manylane_sm2_public_free(public_a), manylane_sm2_public_free(public_b);
  for (size_t i = 0; i < COUNT(ecdh_vectors); i++) {
    manylane_sm2_key *one = key_of(ecdh_vectors[i].d), *other = key_of(ecdh_vectors[i].e);
    manylane_sm2_public *peer = public_of(other);
    bytes x = unhex(ecdh_vectors[i].x);
    uint8_t got[32];
    OK(manylane_sm2_diffie_hellman(one, peer, got));
    CHECK(same(x, got, sizeof got));
    drop(&x);
    manylane_sm2_public_free(peer);
    manylane_sm2_key_free(one), manylane_sm2_key_free(other);
  }
}

int main(void) {
  TEST(forms);
  TEST(passwords);
  TEST(signatures);
  TEST(default_id);
  TEST(ciphertexts);
  TEST(many);
  TEST(exchange);
  return done();
}
