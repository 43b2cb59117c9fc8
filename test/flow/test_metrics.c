/* SPDX-License-Identifier: MIT */

/* What an informer counts, and how it is written. Proves IM-03, IM-04 (better:
 * they are reported), NR-12, TS-13, RW-07's short watches. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics_text.h>

#include "base/alloc.h"
#include "base/histogram.h"
#include "support/fail_alloc.h"
#include "support/informer_world.h"

static void test_buckets(void **state) {
  (void)state;
  kin_histogram histogram = {0};
  kin__histogram_add(&histogram, 0, 1);
  kin__histogram_add(&histogram, 1, 1);
  kin__histogram_add(&histogram, 2, 1);
  kin__histogram_add(&histogram, 4, 3);
  kin__histogram_add(&histogram, 5, 1);
  kin__histogram_add(&histogram, UINT64_MAX, 1);
  assert_int_equal(histogram.count, 8);
  assert_int_equal(histogram.buckets[0], 2);
  assert_int_equal(histogram.buckets[1], 4);
  assert_int_equal(histogram.buckets[2], 1);
  assert_int_equal(histogram.buckets[KIN_HISTOGRAM_BUCKETS - 1], 1);
  /* Each bound is the last value of its own bucket. */
  for (size_t i = 0; i + 1 < KIN_HISTOGRAM_BUCKETS; i++) {
    uint64_t bound = kin_histogram_bound(i);
    assert_int_equal(kin__histogram_bucket(bound), i);
    assert_int_equal(kin__histogram_bucket(bound + 1), i + 1);
  }
  assert_true(kin_histogram_bound(KIN_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

static kin_histogram read_small(const kin__small_histogram *small) {
  kin_histogram histogram = {0};
  kin__histogram_merge(&histogram, small);
  return histogram;
}

/* Values in two buckets need no memory. A value in a third bucket needs a table,
 * and is not counted without one. */
static void test_small_histogram(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 1);
  const kin_allocator *allocator = &memory.allocator;
  kin__small_histogram small = {0};
  kin__small_histogram_add(&small, allocator, 7, 1);
  kin__small_histogram_add(&small, allocator, 0, 2);
  kin__small_histogram_add(&small, allocator, 9, 1);
  kin__small_histogram_add(&small, allocator, 100, 1);
  assert_null(small.buckets);
  kin_histogram histogram = read_small(&small);
  assert_int_equal(histogram.count, 4);
  assert_int_equal(histogram.sum, 16);
  assert_int_equal(histogram.buckets[0], 2);
  assert_int_equal(histogram.buckets[2], 2);
  kin__small_histogram_add(&small, allocator, 100, 3);
  histogram = read_small(&small);
  assert_int_equal(histogram.count, 7);
  assert_int_equal(histogram.sum, 316);
  assert_int_equal(histogram.buckets[2], 2);
  assert_int_equal(histogram.buckets[4], 3);
  kin__small_histogram_finish(&small, allocator);
  assert_int_equal(memory.live_blocks, 0);
}

/* A place among the few that is full needs the table, too. */
static void test_full_small_histogram(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__small_histogram small = {0};
  kin__small_histogram_add(&small, &memory.allocator, 1,
                           KIN__HISTOGRAM_FEW_MAX);
  assert_null(small.buckets);
  kin__small_histogram_add(&small, &memory.allocator, 1, 1);
  assert_non_null(small.buckets);
  kin_histogram histogram = read_small(&small);
  assert_int_equal(histogram.count, KIN__HISTOGRAM_FEW_MAX + 1);
  assert_int_equal(histogram.sum, KIN__HISTOGRAM_FEW_MAX + 1);
  assert_int_equal(histogram.buckets[0], KIN__HISTOGRAM_FEW_MAX + 1);
  kin__small_histogram_finish(&small, &memory.allocator);
}

static void test_lists_and_events(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 3);
  kin_informer_metrics metrics = iw_metrics(&w);
  assert_int_equal(metrics.lists, 0);
  assert_int_equal(metrics.listeners, 1);
  assert_int_equal(metrics.scopes[KIN_STATE_SYNCING], 1);
  mini_serve(&w.server);
  mini_put(&w.server, 3);
  mini_put(&w.server, 3);
  mini_delete(&w.server, 0);
  mini_serve(&w.server);
  mini_bookmark(&w.server);
  mini_serve(&w.server);
  metrics = iw_metrics(&w);
  assert_int_equal(metrics.scopes[KIN_STATE_SYNCING], 0);
  assert_int_equal(metrics.scopes[KIN_STATE_LIVE], 1);
  assert_int_equal(metrics.lists, 1);
  assert_int_equal(metrics.list_us.count, 1);
  assert_int_equal(metrics.list_items.sum, 3);
  assert_int_equal(metrics.watches, 1);
  assert_int_equal(metrics.watch_us.count, 0); /* it goes on */
  assert_int_equal(metrics.added_events, 1);
  assert_int_equal(metrics.modified_events, 1);
  assert_int_equal(metrics.deleted_events, 1);
  assert_int_equal(metrics.bookmarks, 1);
  assert_int_equal(metrics.objects, 3);
  assert_true(metrics.object_bytes > 0);
  assert_int_equal(metrics.queue_depth, 0);
  assert_true(metrics.process_us.count >= 2);
  assert_int_equal(metrics.delivered, w.rec.calls);
  assert_int_equal(metrics.handler_us.count, w.rec.calls);
  assert_int_equal(metrics.coalesced, 0);
  assert_int_equal(metrics.pending, 0);
  double version;
  assert_true(kin_informer_version_gauge(w.informer, NULL, &version));
  assert_true(version == (double)w.server.version);
  version = 42;
  assert_false(kin_informer_version_gauge(w.informer, "none", &version));
  static const char opaque[] = "{\"type\":\"BOOKMARK\",\"object\":{"
                               "\"metadata\":{\"resourceVersion\":\"x\"}}}\n";
  script_body(&w.script, "watch=true", opaque, sizeof opaque - 1);
  assert_false(kin_informer_version_gauge(w.informer, "", &version));
  assert_true(version == 42); /* left alone */
  iw_finish(&w);
}

static void test_watches_and_failures(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 2);
  mini_serve(&w.server);
  mini_end_watches(&w.server); /* at once, and silent */
  mini_pass(&w.server, 5000);
  kin_informer_metrics metrics = iw_metrics(&w);
  assert_int_equal(metrics.short_watches, 1);
  assert_int_equal(metrics.watch_us.count, 1);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  mini_put(&w.server, 0);
  mini_compact(&w.server);
  mini_break_watches(&w.server);
  mini_pass(&w.server, 60000);
  metrics = iw_metrics(&w);
  assert_int_equal(metrics.lists, 2);
  assert_int_equal(metrics.lost_positions[KIN_RELIST_EXPIRED], 1);
  assert_int_equal(metrics.lost_positions[KIN_RELIST_DECODE], 0);
  uint64_t failures = 0;
  for (int i = 0; i < KIN_ERROR_CLASSES; i++) {
    failures += metrics.failures[i];
  }
  assert_int_equal(failures, w.errors);
  assert_int_equal(metrics.watch_items.sum, 1);
  iw_finish(&w);
}

/* Short is a watch that ends within a second, and nothing was said on it. */
static void test_short_watches(void **state) {
  (void)state;
  static const struct {
    uint64_t ms;
    bool has_event;
    uint64_t expected;
  } rows[] = {{999, false, 1}, {1000, false, 0}, {999, true, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    iw_world w;
    iw_open_objects(&w, 2);
    mini_serve(&w.server);
    script_advance(&w.script, rows[i].ms);
    if (rows[i].has_event) {
      mini_put(&w.server, 1);
      mini_serve(&w.server);
    }
    mini_end_watches(&w.server);
    assert_int_equal(iw_metrics(&w).watch_us.count, 1);
    assert_int_equal(iw_metrics(&w).short_watches, rows[i].expected);
    iw_finish(&w);
  }
}

static void respond_page(iw_world *w, const char *part, const char *token) {
  char page_[256];
  snprintf(page_, sizeof page_,
           "{\"metadata\":{\"resourceVersion\":\"5\"%s},\"items\":["
           "{\"metadata\":{\"name\":\"%s\"}}]}",
           token, token[0] != '\0' ? "a" : "b");
  script_respond(&w->script, part, 200, page_);
}

/* A list takes from its first request to its last byte, a watch from its
 * request to its end; its items include bookmarks. */
static void test_times(void **state) {
  (void)state;
  static const char event[] =
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\","
      "\"resourceVersion\":\"6\"}}}\n{\"type\":\"BOOKMARK\",\"object\":{"
      "\"metadata\":{\"resourceVersion\":\"7\"}}}\n";
  iw_world w;
  iw_open_objects(&w, 0);
  script_advance(&w.script, 700);
  respond_page(&w, "/pods?", ",\"continue\":\"t\"");
  script_advance(&w.script, 1300);
  assert_int_equal(iw_metrics(&w).list_us.count, 0);
  respond_page(&w, "continue=t", "");
  kin_informer_metrics metrics = iw_metrics(&w);
  assert_int_equal(metrics.list_us.count, 1);
  assert_int_equal(metrics.list_us.sum, 2000000);
  assert_int_equal(metrics.list_items.sum, 2);
  script_advance(&w.script, 400);
  script_head(&w.script, "watch=true", 200);
  script_advance(&w.script, 5000);
  script_body(&w.script, "watch=true", event, sizeof event - 1);
  script_end(&w.script, "watch=true");
  metrics = iw_metrics(&w);
  assert_int_equal(metrics.watch_us.count, 1);
  assert_int_equal(metrics.watch_us.sum, 5400000);
  assert_int_equal(metrics.watch_items.sum, 2);
  assert_int_equal(metrics.bookmarks, 1);
  assert_int_equal(metrics.received_bytes, iw_status(&w, "").received_bytes);
  assert_true(metrics.received_bytes > sizeof event);
  iw_finish(&w);
}

static void ignore(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  (void)data;
}

/* The queue of a paused listener for deletes alone keeps adds, which are not
 * delivered. */
static void test_adds_that_nobody_wants(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  mini_serve(&w.server);
  kin_listener *listener;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_delete = ignore;
  assert_int_equal(kin_informer_listen(w.informer, &options, &listener), 0);
  script_run(&w.script);
  kin_listener_pause(listener);
  for (int i = 0; i < 3; i++) {
    mini_put(&w.server, i);
  }
  mini_serve(&w.server);
  kin_informer_metrics before = iw_metrics(&w);
  assert_int_equal(before.pending, 0);
  assert_int_equal(before.delivered, w.rec.calls + 1); /* synced */
  kin_listener_resume(listener);
  script_run(&w.script);
  kin_informer_metrics after = iw_metrics(&w);
  assert_int_equal(after.delivered, before.delivered);
  assert_int_equal(after.handler_us.count, before.handler_us.count);
  iw_finish(&w);
}

/* A listener that is closed is in what has been delivered, not in what is. */
static void test_closed_listeners(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 2);
  mini_serve(&w.server);
  kin_listener_pause(w.rec.listener);
  mini_put(&w.server, 0);
  mini_serve(&w.server);
  kin_informer_metrics before = iw_metrics(&w);
  assert_int_equal(before.listeners, 1);
  assert_int_equal(before.pending, 1);
  assert_int_equal(before.delivered, 3);
  kin_listener_close(w.rec.listener);
  kin_informer_metrics after = iw_metrics(&w); /* it is still being freed */
  assert_int_equal(after.listeners, 0);
  assert_int_equal(after.pending, 0);
  assert_int_equal(after.delivered, 3);
  script_run(&w.script);
  assert_int_equal(iw_metrics(&w).delivered, 3);
  assert_int_equal(iw_metrics(&w).handler_us.count, 3);
  iw_finish(&w);
}

static void test_coalesced(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 2);
  mini_serve(&w.server);
  kin_listener_pause(w.rec.listener);
  for (int i = 0; i < 4; i++) {
    mini_put(&w.server, 1);
    mini_serve(&w.server);
  }
  kin_informer_metrics metrics = iw_metrics(&w);
  assert_int_equal(metrics.pending, 1);
  assert_int_equal(metrics.coalesced, 3);
  mini_put(&w.server, 2);
  mini_serve(&w.server);
  mini_delete(&w.server, 2);
  mini_serve(&w.server);
  metrics = iw_metrics(&w);
  assert_int_equal(metrics.coalesced, 5); /* the add and the delete are gone */
  kin_listener_resume(w.rec.listener);
  script_run(&w.script);
  assert_int_equal(iw_metrics(&w).pending, 0);
  iw_assert_truth(&w);
  iw_finish(&w);
}

/* --- Text ----------------------------------------------------------------- */

typedef struct page {
  char text[256 << 10];
  size_t length;
  int fail_after; /* pieces; -1: never */
} page;

static int write_page(const char *text, size_t length, void *data) {
  page *p = data;
  if (p->fail_after-- == 0) {
    return -42;
  }
  assert_true(length <= 4096);
  assert_true(p->length + length < sizeof p->text);
  memcpy(p->text + p->length, text, length);
  p->length += length;
  p->text[p->length] = '\0';
  return 0;
}

static void assert_has(const page *p, const char *line) {
  if (strstr(p->text, line) == NULL) {
    fail_msg("no line \"%s\" in\n%s", line, p->text);
  }
}

/* Every sample belongs to the metric announced last, and no metric is announced
 * twice; buckets grow up to the count. */
static void assert_well_formed(page *p) {
  char family[128] = "";
  double last_bucket = 0;
  int families = 0;
  char *rest = p->text;
  for (char *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
    if (strncmp(line, "# TYPE ", 7) == 0) {
      char type[16];
      assert_int_equal(sscanf(line + 7, "%127s %15s", family, type), 2);
      families++;
      continue;
    }
    if (line[0] == '#') {
      assert_int_equal(strncmp(line, "# HELP ", 7), 0);
      continue;
    }
    assert_int_equal(strncmp(line, family, strlen(family)), 0);
    const char *space = strrchr(line, ' ');
    assert_non_null(space);
    char *end;
    double value = strtod(space + 1, &end);
    assert_true(*end == '\0' && value >= 0);
    if (strstr(line, "_bucket{") != NULL) {
      bool is_first = strstr(line, "le=\"1\"") != NULL ||
                      strstr(line, "le=\"1e-06\"") != NULL;
      assert_true(is_first || value >= last_bucket);
      last_bucket = value;
    } else if (strstr(line, "_count{") != NULL) {
      assert_true(value == last_bucket);
    }
  }
  assert_true(families >= 20);
}

static void test_text(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 3);
  mini_serve(&w.server);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  static page p;
  p = (page){.fail_after = -1};
  kin_metrics_source sources[] = {{w.informer, NULL}, {w.informer, "app/pods"}};
  assert_int_equal(kin_metrics_write(NULL, sources, 2, write_page, &p), 0);
  assert_has(&p, "\nkinformer_lists_total{informer=\"pods\"} 1\n");
  assert_has(&p, "\nkinformer_lists_total{informer=\"app/pods\"} 1\n");
  assert_has(&p,
             "\nkinformer_events_total{informer=\"pods\",type=\"modified\"} 1");
  assert_has(&p, "\nkinformer_list_items_sum{informer=\"pods\"} 3\n");
  assert_has(&p, "\nkinformer_scopes{informer=\"pods\",state=\"live\"} 1\n");
  assert_has(&p, "\nkinformer_scopes{informer=\"pods\",state=\"stale\"} 0\n");
  assert_has(&p, "\nkinformer_waiting_lists{informer=\"pods\"} 0\n");
  assert_has(&p, "\nkinformer_overdue_lists_total{informer=\"pods\"} 0\n");
  assert_has(&p, "\nkinformer_list_wait_seconds_count{informer=\"pods\"} 0\n");
  assert_has(&p, "\nkinformer_objects{informer=\"pods\"} 3\n");
  assert_has(&p, "reason=\"expired\"} 0\n");
  assert_has(&p, "class=\"forbidden\"} 0\n");
  assert_has(&p, "le=\"+Inf\"}");
  assert_has(&p, "le=\"1.048576\"}"); /* not rounded */
  assert_well_formed(&p);
  iw_finish(&w);
}

/* Each counter is written under its own name. */
static void test_text_of_each(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  kin_informer_metrics *past =
      kin__calloc(w.informer->env->allocator, 1, sizeof *past);
  assert_non_null(past);
  w.informer->scopes.past = past; /* as after the first removed namespace */
  struct {
    const char *name;
    uint64_t *number;
  } rows[] = {{"lists_total", &past->lists},
              {"watches_total", &past->watches},
              {"short_watches_total", &past->short_watches},
              {"bookmarks_total", &past->bookmarks},
              {"unchanged_total", &past->unchanged},
              {"received_bytes_total", &past->received_bytes},
              {"transform_failures_total", &past->transform_failures},
              {"oversized_total", &past->oversized},
              {"bad_objects_total", &past->bad_objects},
              {"slow_lists_total", &past->slow_lists},
              {"checked_lists_total", &past->checked_lists},
              {"inconsistent_lists_total", &past->inconsistent_lists},
              {"overdue_lists_total", &past->overdue_lists},
              {"list_items_count", &past->list_items.count},
              {"watch_items_count", &past->watch_items.count},
              {"list_seconds_count", &past->list_us.count},
              {"watch_seconds_count", &past->watch_us.count},
              {"list_wait_seconds_count", &past->list_wait_us.count}};
  const size_t count = sizeof rows / sizeof *rows;
  for (size_t i = 0; i < count; i++) {
    *rows[i].number = 1000 + i;
  }
  past->added_events = 2001;
  past->modified_events = 2002;
  past->deleted_events = 2003;
  for (size_t i = 0; i < KIN_RELIST_REASONS; i++) {
    past->lost_positions[i] = 3000 + i;
  }
  for (size_t i = 0; i < KIN_ERROR_CLASSES; i++) {
    past->failures[i] = 4000 + i;
  }
  static page p;
  p = (page){.fail_after = -1};
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  kin_metrics_source source = {w.informer, name};
  assert_int_equal(kin_metrics_write(NULL, &source, 1, write_page, &p), 0);
  char line[512];
#define HAS(...)                                                               \
  do {                                                                         \
    snprintf(line, sizeof line, __VA_ARGS__);                                  \
    assert_has(&p, line);                                                      \
  } while (0)
  for (size_t i = 0; i < count; i++) {
    HAS("\nkinformer_%s{informer=\"%s\"} %zu\n", rows[i].name, name, 1000 + i);
  }
  HAS("events_total{informer=\"%s\",type=\"added\"} 2001\n", name);
  HAS("events_total{informer=\"%s\",type=\"modified\"} 2002\n", name);
  HAS("events_total{informer=\"%s\",type=\"deleted\"} 2003\n", name);
  static const char *const reasons[] = {"expired", "too_large", "storage",
                                        "decode",  "refused",   "verify",
                                        "internal"};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    HAS("lost_positions_total{informer=\"%s\",reason=\"%s\"} %zu\n", name,
        reasons[i], 3000 + i);
    assert_string_equal(kin_relist_reason_name((kin_relist_reason)i),
                        reasons[i]);
  }
  for (size_t i = 1; i <= KIN_CLASS_MEMORY; i++) {
    HAS("failures_total{informer=\"%s\",class=\"%s\"} %zu\n", name,
        kin_error_class_name((kin_error_class)i), 4000 + i);
  }
  memset(past, 0, sizeof *past);
  iw_finish(&w);
}

static size_t count_lines(const kin_metrics_source *sources, size_t count) {
  static page p;
  p = (page){.fail_after = -1};
  assert_int_equal(kin_metrics_write(NULL, sources, count, write_page, &p), 0);
  size_t lines = 0;
  for (const char *c = p.text; *c != '\0'; c++) {
    lines += *c == '\n';
  }
  return lines;
}

/* An informer costs 170 to 190 lines of text and no allocation. */
static void test_text_costs(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  mini_serve(&w.server);
  kin_metrics_source sources[] = {{w.informer, "a"}, {w.informer, "b"}};
  size_t calls = atomic_load(&w.memory.calls);
  size_t each = count_lines(sources, 2) - count_lines(sources, 1);
  assert_in_range(each, 170, 190);
  assert_int_equal(atomic_load(&w.memory.calls), calls);
  iw_finish(&w);
}

/* A name of 255 bytes is in every sample, whole. */
static void test_text_of_the_longest_name(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 1);
  char label[300] = "informer=\"";
  size_t begin = strlen(label);
  memset(label + begin, 'n', 255);
  label[begin + 255] = '\0';
  static page p;
  p = (page){.fail_after = -1};
  kin_metrics_source source = {w.informer, label + begin};
  assert_int_equal(kin_metrics_write(NULL, &source, 1, write_page, &p), 0);
  strcat(label, "\"");
  size_t samples = 0;
  for (char *line = strtok(p.text, "\n"); line != NULL;
       line = strtok(NULL, "\n")) {
    if (line[0] != '#') {
      assert_non_null(strstr(line, label));
      samples++;
    }
  }
  assert_true(samples > 100);
  iw_finish(&w);
}

static void test_text_fails(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 1);
  static page p;
  kin_metrics_source source = {w.informer, "bad\"name"};
  p = (page){.fail_after = -1};
  assert_int_equal(kin_metrics_write(NULL, &source, 1, write_page, &p),
                   KIN_EINVAL);
  assert_int_equal(p.length, 0);
  char longest[257];
  memset(longest, 'n', 256);
  longest[256] = '\0';
  source.name = longest;
  assert_int_equal(kin_metrics_write(NULL, &source, 1, write_page, &p),
                   KIN_EINVAL);
  source.name = "";
  assert_int_equal(kin_metrics_write(NULL, &source, 1, write_page, &p),
                   KIN_EINVAL);
  source.name = NULL;
  for (int i = 0; i < 5; i++) {
    p = (page){.fail_after = i};
    assert_int_equal(kin_metrics_write(NULL, &source, 1, write_page, &p), -42);
    assert_int_equal(p.fail_after, -1); /* not called again */
  }
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buckets),
      cmocka_unit_test(test_small_histogram),
      cmocka_unit_test(test_full_small_histogram),
      cmocka_unit_test(test_lists_and_events),
      cmocka_unit_test(test_watches_and_failures),
      cmocka_unit_test(test_short_watches),
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_adds_that_nobody_wants),
      cmocka_unit_test(test_closed_listeners),
      cmocka_unit_test(test_coalesced),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_text_of_each),
      cmocka_unit_test(test_text_costs),
      cmocka_unit_test(test_text_of_the_longest_name),
      cmocka_unit_test(test_text_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
