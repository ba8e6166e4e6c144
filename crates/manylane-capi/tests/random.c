/*
 * Calls with arguments drawn at random: handles that are live, freed, null or of another kind, lengths and numbers in and
 * out of range, outputs in every place of the same memory. Nothing may crash, and nothing be written beside its place.
 */
#include "check.h"

#include <limits.h>

enum { CALLS = 30000, HANDLES = 24, MEMORY = 700 };

static uint64_t state = 0x6d616e796c616e65;

static uint64_t draw(uint64_t below) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (state >> 11) % below;
}

/* Live and freed handles of all kinds; and all that there ever were. */
static void *handles[HANDLES], *all[CALLS];
static size_t count;

static void **slot(void) { return &handles[draw(HANDLES)]; }

/* A handle: mostly that of a slot, whatever it is of. */
static void *any(void) { return draw(12) == 0 ? NULL : *slot(); }

/* Memory, whose end is the end of all; and a length that fits behind the pointer, nearly always. */
static uint8_t *memory;
static size_t fits;

static uint8_t *place(void) {
  size_t at = (size_t)draw(MEMORY);
  fits = draw(4) == 0 ? MEMORY - at : (size_t)draw(MEMORY - at + 1);
  if (draw(20) == 0)
    fits = draw(2) ? SIZE_MAX - (size_t)draw(3) : (size_t)PTRDIFF_MAX + 1;
  if (draw(20) == 0) {
    fits = draw(2) ? 0 : 5;
    return NULL;
  }
  return memory + at;
}

/* A pointer with room for what has a fixed length. */
static uint8_t *fixed(size_t len) { return draw(20) == 0 ? NULL : memory + draw(MEMORY - len + 1); }

static int number(void) { return draw(10) == 0 ? (int)(draw(2) ? INT_MIN : INT_MAX) : (int)draw(9) - 1; }

static const char *name(void) {
  static const char *const names[] = {"sm3", "sha3-256", "shake128", "kt128", "sm4-ctr", "sm4-cbc", "aes-256-ecb",
                                      "sm4-gcm", "aes-128-ccm", "sm4-xts", "aes-256-xts", "none", "", NULL};
  return names[draw(COUNT(names))];
}

enum { KINDS = 10 };

/* By the function of a kind, which need not be the handle's: then nothing happens. */
static void free_as(int kind, void *handle) {
  switch (kind) {
  case 0: manylane_hash_free(handle); break;
  case 1: manylane_hmac_free(handle); break;
  case 2: manylane_cipher_free(handle); break;
  case 3: manylane_aead_free(handle); break;
  case 4: manylane_gcm_stream_free(handle); break;
  case 5: manylane_xts_free(handle); break;
  case 6: manylane_sm2_key_free(handle); break;
  case 7: manylane_sm2_public_free(handle); break;
  case 8: manylane_sm2_exchange_free(handle); break;
  default: manylane_engine_free(handle);
  }
}

/* As many kinds of calls as there are cases. */
static int call(void) {
  const uint8_t *a = place();
  size_t a_len = fits;
  const uint8_t *b = place();
  size_t b_len = fits;
  uint8_t *out = place();
  size_t len = fits;
  void **to = slot(), *made = NULL;
  int done = 0;
  /* A place that does not lie where its length says it does is no caller's right: only what is refused. */
  if (len > MEMORY && out != NULL)
    len = (size_t)draw(16);
  switch (draw(41)) {
  case 0: done = manylane_hash_new((manylane_hash **)&made, name(), (size_t)draw(2) * (size_t)draw(100)); break;
  case 1: done = manylane_hash_update(any(), a, a_len); break;
  case 2: done = manylane_hash_finish(any(), out, &len); break;
  case 3: done = manylane_hash_clone(any(), (manylane_hash **)&made); break;
  case 4: done = manylane_hash_once(name(), a, a_len, out, &len); break;
  case 5: done = manylane_hmac_new((manylane_hmac **)&made, name(), a, a_len); break;
  case 6: done = manylane_hmac_update(any(), a, a_len); break;
  case 7: done = manylane_hmac_finish(any(), out, &len); break;
  case 8: done = manylane_hmac_verify(any(), a, a_len); break;
  case 9: done = manylane_hkdf_sm3(a, a_len, b, b_len, a, a_len, out, len); break;
  case 10: done = manylane_pbkdf2_sm3(a, a_len, b, b_len, (uint32_t)draw(4), out, len); break;
  case 11:
    done = manylane_cipher_new((manylane_cipher **)&made, name(), number() & 1, (int)draw(3), fixed(32), 8 + 8 * (size_t)draw(4), fixed(16),
                               (size_t)draw(2) * 16);
    break;
  case 12: done = manylane_cipher_update(any(), a, a_len, out, &len); break;
  case 13: done = manylane_cipher_update(any(), out, len, out, &len); break;
  case 14: done = manylane_cipher_finish(any(), out, &len); break;
  case 15: done = manylane_aead_new((manylane_aead **)&made, name(), fixed(16), 16, (size_t)draw(18)); break;
  case 16:
    done = manylane_aead_encrypt(any(), fixed(12), 12, b, b_len, out, len, out, fixed(16), 16);
    break;
  case 17: done = manylane_aead_decrypt(any(), a, a_len, b, b_len, out, len, out, fixed(16), 16); break;
  case 18: done = manylane_gcm_stream_new((manylane_gcm_stream **)&made, any(), (int)draw(3), fixed(12), 12, b, b_len); break;
  case 19: done = manylane_gcm_stream_update(any(), out, len, out); break;
  case 20: done = manylane_gcm_stream_tag(any(), fixed(16), 16); break;
  case 21: done = manylane_gcm_stream_verify(any(), a, a_len); break;
  case 22: done = manylane_xts_new((manylane_xts **)&made, name(), (int)draw(3), fixed(64), (size_t)draw(3) * 32); break;
  case 23: done = manylane_xts_crypt(any(), (int)draw(3), fixed(16), out, len, out); break;
  case 24: done = manylane_xts_crypt_units(any(), (int)draw(3), draw(UINT64_MAX), (size_t)draw(64), out, len, out); break;
  case 25: done = manylane_sm2_key_generate((manylane_sm2_key **)&made); break;
  case 26: done = manylane_sm2_key_decode((manylane_sm2_key **)&made, a, a_len, b, b_len); break;
  case 27: done = manylane_sm2_key_encode(any(), number(), out, &len); break;
  case 28: done = manylane_sm2_key_public(any(), (manylane_sm2_public **)&made); break;
  case 29: done = manylane_sm2_public_decode((manylane_sm2_public **)&made, a, a_len); break;
  case 30: done = manylane_sm2_public_encode(any(), number(), out, &len); break;
  case 31: done = manylane_sm2_sign(any(), a, a_len, b, b_len, number(), out, &len); break;
  case 32: done = manylane_sm2_verify(any(), a, a_len, b, b_len, number(), out, len); break;
  case 33: done = manylane_sm2_encrypt(any(), number(), a, a_len, out, &len); break;
  case 34: done = manylane_sm2_decrypt(any(), number(), a, a_len, out, &len); break;
  case 35:
    done = manylane_sm2_exchange_new((manylane_sm2_exchange **)&made, (int)draw(3), any(), a, a_len, any(), b, b_len);
    break;
  case 36: done = manylane_sm2_exchange_agree(any(), fixed(65), 65, out, len); break;
  case 37: {
    manylane_messages many = manylane_strided(a, a_len, (size_t)draw(40), (size_t)draw(60), (size_t)draw(30));
    if (draw(4) == 0)
      many.shape = number();
    /* Offsets and pointers that are none would be read. */
    if (many.shape != MANYLANE_SHAPE_STRIDED)
      many.places = NULL;
    done = manylane_hash_many(draw(2) ? NULL : any(), name(), 0, &many, out, len - len % 32);
    break;
  }
  case 38: done = manylane_hash_reset(any()); break;
  case 39: done = manylane_sm2_key_from_bytes((manylane_sm2_key **)&made, fixed(32), 32); break;
  default: free_as((int)draw(KINDS), any());
  }
  if (made != NULL) {
    CHECK(done == MANYLANE_OK);
    *to = made;
    all[count++] = made;
  }
  return done;
}

static void calls(void) {
  int good = 0, bad = 0;
  bytes all_of_it = make(MEMORY);
  memory = all_of_it.data;
  memset(memory, 1, MEMORY);
  for (int i = 0; i < CALLS; i++) {
    int done = call();
    CHECK(done <= 0 && done != MANYLANE_ERROR_PANIC && done != MANYLANE_ERROR_POISONED);
    CHECK(strcmp(manylane_error_text(done), "unknown status") != 0);
    *(done == MANYLANE_OK ? &good : &bad) += 1;
  }
  for (size_t i = 0; i < count; i++)
    for (int kind = 0; kind < KINDS; kind++)
      free_as(kind, all[i]);
  drop(&all_of_it);
  printf("%d calls did their work, %d were refused\n", good, bad);
  /* Both kinds were there to be tested. */
  CHECK(good > CALLS / 20 && bad > CALLS / 20);
}

int main(void) {
  TEST(calls);
  return done();
}
