/* SPDX-License-Identifier: MIT */

/* A program that has used up its descriptors or its memory, and gets some back:
 * the client says what it lacks and recovers by itself, each time. The rows are
 * those of doc/embedding.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/host_world.h"

#define MAX_FDS 256

/* Every descriptor that the process may have. */
typedef struct full_table {
  struct rlimit before;
  int fds[MAX_FDS];
  int count;
} full_table;

static void table_fill(full_table *table) {
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &table->before), 0);
  struct rlimit low = table->before;
  low.rlim_cur = MAX_FDS;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  table->count = 0;
  int fd;
  while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
    assert_true(table->count < MAX_FDS);
    table->fds[table->count++] = fd;
  }
}

static void table_empty(full_table *table) {
  while (table->count > 0) {
    close(table->fds[--table->count]);
  }
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &table->before), 0);
}

/* With an authority, or a token, from a file, these cannot be read either. */
static void open_world(host_world *w, bool is_tls, bool has_files,
                       char *directory, char *path, size_t size) {
  host_init(w, is_tls);
  if (has_files) {
    assert_non_null(mkdtemp(directory));
    snprintf(path, size, "%s/file", directory);
    tls_write_file(path, tls_pki_get()->authority_pem);
    w->program.options.certificate_authority_data = NULL;
    w->program.options.certificate_authority_file = path;
  }
}

static void check_descriptors(bool is_tls, bool has_files) {
  host_world w;
  full_table table;
  char directory[] = "/tmp/kin-limits-XXXXXX";
  char path[64];
  open_world(&w, is_tls, has_files, directory, path, sizeof path);
  table_fill(&table);
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.errors >= 2) {
  }
  assert_int_equal(w.program.code, has_files ? KIN_ETLSSETUP : UV_EMFILE);
  table_empty(&table);
  HOST_UNTIL(&w, w.program.deletes == 1) {
  }
  /* Again, with a connection that breaks meanwhile. */
  table_fill(&table);
  int errors = w.program.errors;
  host_reset(&w);
  HOST_UNTIL(&w, w.program.errors >= errors + 2) {
  }
  table_empty(&table);
  HOST_UNTIL(&w, w.program.deletes == 2) {
  }
  assert_int_equal(w.program.adds, 3);
  host_close(&w);
  host_finish(&w);
  if (has_files) {
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
  }
}

static void test_limits_descriptors(void **state) {
  (void)state;
  check_descriptors(false, false);
  check_descriptors(true, false);
  check_descriptors(true, true);
}

/* The allocator gives nothing any more from the n-th call on, until there have
 * been two errors; then it does again. Twice. */
static void check_memory(bool is_tls) {
  host_world w;
  host_init(&w, is_tls);
  assert_int_equal(host_open(&w), 0);
  w.program.memory.keeps_failing = true;
  for (int round = 1; round <= 2; round++) {
    int errors = w.program.errors;
    if (round == 2) {
      host_reset(&w);
    }
    w.program.memory.fail_at = atomic_load(&w.program.memory.calls) + 1;
    HOST_UNTIL(&w, w.program.errors >= errors + 2) {
    }
    assert_int_equal(w.program.code, KIN_ENOMEM);
    w.program.memory.fail_at = 0;
    HOST_UNTIL(&w, w.program.deletes == round) {
    }
  }
  assert_int_equal(w.program.adds, 3);
  host_close(&w);
  host_finish(&w);
}

static void test_limits_memory(void **state) {
  (void)state;
  check_memory(false);
  check_memory(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits_descriptors),
      cmocka_unit_test(test_limits_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
