/* A child goes on with the handles of its parent, whose threads it does not have. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 20000, LEN = 200 };

static uint8_t rows[ROWS][LEN], digests[ROWS][32], again[ROWS][32];

static void hash_all(const manylane_engine *engine, uint8_t (*out)[32]) {
  manylane_messages all = manylane_strided(rows, sizeof rows, LEN, LEN, ROWS);
  OK(manylane_hash_many(engine, "sm3", 0, &all, out[0], sizeof digests));
}

/* In a child of its own, which says by its end whether all was well. */
static void in_child(void (*work)(void *), void *with) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    wrong_checks = 0;
    work(with);
    fflush(NULL);
    _exit(wrong_checks == 0 ? 0 : 1);
  }
  int how = 0;
  CHECK(child > 0 && waitpid(child, &how, 0) == child);
  CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

struct all {
  manylane_engine *engine;
  manylane_hash *hash;
  manylane_sm2_key *key;
};

static void use(void *with) {
  struct all *all = (struct all *)with;
  hash_all(all->engine, again);
  CHECK(memcmp(digests, again, sizeof digests) == 0);
  uint8_t digest[32], expected[32], signature[64];
  size_t len = 32, expected_len = 32, signature_len = 64;
  OK(manylane_hash_update(all->hash, "c", 1));
  OK(manylane_hash_finish(all->hash, digest, &len));
  OK(manylane_hash_once("sm3", "abc", 3, expected, &expected_len));
  CHECK(memcmp(digest, expected, 32) == 0);
  OK(manylane_sm2_sign(all->key, DEFAULT_ID, "abc", 3, MANYLANE_SM2_SIGNATURE_RAW, signature, &signature_len));
  manylane_hash_free(all->hash), manylane_sm2_key_free(all->key), manylane_engine_free(all->engine);
}

/* A child that has a child. */
static void use_deeper(void *with) { in_child(use, with); }

static struct all all;

static void a_child(void) { in_child(use, &all); }

static void a_child_of_a_child(void) { in_child(use_deeper, &all); }

/* What children did with their handles is not seen here. */
static void the_parent(void) { use(&all); }

int main(void) {
  for (size_t i = 0; i < ROWS; i++)
    memset(rows[i], (int)(i % 241), LEN);
  if (manylane_engine_new(&all.engine, "cpu", 2) != MANYLANE_OK ||
      manylane_hash_new(&all.hash, "sm3", 0) != MANYLANE_OK ||
      manylane_hash_update(all.hash, "ab", 2) != MANYLANE_OK || manylane_sm2_key_generate(&all.key) != MANYLANE_OK)
    return 1;
  hash_all(all.engine, digests); /* its threads run now */
  TEST(a_child);
  TEST(a_child);
  TEST(a_child_of_a_child);
  TEST(the_parent);
  return done();
}
