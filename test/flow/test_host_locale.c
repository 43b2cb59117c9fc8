/* SPDX-License-Identifier: MIT */

/* A program whose locale writes a decimal comma: numbers that the library
 * writes and reads stay as they are (TS-01, and the row of
 * doc/embedding.md). */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/metrics_text.h>
#include <kin/yyjson.h>

#include "base/number.h"
#include "support/host_world.h"

#define LOCALE "de_DE.UTF-8"

static char directory[] = "/tmp/kin-locale-XXXXXX";

static bool set_comma(void) {
  return setlocale(LC_ALL, LOCALE) != NULL &&
         strcmp(localeconv()->decimal_point, ",") == 0;
}

/* The system's, or one that is made here. */
static bool have_locale(void) {
  bool is_there = set_comma();
  char command[160];
  snprintf(command, sizeof command,
           "localedef -f UTF-8 -i de_DE %s/" LOCALE " >/dev/null 2>&1",
           directory);
  if (!is_there && system(command) == 0) {
    setenv("LOCPATH", directory, 1);
    is_there = set_comma();
  }
  setlocale(LC_ALL, "C");
  return is_there;
}

static void need_locale(void) {
  if (!have_locale()) {
    print_message("skipped: there is no " LOCALE " and no localedef\n");
    skip();
  }
}

static int setup(void **state) {
  (void)state;
  return mkdtemp(directory) != NULL ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  char command[64];
  setlocale(LC_ALL, "C");
  snprintf(command, sizeof command, "rm -r %s", directory);
  return system(command);
}

static void test_locale_numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    int digits;
    const char *text;
  } rows[] = {{0, 10, "0"},
              {1e-6, 10, "1e-06"},
              {1.6e-5, 10, "1.6e-05"},
              {0.25, 10, "0.25"},
              {-1234567.875, 15, "-1234567.875"},
              {1e300, 17, "1.0000000000000001e+300"},
              {-0x1p-300, 17, "-4.9090934652977266e-91"}};
  need_locale();
  for (int is_comma = 0; is_comma < 2; is_comma++) {
    assert_true(!is_comma || set_comma());
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      char text[KIN__NUMBER_SIZE];
      assert_string_equal(
          kin__number_format(text, rows[i].value, rows[i].digits),
          rows[i].text);
    }
  }
  setlocale(LC_ALL, "C");
}

typedef struct page {
  char text[64 << 10];
  size_t length;
} page;

static int write_page(const char *text, size_t length, void *data) {
  page *p = data;
  assert_true(p->length + length < sizeof p->text);
  memcpy(p->text + p->length, text, length);
  p->length += length;
  return 0;
}

static void render(const host_world *w, page *p) {
  kin_metrics_source source = {.informer = w->program.informer, .name = "pods"};
  p->length = 0;
  assert_int_equal(
      kin_metrics_write(w->program.client, &source, 1, write_page, p), 0);
  p->text[p->length] = '\0';
}

/* The whole story, and then the same metrics in both locales. */
static void test_locale_metrics(void **state) {
  (void)state;
  static page comma;
  static page plain;
  need_locale();
  host_world w;
  assert_true(set_comma());
  host_init(&w, false);
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.deletes > 0) {
  }
  render(&w, &comma);
  setlocale(LC_ALL, "C");
  render(&w, &plain);
  assert_string_equal(comma.text, plain.text);
  assert_non_null(strstr(comma.text, "le=\"0.000256\""));
  host_close(&w);
  host_finish(&w);
  assert_int_equal(w.program.adds, 2);
  assert_int_equal(w.program.errors, 0);
}

/* Numbers in objects are read as JSON has them, and texts stay as they came. */
static void test_locale_json(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{\"name\":\"a\",\"uid\":\"1\",\"resourceVersion\":\"5\"},"
      "\"spec\":{\"half\":0.5,\"many\":1234567}}";
  need_locale();
  assert_true(set_comma());
  kin_object *object;
  kin_object_view *view;
  int64_t many;
  assert_int_equal(kin_object_parse(&object, NULL, text, strlen(text)), 0);
  assert_int_equal(kin_object_view_open(&view, object), 0);
  assert_int_equal(kin_object_view_int(view, "/spec/many", &many), 0);
  assert_int_equal(many, 1234567);
  yyjson_doc *document = kin_object_view_document(view, NULL);
  assert_non_null(document);
  yyjson_val *half = yyjson_doc_ptr_get(document, "/spec/half");
  assert_true(yyjson_get_real(half) == 0.5);
  kin_str json = kin_object_view_json(view);
  assert_int_equal(json.length, strlen(text));
  assert_memory_equal(json.data, text, json.length);
  kin_object_view_close(view);
  kin_object_unref(object);
  setlocale(LC_ALL, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locale_numbers),
      cmocka_unit_test(test_locale_metrics),
      cmocka_unit_test(test_locale_json),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
