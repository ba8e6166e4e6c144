/* Keys that were given or made are nowhere on the stack below the caller when a call returns. */
#include "check.h"

enum { DEPTH = 60000, KEY = 32 };

/* The key's bytes under a mask, so that the search does not find itself; forwards and as a little-endian number. */
static uint8_t forwards[KEY], backwards[KEY];
static size_t key_len;

static void look_for(const uint8_t *key, size_t len) {
  key_len = len;
  for (size_t i = 0; i < len; i++) {
    forwards[i] = (uint8_t)(key[i] ^ 0x5a);
    backwards[i] = (uint8_t)(key[len - 1 - i] ^ 0x5a);
  }
}

/* Half of the key is enough to be found. */
static int is_at(const volatile uint8_t *place, const uint8_t *masked) {
  size_t same = 0;
  while (same < key_len / 2 && (place[same] ^ 0x5a) == masked[same])
    same++;
  return same == key_len / 2;
}

/* Memory that no variable owns any more is read on purpose. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static int copies(void) {
  volatile uint8_t here;
  volatile uint8_t *top = &here - 256;
  int found = 0;
  for (volatile uint8_t *place = top - DEPTH; place < top - KEY; place++)
    found += is_at(place, forwards) + is_at(place, forwards + key_len / 2) + is_at(place, backwards) +
             is_at(place, backwards + key_len / 2);
  return found;
}

/* Leaves a copy where a call would. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static void leave(const uint8_t *key) {
  volatile uint8_t deep[4096];
  for (size_t i = 0; i < sizeof deep; i++)
    deep[i] = 0;
  for (size_t i = 0; i < key_len; i++)
    deep[512 + i] = key[i];
}

enum { DEEP = 300000, ENTRY = 2048, PAINT = 0xee };

static volatile uint8_t *deepest;

/* The place is only compared with others, later. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
__attribute__((noinline, no_sanitize("address", "undefined"))) static void paint(void) {
  volatile uint8_t deep[DEEP];
  for (size_t i = 0; i < DEEP; i++)
    deep[i] = PAINT;
  deepest = deep;
}
#pragma GCC diagnostic pop

/* Bytes that a call has left, below its own first frame. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static int left(void) {
  volatile uint8_t here;
  int found = 0;
  for (volatile uint8_t *place = deepest; place < &here - ENTRY; place++)
    found += *place != PAINT && *place != 0;
  return found;
}

/* A call that leaves nothing where it worked: 130 to 140 bytes are of the wiping's own frames. */
#define LEAVES_NOTHING(call) (paint(), OK(call), CHECK(left() < 256))

static uint8_t *secret;

static void depths(void) {
  enum { MANY = 40 };
  manylane_sm2_key *key = NULL, *other = NULL;
  manylane_sm2_public *public_key = NULL;
  manylane_sm2_exchange *exchange = NULL;
  uint8_t out[512], sealed[200], point[65];
  size_t len = 72, sealed_len = sizeof sealed;
  LEAVES_NOTHING(manylane_sm2_key_generate(&other));
  LEAVES_NOTHING(manylane_sm2_key_from_bytes(&key, secret, 32));
  OK(manylane_sm2_key_public(key, &public_key));
  LEAVES_NOTHING(manylane_sm2_sign(key, "a", 1, "abc", 3, MANYLANE_SM2_SIGNATURE_DER, out, &len));
  LEAVES_NOTHING(manylane_sm2_encrypt(public_key, MANYLANE_SM2_ASN1, "abc", 3, sealed, &sealed_len));
  len = sizeof out;
  LEAVES_NOTHING(manylane_sm2_decrypt(key, MANYLANE_SM2_ASN1, sealed, sealed_len, out, &len));
  len = sizeof out;
  LEAVES_NOTHING(manylane_sm2_key_encrypt(key, MANYLANE_SM2_PEM, MANYLANE_SM2_KDF_SHA256, 10, "pass", 4, out, &len));
  manylane_sm2_key_free(other);
  LEAVES_NOTHING(manylane_sm2_key_decode(&other, out, len, "pass", 4));
  LEAVES_NOTHING(manylane_sm2_diffie_hellman(key, public_key, out));
  LEAVES_NOTHING(manylane_sm2_exchange_new(&exchange, MANYLANE_SM2_INITIATOR, key, "a", 1, public_key, "b", 1));
  len = sizeof point;
  OK(manylane_sm2_public_encode(public_key, MANYLANE_SM2_RAW, point, &len));
  LEAVES_NOTHING(manylane_sm2_exchange_agree(exchange, point, 65, out, 48));
  manylane_sm2_exchange_free(exchange);
  static uint8_t texts[MANY][32], c1[65 * MANY], c3[32 * MANY];
  const manylane_sm2_public *public_keys[MANY];
  const manylane_sm2_key *keys[MANY];
  uint8_t *places[MANY];
  size_t lens[MANY];
  int statuses[MANY];
  for (size_t i = 0; i < MANY; i++)
    public_keys[i] = public_key, keys[i] = key, places[i] = texts[i], lens[i] = sizeof texts[i];
  LEAVES_NOTHING(manylane_sm2_encrypt_many(public_keys, places, lens, MANY, c1, c3, statuses));
  LEAVES_NOTHING(manylane_sm2_decrypt_many(keys, places, lens, MANY, c1, c3, statuses));
  manylane_sm2_key_free(key), manylane_sm2_key_free(other), manylane_sm2_public_free(public_key);
  static const char *const hashes[] = {"sm3", "sha3-512"};
  for (size_t i = 0; i < COUNT(hashes); i++) {
    manylane_hmac *hmac = NULL;
    LEAVES_NOTHING(manylane_hmac_new(&hmac, hashes[i], secret, 32));
    manylane_hmac_free(hmac);
    len = 64;
    LEAVES_NOTHING(manylane_hmac_once(hashes[i], secret, 32, "abc", 3, out, &len));
  }
  manylane_messages all = manylane_strided(texts, sizeof texts, 32, 32, MANY);
  LEAVES_NOTHING(manylane_hmac_sm3_many(NULL, &all, &all, c3, sizeof c3));
  LEAVES_NOTHING(manylane_hkdf_sm3(secret, 32, NULL, 0, NULL, 0, out, 100));
  LEAVES_NOTHING(manylane_pbkdf2_sm3(secret, 32, "salt", 4, 2, out, 512));
  manylane_aead *aead = NULL;
  manylane_cipher *cipher = NULL;
  manylane_xts *xts = NULL;
  LEAVES_NOTHING(manylane_aead_new(&aead, "aes-256-gcm", secret, 32, 0));
  manylane_aead_free(aead);
  LEAVES_NOTHING(manylane_aead_new(&aead, "sm4-ccm", secret, 16, 0));
  manylane_aead_free(aead);
  LEAVES_NOTHING(manylane_cipher_new(&cipher, "aes-256-cbc", MANYLANE_DECRYPT, 1, secret, 32, "sixteen bytes iv", 16));
  manylane_cipher_free(cipher);
  LEAVES_NOTHING(manylane_xts_new(&xts, "sm4-xts", MANYLANE_XTS_GB, secret, 32));
  manylane_xts_free(xts);
}

static void the_search_finds_a_copy(void) {
  look_for(secret, 32);
  leave(secret);
  CHECK(copies() > 0);
}

static void sm2(void) {
  look_for(secret, 32);
  manylane_sm2_key *key = NULL;
  OK(manylane_sm2_key_from_bytes(&key, secret, 32));
  CHECK(copies() == 0);
  uint8_t signature[72], *out = (uint8_t *)malloc(512);
  size_t len = sizeof signature;
  OK(manylane_sm2_sign(key, DEFAULT_ID, "abc", 3, MANYLANE_SM2_SIGNATURE_DER, signature, &len));
  CHECK(copies() == 0);
  manylane_sm2_signer *signer = NULL;
  OK(manylane_sm2_signer_new(&signer, key, DEFAULT_ID));
  CHECK(copies() == 0);
  len = sizeof signature;
  OK(manylane_sm2_signer_finish(signer, MANYLANE_SM2_SIGNATURE_DER, signature, &len));
  CHECK(copies() == 0);
  manylane_sm2_signer_free(signer);
  for (int form = MANYLANE_SM2_RAW; form <= MANYLANE_SM2_SEC1_PEM; form++) {
    len = 512;
    STATUS(form == MANYLANE_SM2_COMPRESSED ? MANYLANE_ERROR_ARGUMENT : MANYLANE_OK,
           manylane_sm2_key_encode(key, form, out, &len));
    CHECK(copies() == 0);
  }
  len = 512;
  OK(manylane_sm2_key_encrypt(key, MANYLANE_SM2_PEM, MANYLANE_SM2_KDF_SM3, 100, "pass", 4, out, &len));
  CHECK(copies() == 0);
  manylane_sm2_key *again = NULL;
  OK(manylane_sm2_key_decode(&again, out, len, "pass", 4));
  CHECK(copies() == 0);
  manylane_sm2_public *public_key = NULL;
  OK(manylane_sm2_key_public(key, &public_key));
  manylane_sm2_exchange *exchange = NULL;
  OK(manylane_sm2_exchange_new(&exchange, MANYLANE_SM2_INITIATOR, key, DEFAULT_ID, public_key,
                               DEFAULT_ID));
  CHECK(copies() == 0);
  manylane_sm2_exchange_free(exchange);
  len = 512;
  OK(manylane_sm2_encrypt(public_key, MANYLANE_SM2_ASN1, "abc", 3, out, &len));
  size_t plain_len = 512 - len;
  OK(manylane_sm2_decrypt(key, MANYLANE_SM2_ASN1, out, len, out + len, &plain_len));
  CHECK(copies() == 0);
  OK(manylane_sm2_diffie_hellman(key, public_key, out));
  CHECK(copies() == 0);
  look_for(out, 32);
  CHECK(copies() == 0);
  look_for(secret, 32);
  manylane_sm2_key_free(again);
  manylane_sm2_key_free(key);
  CHECK(copies() == 0);
  manylane_sm2_public_free(public_key);
  free(out);
}

static void ciphers(void) {
  static const char *const aeads[] = {"aes-128-gcm", "sm4-gcm", "aes-128-ccm", "sm4-ccm"};
  static const char *const modes[] = {"aes-128-cbc", "sm4-ctr", "sm4-ecb"};
  look_for(secret, 16);
  for (size_t i = 0; i < COUNT(aeads); i++) {
    manylane_aead *aead = NULL;
    OK(manylane_aead_new(&aead, aeads[i], secret, 16, 0));
    CHECK(copies() == 0);
    manylane_aead_free(aead);
    CHECK(copies() == 0);
  }
  for (size_t i = 0; i < COUNT(modes); i++) {
    manylane_cipher *cipher = NULL;
    OK(manylane_cipher_new(&cipher, modes[i], MANYLANE_ENCRYPT, 0, secret, 16, "sixteen bytes iv", i < 2 ? 16 : 0));
    CHECK(copies() == 0);
    manylane_cipher_free(cipher);
    CHECK(copies() == 0);
  }
  manylane_xts *xts = NULL;
  OK(manylane_xts_new(&xts, "aes-128-xts", MANYLANE_XTS_IEEE, secret, 32));
  CHECK(copies() == 0);
  manylane_xts_free(xts);
  CHECK(copies() == 0);
}

static void codes(void) {
  look_for(secret, 32);
  uint8_t *out = (uint8_t *)malloc(64);
  size_t len = 64;
  manylane_hmac *hmac = NULL;
  OK(manylane_hmac_new(&hmac, "sm3", secret, 32));
  CHECK(copies() == 0);
  manylane_hmac_free(hmac);
  OK(manylane_hmac_once("sm3", secret, 32, "abc", 3, out, &len));
  CHECK(copies() == 0);
  OK(manylane_hkdf_sm3(secret, 32, NULL, 0, NULL, 0, out, 32));
  CHECK(copies() == 0);
  look_for(out, 32);
  CHECK(copies() == 0);
  look_for(secret, 32);
  OK(manylane_pbkdf2_sm3(secret, 32, "salt", 4, 2, out, 32));
  CHECK(copies() == 0);
  look_for(out, 32);
  CHECK(copies() == 0);
  free(out);
}

int main(void) {
  secret = (uint8_t *)malloc(32);
  if (secret == NULL)
    return 1;
  for (size_t i = 0; i < 32; i++)
    secret[i] = (uint8_t)(37 * i + 11) & 0x7f;
  TEST(the_search_finds_a_copy);
  TEST(sm2);
  TEST(depths);
  TEST(ciphers);
  TEST(codes);
  free(secret);
  return done();
}
