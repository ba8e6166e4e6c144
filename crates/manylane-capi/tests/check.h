/* What all tests need: counting, and bytes of hexadecimal digits. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif

#include <manylane.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int passed, failed, wrong_checks;

/* A test is a function without arguments; it passes if all of its checks hold. */
#define TEST(function) run_test(function, #function)

/* Says where a condition does not hold. */
#define CHECK(condition) check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)

/* The same for a status that is expected. */
#define STATUS(expected, call) status((int)(expected), (call), __FILE__, __LINE__, #call)
#define OK(call) STATUS(MANYLANE_OK, call)

static inline void check(int holds, const char *file, int line, const char *what) {
  if (!holds) {
    wrong_checks++;
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
  }
}

static inline void run_test(void (*test)(void), const char *name) {
  int before = wrong_checks;
  test();
  printf("%s: %s\n", name, wrong_checks == before ? "ok" : "FAILED");
  if (wrong_checks == before)
    passed++;
  else
    failed++;
}

static inline int status(int expected, int got, const char *file, int line, const char *what) {
  check(expected == got, file, line, what);
  if (expected != got)
    fprintf(stderr, "  %d (%s) instead of %d\n", got, manylane_last_error(), expected);
  return got;
}

/*
 * Bytes that end where no memory is: the library's code is not instrumented, so the sanitizer sees little of what it
 * reads and writes, but the processor sees all.
 */
typedef struct {
  uint8_t *data;
  size_t len;
} bytes;

/* Bytes of whole pages, and of a page. */
static inline size_t pages(size_t len) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (len + page - 1) / page * page;
}

static inline bytes make(size_t len) {
  size_t before = pages(len), page = pages(1);
  void *start = mmap(NULL, before + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect((uint8_t *)start + before, page, PROT_NONE) != 0)
    abort();
  bytes made = {(uint8_t *)start + before - len, len};
  return made;
}

static inline bytes unhex(const char *digits) {
  bytes made = make(strlen(digits) / 2);
  for (size_t i = 0; i < made.len; i++) {
    char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
    made.data[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return made;
}

static inline void drop(bytes *b) {
  if (munmap(b->data + b->len - pages(b->len), pages(b->len) + pages(1)) != 0)
    abort();
  b->data = NULL;
  b->len = 0;
}

static inline int same(bytes a, const void *b, size_t len) {
  return a.len == len && (len == 0 || memcmp(a.data, b, len) == 0);
}

static inline int all_zero(const uint8_t *data, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (data[i] != 0)
      return 0;
  return 1;
}

static inline int done(void) {
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

/* A user ID and its length, where it is any. */
#define DEFAULT_ID MANYLANE_SM2_DEFAULT_ID, MANYLANE_SM2_DEFAULT_ID_LEN

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
