/* SPDX-License-Identifier: MIT */
/* Proves TR-01 as far as the system's authorities go: where they are looked
 * for, and within which bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/tls_roots.h"

static char root[64];
static char scratch[1u << 20];

typedef struct found {
  size_t files;
  size_t bytes;
  size_t stop_at;
  char text[64];
} found;

static bool take(void *ctx, const char *bytes, size_t length) {
  found *f = ctx;
  f->files++;
  f->bytes += length;
  if (length < 10 && strlen(f->text) < 40) {
    strncat(f->text, bytes, length);
  }
  return f->files != f->stop_at;
}

static const char *path_of(const char *name) {
  static char path[4][200];
  static size_t turn;
  char *out = path[turn++ % 4];
  snprintf(out, sizeof path[0], "%s/%s", root, name);
  return out;
}

static void write_bytes(const char *name, size_t length, char byte) {
  FILE *file = fopen(path_of(name), "w");
  assert_non_null(file);
  memset(scratch, byte, length);
  assert_int_equal(fwrite(scratch, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static found read_all(const char *directories, size_t stop_at) {
  found f = {.stop_at = stop_at};
  kin__file_id id = {.size = 7};
  kin__file_id same = {.size = 7};
  bool goes_on =
      kin__tls_roots_read(directories, &id, scratch, sizeof scratch, take, &f);
  assert_int_equal(goes_on, stop_at == 0 || f.files < stop_at);
  kin__tls_roots_add_ids(directories, &same);
  assert_true(stop_at != 0 || kin__file_id_equal(&id, &same));
  return f;
}

static int set_up(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(root));
  assert_int_equal(mkdir(path_of("a"), 0700), 0);
  assert_int_equal(mkdir(path_of("b"), 0700), 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void test_tls_roots_directories(void **state) {
  (void)state;
  char both[300];
  write_bytes("a/1", 1, 'x');
  write_bytes("b/2", 2, 'y');
  assert_int_equal(mkdir(path_of("b/folder"), 0700), 0);
  assert_int_equal(mkfifo(path_of("b/pipe"), 0600), 0);
  assert_int_equal(symlink("2", path_of("b/beside")), 0);
  assert_int_equal(symlink("../a/1", path_of("b/elsewhere")), 0);
  assert_int_equal(symlink("nothing", path_of("b/dangling")), 0);
  assert_int_equal(read_all(path_of("a"), 0).files, 1);
  assert_int_equal(read_all(path_of("b"), 0).files, 2);
  assert_int_equal(read_all(path_of("none"), 0).files, 0);
  assert_int_equal(read_all("", 0).files, 0);
  assert_int_equal(read_all(":::", 0).files, 0);
  snprintf(both, sizeof both, ":%s::%s/none:%s:", path_of("a"), root,
           path_of("b"));
  assert_int_equal(read_all(both, 0).files, 3);
  assert_int_equal(read_all(both, 0).bytes, 1 + 2 + 1);
  assert_int_equal(read_all(both, 1).files, 1);
  assert_int_equal(read_all(both, 2).files, 2);
}

/* A directory whose next change has another time, whatever the clock of the
 * file system. */
static kin__file_id ids_of_old(const char *directories) {
  static const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  assert_int_equal(utimensat(AT_FDCWD, path_of("b"), old, 0), 0);
  kin__file_id ids = {.size = 0};
  kin__tls_roots_add_ids(directories, &ids);
  return ids;
}

/* A new file is noticed, and its removal, twice: also in a directory that is
 * named twice. */
static void test_tls_roots_ids(void **state) {
  (void)state;
  static const char *const first[] = {"a", "b"};
  for (int i = 0; i < 4; i++) {
    char both[300];
    snprintf(both, sizeof both, "%s:%s", path_of(first[i / 2]), path_of("b"));
    kin__file_id before = ids_of_old(both);
    kin__file_id after = {.size = 0};
    write_bytes("b/new", 1, 'x');
    kin__tls_roots_add_ids(both, &after);
    assert_false(kin__file_id_equal(&before, &after));
    before = ids_of_old(both);
    after = (kin__file_id){.size = 0};
    assert_int_equal(unlink(path_of("b/new")), 0);
    kin__tls_roots_add_ids(both, &after);
    assert_false(kin__file_id_equal(&before, &after));
  }
}

static void test_tls_roots_bounds(void **state) {
  (void)state;
  for (int i = 0; i < 33; i++) {
    char name[20];
    snprintf(name, sizeof name, "a/%d", i);
    write_bytes(name, sizeof scratch, 'x');
  }
  found f = read_all(path_of("a"), 0);
  assert_int_equal(f.files, 32);
  assert_int_equal(f.bytes, KIN__TLS_ROOTS_MAX_BYTES);
  for (unsigned i = 0; i < KIN__TLS_ROOTS_MAX_FILES + 5; i++) {
    char name[20];
    snprintf(name, sizeof name, "b/%u", i);
    write_bytes(name, 1, 'x');
  }
  assert_int_equal(read_all(path_of("b"), 0).files, KIN__TLS_ROOTS_MAX_FILES);
}

/* Whatever this system has, looking for it does no harm. */
static void test_tls_roots_of_this_system(void **state) {
  (void)state;
  kin__file_id id;
  const char *path = kin__tls_roots_bundle(&id);
  assert_true(path == NULL || id.size > 0);
  (void)read_all(NULL, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_tls_roots_directories),
      TEST(test_tls_roots_ids),
      TEST(test_tls_roots_bounds),
      TEST(test_tls_roots_of_this_system),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
