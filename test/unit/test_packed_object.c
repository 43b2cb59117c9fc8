/* SPDX-License-Identifier: MIT */

/* Packed objects: everything is read as from a plain one, whatever happens to
 * dictionaries and memory; lengths of all kinds; frames that were damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/fields.h>
#include <kin/object_builder.h>
#include <kin/store.h>
#include <kin/value.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/str.h"
#include "object/label_table.h"
#include "object/same_content.h"
#include "support/like_pods.h"

#define SAMPLES 64

static void assert_text(kin_str got, const char *text, size_t length) {
  assert_int_equal(got.length, length);
  assert_memory_equal(got.data, text, length);
}

static void assert_view(const kin_object *object, const char *text,
                        size_t length) {
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  assert_text(kin_object_view_json(view), text, length);
  kin_object_view_close(view);
}

static void assert_same_str(kin_str a, kin_str b) {
  assert_text(a, b.data, b.length);
}

/* All getters of `packed` answer as those of `plain`. */
static void assert_same(const kin_object *packed, const kin_object *plain) {
  static const char *const names[] = {"app", "track", "own", "none", ""};
  assert_same_str(kin_object_key(packed), kin_object_key(plain));
  assert_same_str(kin_object_name(packed), kin_object_name(plain));
  assert_same_str(kin_object_namespace(packed), kin_object_namespace(plain));
  assert_same_str(kin_object_uid(packed), kin_object_uid(plain));
  assert_same_str(kin_object_resource_version(packed),
                  kin_object_resource_version(plain));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    kin_str of_packed = {0};
    kin_str of_plain = {0};
    assert_int_equal(kin_object_label(packed, names[i], &of_packed),
                     kin_object_label(plain, names[i], &of_plain));
    assert_same_str(of_packed, of_plain);
  }
  kin_str text = kin__object_body(plain);
  assert_int_equal(kin__object_text_length(packed), text.length);
  assert_view(packed, text.data, text.length);
}

static kin_object *make(like_pods *l, int i, int padding) {
  char text[LIKE_PODS_SIZE];
  size_t length = like_pods_text(text, i, padding);
  kin_object *object;
  assert_int_equal(like_pods_make(&object, l->memory, text, length), 0);
  return object;
}

static kin_object *make_packed(like_pods *l, int i, int padding) {
  kin_object *object = make(l, i, padding);
  assert_true(kin__object_pack(&object, NULL, l->memory, l->packer));
  assert_true(kin__object_is_packed(object));
  return object;
}

static void test_packed_reads_as_plain(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  for (int i = 0; i < 200; i++) {
    kin_object *plain = make(&l, i, 40);
    kin_object *packed = make_packed(&l, i, 40);
    assert_same(packed, plain);
    assert_true(kin_object_memory(packed) < kin_object_memory(plain));
    assert_true(kin__object_has_same_text(packed, plain));
    assert_true(kin__object_has_same_content(packed, plain));
    kin_object_unref(plain);
    kin_object_unref(packed);
  }
  assert_int_equal(l.noted, 0); /* nothing of that needs a text in place */
  like_pods_finish(&l);
}

/* Labels that the samples repeat are codes of a byte each, if there are few. */
static void test_packed_labels_are_short(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  char codes[64];
  kin_str labels = KIN__LIT("{\"app\":\"web\",\"track\":\"t1\"}");
  const kin__dictionary *dictionary = kin__packer_dictionary(l.packer);
  assert_int_equal(
      kin__dictionary_encode_labels(dictionary, labels, codes, sizeof codes),
      4);
  /* No room, and no string. */
  assert_int_equal(kin__dictionary_encode_labels(dictionary, labels, codes, 3),
                   0);
  assert_int_equal(kin__dictionary_encode_labels(dictionary,
                                                 KIN__LIT("{\"app\":1}"), codes,
                                                 sizeof codes),
                   0);
  like_pods_finish(&l);
}

/* Values live as long as the object, on whatever it was packed with. */
static void test_packed_values(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l, 3, 40);
  kin_str node;
  assert_int_equal(
      kin_value_string(kin_object_at(object, "/spec/nodeName"), NULL, 0, &node),
      0);
  assert_text(node, "node-3", 6);
  assert_int_equal(l.noted, 1);
  kin_str image;
  kin_value value = kin_object_at(object, "/spec/containers/0/image");
  assert_int_equal(kin_value_string(value, NULL, 0, &image), 0);
  assert_int_equal(l.noted, 1); /* the text is there */
  assert_text(node, "node-3", 6);
  kin_object *held = kin_object_ref(object);
  like_pods_close(&l); /* the object keeps it */
  assert_text(image, "registry.example.com/shop/web:v3", 32);
  kin_object_unref(held);
  kin_object_unref(object);
  like_pods_finish(&l);
}

/* An owner takes a text away, and it comes again. */
static void test_packed_text_is_dropped(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l, 3, 40);
  for (int i = 1; i <= 3; i++) {
    kin_str text;
    assert_int_equal(kin__object_text(object, &text), 0);
    assert_int_equal(l.noted, i);
    kin__inflated *noted = kin__inflated_take(l.packing);
    assert_ptr_equal(noted->object, object);
    assert_null(noted->next);
    assert_int_equal(kin__object_holders(object), 2);
    assert_true(kin__packed_drop_text(noted));
  }
  kin_object_unref(object);
  like_pods_finish(&l);
}

/* A text that is being read, and its owner. */
typedef struct owner {
  like_pods l;
  kin__inflated *noted;
} owner;

/* The owner looks at the text while somebody reads. */
static void look_at_text(owner *o) {
  o->noted = kin__inflated_take(o->l.packing);
  assert_non_null(o->noted);
  assert_false(kin__packed_drop_text(o->noted));
}

static int look_and_edit(const kin_object *object, kin_object_builder *builder,
                         void *data) {
  (void)object;
  look_at_text(data);
  return kin_object_builder_set_bool(builder, "/spec/seen", true);
}

static int look_and_emit(const kin_object *object, kin_index_values *values,
                         void *data) {
  (void)object;
  look_at_text(data);
  return kin_index_emit(values, KIN_STR("x"));
}

static void add_index(kin_store *store, const char *name, const char *pointer,
                      owner *o) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = name;
  options.pointer = pointer;
  options.cb = pointer == NULL ? look_and_emit : NULL;
  options.data = o;
  assert_int_equal(kin_store_add_index(store, &options), 0);
}

static void put_into_indices(const kin_object *object, owner *o) {
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  add_index(store, "one", "/spec/nodeName", o);
  add_index(store, "two", NULL, o);
  add_index(store, "three", "/spec/nodeName", o);
  assert_int_equal(kin_store_put(store, object), 0);
  kin_index_cursor found;
  assert_int_equal(
      kin_store_by_index(store, "three", KIN_STR("node-3"), &found), 0);
  assert_non_null(kin_store_by_index_next(store, &found));
  kin_store_free(store);
}

/* A reader inside the library keeps the text in place, though the program has
 * no reference: an open text, a transform, indices that are read together. */
static void test_packed_text_is_held_by_readers(void **state) {
  (void)state;
  owner o = {0};
  assert_int_equal(like_pods_init(&o.l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&o.l, 3, 40);
  kin_str in_place;
  kin_str text;
  void *block;
  assert_int_equal(kin__object_text(object, &in_place), 0);
  assert_int_equal(kin__object_open_text(object, &text, &block), 0);
  assert_ptr_equal(text.data, in_place.data);
  look_at_text(&o);
  kin__object_close_text(object, block);
  assert_true(kin__packed_drop_text(o.noted));
  kin_object *edited;
  assert_int_equal(kin_object_transform(object, look_and_edit, &o, &edited), 0);
  assert_int_equal(kin_object_at(edited, "/spec/nodeName").error, 0);
  kin_object_unref(edited);
  assert_true(kin__packed_drop_text(o.noted));
  put_into_indices(object, &o);
  assert_true(kin__packed_drop_text(o.noted));
  kin__object_unref(object);
  like_pods_finish(&o.l);
}

/* After the informer's close a text goes with the program's last reference. Of
 * the texts that were read without one, the last few live. */
static void test_late_texts_go(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *objects[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) {
    objects[i] = make_packed(&l, i, 40);
  }
  kin_str node;
  kin_object *held = kin_object_ref(objects[1]);
  assert_int_equal(kin__object_text(held, &node), 0); /* makes what inflates */
  like_pods_close(&l);
  kin_object_unref(held);
  size_t before = atomic_load(&l.fail.live_bytes);
  for (int round = 0; round < 3; round++) {
    kin_value values[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
      values[i] = kin_object_at(objects[i], "/spec/nodeName");
      assert_int_equal(values[i].error, 0);
    }
    assert_true(atomic_load(&l.fail.live_bytes) <
                before + (KIN__LATE_TEXTS + 1) * 600);
    for (int i = SAMPLES - (int)KIN__LATE_TEXTS; i < SAMPLES; i++) {
      char expected[16];
      snprintf(expected, sizeof expected, "node-%d", i % 7);
      assert_true(kin_value_string_is(values[i], kin__cstr(expected)));
    }
  }
  size_t with_late = atomic_load(&l.fail.live_bytes);
  for (int i = 0; i < SAMPLES; i++) {
    held = kin_object_ref(objects[i]);
    kin_value value = kin_object_at(held, "/spec/nodeName");
    for (int j = 0; j < SAMPLES; j++) {
      assert_int_equal(kin_object_at(objects[j], "").error, 0);
    }
    assert_int_equal(kin_value_string(value, NULL, 0, &node), 0);
    assert_memory_equal(node.data, "node-", 5);
    kin_object_unref(held);
  }
  assert_true(atomic_load(&l.fail.live_bytes) < with_late + 600);
  for (int i = 0; i < SAMPLES; i++) {
    kin__object_unref(objects[i]);
  }
  like_pods_finish(&l);
}

/* The owner closes when nothing is noted. Before, a text is noted as ever, and
 * goes with the close; after, a text goes with the last reference. */
static void test_texts_that_are_read_during_the_close_go(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l, 3, 40);
  kin_str text;
  assert_int_equal(kin__object_text(object, &text), 0); /* makes a context */
  assert_true(kin__packed_drop_text(kin__inflated_take(l.packing)));
  size_t before = atomic_load(&l.fail.live_bytes);
  kin_object *held = kin_object_ref(object);
  assert_int_equal(kin__object_text(held, &text), 0);
  kin__inflated *noted = kin__inflated_close(l.packing);
  assert_non_null(noted);
  assert_false(kin__inflated_is_closed(l.packing));
  kin__packed_hold(object);
  kin_object_unref(held);
  assert_true(atomic_load(&l.fail.live_bytes) > before);
  assert_null(kin__inflated_close(l.packing));
  assert_true(kin__inflated_is_closed(l.packing));
  kin__packed_disown(noted);
  assert_int_equal(atomic_load(&l.fail.live_bytes), before);
  held = kin_object_ref(object);
  assert_int_equal(kin__object_text(held, &text), 0);
  assert_true(atomic_load(&l.fail.live_bytes) > before);
  kin_object_unref(held);
  assert_int_equal(atomic_load(&l.fail.live_bytes), before);
  kin_object_unref(object);
  like_pods_finish(&l);
}

/* A pod with a status; `i` is the object, `change` the state of its status. */
static kin_object *make_state(like_pods *l, int i, int change,
                              const char *label) {
  char text[LIKE_PODS_SIZE];
  int length = snprintf(
      text, sizeof text,
      "{%s\"metadata\":{\"name\":\"db-%d\",\"uid\":\"u-%d\","
      "\"resourceVersion\":\"%d\",\"labels\":{\"app\":\"%s\"}},\"spec\":"
      "{\"text\":\"%0600d\"},\"status\":{\"change\":%d}}",
      change > 0 ? "\"kind\":\"Pod\",\"apiVersion\":\"v1\"," : "", i, i,
      100 + change, label, i, change);
  kin_object *object;
  assert_int_equal(like_pods_make(&object, l->memory, text, (size_t)length), 0);
  return object;
}

static void expect_packed_after(like_pods *l, kin_object *take_object,
                                const kin_object *before) {
  kin_object *plain;
  assert_int_equal(kin__object_copy(&plain, l->memory, take_object, 0), 0);
  assert_true(kin__object_pack(&take_object, before, l->memory, l->packer));
  assert_same(take_object, plain);
  kin_object_unref(take_object);
  kin_object_unref(plain);
}

/* Whatever the state before is: of this object or of another one, plain, without
 * body, of another dictionary, with other labels. */
static void test_packed_after_any_state(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  static const char *const labels[] = {"web", "own", ""};
  for (size_t i = 0; i < 3; i++) {
    kin_object *before = make_state(&l, 1, 0, labels[i]);
    expect_packed_after(&l, make_state(&l, 1, 1, "web"), before);
    assert_true(kin__object_pack(&before, NULL, l.memory, l.packer));
    expect_packed_after(&l, make_state(&l, 1, 1, "web"), before);
    expect_packed_after(&l, make_state(&l, 1, 2, "own"), before);
    expect_packed_after(&l, make_state(&l, 2, 2, ""), before);
    kin_object *other = make_packed(&l, 7, 700);
    expect_packed_after(&l, make_state(&l, 1, 3, "web"), other);
    expect_packed_after(&l, make(&l, 7, 700), before);
    kin_object_unref(other);
    assert_int_equal(like_pods_renew(&l, 40, SAMPLES, i == 1), 0);
    expect_packed_after(&l, make_state(&l, 1, 4, "web"), before);
    kin_object_unref(before);
  }
  like_pods_finish(&l);
}

/* Every length; the text is random beyond what all have in common. Then one
 * that is nothing but random, and the bounds. */
static void test_packed_lengths(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  int packed = 0;
  for (int padding = 0; padding <= LIKE_PODS_SIZE / 2; padding++) {
    kin_object *plain = make(&l, padding, padding);
    kin_object *object = make(&l, padding, padding);
    packed += kin__object_pack(&object, NULL, l.memory, l.packer);
    assert_same(object, plain);
    kin_object_unref(plain);
    kin_object_unref(object);
  }
  assert_true(packed > 1000);
  like_pods_finish(&l);
}

static size_t make_long(char *to, size_t length, bool is_random) {
  int head = sprintf(to, "{\"metadata\":{\"name\":\"long\"},\"data\":\"");
  unsigned seed = 9;
  for (size_t i = (size_t)head; i < length - 2; i++) {
    seed = seed * 1103515245u + 12345u;
    to[i] = is_random ? (char)('#' + (seed >> 16) % 91) : 'x';
  }
  memcpy(to + length - 2, "\"}", 2);
  return length;
}

static void test_packed_bounds(void **state) {
  (void)state;
  static char text[KIN__PACK_MAX_BYTES + 1];
  static const struct {
    size_t length;
    bool is_random;
    bool is_packed;
  } rows[] = {{KIN__PACK_MIN_BYTES - 1, false, false},
              {KIN__PACK_MIN_BYTES, false, true},
              {KIN__PACK_MAX_BYTES, false, true},
              {KIN__PACK_MAX_BYTES + 1, false, false},
              {5000, true, false}};
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t length = make_long(text, rows[i].length, rows[i].is_random);
    for (char *c = text; c < text + length; c++) {
      *c = *c == '\\' ? '/' : *c; /* no escapes */
    }
    kin_object *object;
    assert_int_equal(like_pods_make(&object, l.memory, text, length), 0);
    bool is_packed = kin__object_pack(&object, NULL, l.memory, l.packer);
    if (is_packed != rows[i].is_packed) {
      fail_msg("%zu bytes: packed %d", length, is_packed);
    }
    assert_view(object, text, length);
    kin_object_unref(object);
  }
  like_pods_finish(&l);
}

/* Objects keep the dictionary that they were packed with, and outlive all who
 * packed them. */
static void test_packed_dictionary_is_renewed(void **state) {
  (void)state;
  like_pods l;
  kin_object *objects[40];
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  for (int i = 0; i < 40; i++) {
    if (i % 10 == 9) {
      assert_int_equal(like_pods_renew(&l, i * 100, 400, i > 20), 0);
    }
    objects[i] = make_packed(&l, i, 40);
    assert_int_equal(kin__packing_dictionaries(l.packing), 1 + (i + 1) / 10);
  }
  kin_object_unref(objects[9]);
  kin_object_unref(objects[10]);
  for (int i = 11; i < 19; i++) {
    kin_object_unref(objects[i]);
  }
  assert_int_equal(kin__packing_dictionaries(l.packing), 4);
  kin__packer_free(l.packer);
  l.packer = NULL;
  for (int i = 0; i < 40; i++) {
    if (i < 9 || i >= 19) {
      kin_object *plain = make(&l, i, 40);
      assert_same(objects[i], plain);
      kin_object_unref(plain);
      kin_object_unref(objects[i]);
    }
  }
  assert_int_equal(kin__packing_dictionaries(l.packing), 0);
  like_pods_finish(&l);
}

/* What is inflated in place is bounded, and what is freed counts no more. */
static void test_inflated_bound(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin__inflated *most =
      kin__inflated_new(l.packing, KIN__INFLATED_MAX_BYTES - 100);
  assert_non_null(most);
  kin_object *object = make_packed(&l, 3, 40);
  assert_int_equal(kin_object_at(object, "/spec/nodeName").error, KIN_ENOMEM);
  char text[LIKE_PODS_SIZE];
  assert_view(object, text, like_pods_text(text, 3, 40));
  kin__inflated_free(l.packing, most);
  assert_int_equal(kin_object_at(object, "/spec/nodeName").error, 0);
  kin_object_unref(object);
  like_pods_finish(&l);
}

/* Two samples with the same labels: each string is in the table as far as there
 * is room; the others stay as they are. */
static void test_label_table_bounds(void **state) {
  (void)state;
  static const int value_lengths[] = {4, 60}; /* too many; too long */
  static char text[2 * 400000];
  static kin__samples samples;
  for (int row = 0; row < 2; row++) {
    int length = sprintf(text, "{\"metadata\":{\"name\":\"a\",\"labels\":{");
    int from = length - 1;
    for (int i = 0; i < 4000; i++) {
      length += sprintf(text + length, "%s\"n%d\":\"%0*d\"", i > 0 ? "," : "",
                        i, value_lengths[row], i);
    }
    length += sprintf(text + length, "}");
    kin_str labels = kin__str(text + from, (size_t)(length - from));
    length += sprintf(text + length, "}}");
    memcpy(text + length, text, (size_t)length);
    samples = (kin__samples){
        .bytes = text, .sizes = {(size_t)length, (size_t)length}, .count = 2};
    kin__label_table table;
    const kin__hash_seed seed = {1, 2};
    const kin_allocator *allocator = kin__default_allocator();
    assert_int_equal(kin__label_table_init(&table, allocator, &seed, &samples),
                     0);
    if (row == 0) {
      assert_int_equal(table.count, KIN__LABEL_STRINGS_MAX);
    } else {
      assert_true(table.count < KIN__LABEL_STRINGS_MAX);
    }
    assert_true(table.places[table.count] <= KIN__LABEL_BYTES_MAX);
    static char codes[400000];
    size_t coded = kin__label_table_encode(&table, labels, codes, sizeof codes);
    assert_true(coded > 0 && coded < labels.length);
    for (int i = 0; i < 4000; i += 399) {
      char name[16];
      char value[80];
      kin_str found;
      sprintf(name, "n%d", i);
      sprintf(value, "%0*d", value_lengths[row], i);
      assert_true(kin__label_table_find(&table, kin__str(codes, coded),
                                        kin__cstr(name), &found));
      assert_same_str(found, kin__cstr(value));
    }
    kin__label_table_finish(&table, allocator);
  }
}

/* Values whose hashes of a known seed are the same do not lie side by side. */
static void test_labels_cannot_be_chosen(void **state) {
  (void)state;
  enum { VALUES = 100, SLOTS = 2 * KIN__LABEL_STRINGS_MAX };
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  static char text[2 * LIKE_PODS_SIZE];
  static kin__samples samples;
  const kin__hash_seed known = {0, 0};
  int length = sprintf(text, "{\"metadata\":{\"name\":\"a\",\"labels\":{");
  for (unsigned i = 0, found = 0; found < VALUES; i++) {
    char value[16];
    sprintf(value, "v%u", i);
    if (kin__hash(&known, kin__cstr(value)) % SLOTS == 9) {
      length +=
          sprintf(text + length, "%s\"n\":\"%s\"", found > 0 ? "," : "", value);
      found++;
    }
  }
  length += sprintf(text + length, "}}}");
  memcpy(text + length, text, (size_t)length);
  samples = (kin__samples){
      .bytes = text, .sizes = {(size_t)length, (size_t)length}, .count = 2};
  kin__dictionary *dictionary;
  assert_int_equal(
      kin__dictionary_new(&dictionary, l.packing, &samples, false, false), 0);
  const kin__label_table *table = kin__dictionary_labels(dictionary);
  assert_int_equal(table->count, 1 + VALUES);
  int longest = 0;
  for (unsigned i = 0, run = 0; i < SLOTS; i++) {
    run = table->slots[i] != 0 ? run + 1 : 0;
    longest = (int)run > longest ? (int)run : longest;
  }
  assert_true(longest < VALUES / 4);
  kin__dictionary_unref(dictionary);
  like_pods_finish(&l);
}

/* Whether the packer's room is written to: packing begins there. */
static bool try_to_pack(like_pods *l, kin_object **object) {
  *kin__packer_room(l->packer) = '#';
  assert_false(kin__object_pack(object, NULL, l->memory, l->packer));
  return *kin__packer_room(l->packer) != '#';
}

/* An object that a dictionary does not make smaller is tried with another one,
 * and not with the same again. */
static void test_packed_is_tried_once(void **state) {
  (void)state;
  static _Alignas(max_align_t) char image[LIKE_PODS_SIZE];
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  char text[LIKE_PODS_SIZE];
  int length = sprintf(text, "{\"metadata\":{\"name\":\"a\"},\"data\":\"");
  unsigned seed = 1;
  for (int i = 0; i < 2000; i++) {
    seed = seed * 1103515245u + 12345u;
    char letter = (char)('#' + (seed >> 16) % ('~' - '#'));
    text[length++] = letter != '\\' ? letter : '!';
  }
  length += sprintf(text + length, "\"}");
  for (int is_image = 0; is_image < 2; is_image++) {
    kin_object *object;
    assert_int_equal(like_pods_make(&object, l.memory, text, (size_t)length),
                     0);
    if (is_image) {
      assert_int_equal(
          kin__object_pack_to(image, sizeof image, object, l.packer), 0);
      kin__packed_note_tried(object, l.packer);
    } else {
      assert_true(try_to_pack(&l, &object));
    }
    assert_false(try_to_pack(&l, &object));
    kin_object *copy;
    assert_int_equal(kin__object_copy(&copy, l.memory, object, 0), 0);
    assert_false(try_to_pack(&l, &copy));
    kin_object_unref(copy);
    assert_int_equal(like_pods_renew(&l, 100, SAMPLES, false), 0);
    assert_true(try_to_pack(&l, &object));
    kin_object_unref(object);
  }
  like_pods_finish(&l);
}

/* An image that has no room is no object that cannot be packed. An object that
 * one dictionary refused is whole after another one has packed it. */
static void test_packed_after_a_refusal(void **state) {
  (void)state;
  static _Alignas(max_align_t) char image[LIKE_PODS_SIZE];
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *plain = make(&l, 3, 40);
  kin_object *object = make(&l, 3, 40);
  size_t size = kin__object_pack_to(image, 0, object, l.packer);
  assert_true(size > 0);
  assert_int_equal(kin__object_pack_to(image, sizeof image, object, l.packer),
                   size);
  kin__packed_note_tried(object, l.packer);
  assert_false(kin__object_pack(&object, NULL, l.memory, l.packer));
  assert_same(object, plain);
  assert_int_equal(like_pods_renew(&l, 100, SAMPLES, false), 0);
  assert_true(kin__object_pack(&object, NULL, l.memory, l.packer));
  assert_same(object, plain);
  kin_object_unref(object);
  kin_object_unref(plain);
  like_pods_finish(&l);
}

/* A packer without memory says nothing about the object. */
static void test_packed_after_a_failed_allocation(void **state) {
  (void)state;
  static _Alignas(max_align_t) char image[LIKE_PODS_SIZE];
  for (int run = 0; run < 4; run++) {
    bool is_image = run % 2 == 1;
    like_pods l;
    assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
    l.is_small = run / 2 == 1;
    assert_int_equal(like_pods_renew(&l, 0, SAMPLES, false), 0);
    kin__packer *fresh = kin__packer_new(&l.memory->allocator);
    assert_non_null(fresh);
    kin__packer_use(fresh, kin__packer_dictionary(l.packer));
    kin_object *object = make(&l, 3, 40);
    l.fail.fail_at = atomic_load(&l.fail.calls) + 1;
    if (is_image) {
      assert_int_equal(kin__object_pack_to(image, sizeof image, object, fresh),
                       0);
    } else {
      assert_false(kin__object_pack(&object, NULL, l.memory, fresh));
    }
    assert_true(fail_alloc_has_failed(&l.fail));
    assert_true(kin__packer_lacks_memory(fresh));
    l.fail.fail_at = 0;
    assert_true(kin__object_pack(&object, NULL, l.memory, fresh));
    assert_false(kin__packer_lacks_memory(fresh));
    kin_object_unref(object);
    kin__packer_free(fresh);
    like_pods_finish(&l);
  }
}

/* Strings of a text that is short, or has labels without codes, are in its frame
 * and beside it. Such an object stays plain if it would grow. */
static void test_packed_objects_are_smaller(void **state) {
  (void)state;
  enum { LABELS_MAX = 50, OBJECTS = 3 * LABELS_MAX };
  static char text[2 * LIKE_PODS_SIZE];
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  int packed = 0;
  unsigned seed = 1;
  for (int i = 0; i < OBJECTS; i++) {
    int length =
        sprintf(text,
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                "{\"name\":\"w%d\",\"uid\":\"0f4c2f9e-6a55-4d3e-9d39\","
                "\"resourceVersion\":\"123456\",\"labels\":{",
                i);
    for (int j = 0; j < i % LABELS_MAX; j++) {
      seed = seed * 1103515245u + 12345u;
      length += sprintf(text + length, "\"n%08x\":\"%08x\",", seed,
                        seed * 2654435761u);
    }
    length += sprintf(text + length, "\"app\":\"web\"}},\"text\":\"%0*d\"}",
                      1 + i / LABELS_MAX * 100, 0);
    kin_object *plain;
    kin_object *object;
    assert_int_equal(like_pods_make(&plain, l.memory, text, (size_t)length), 0);
    assert_int_equal(kin__object_copy(&object, l.memory, plain, 0), 0);
    bool is_packed = kin__object_pack(&object, NULL, l.memory, l.packer);
    assert_int_equal(is_packed,
                     kin_object_memory(object) < kin_object_memory(plain));
    assert_same(object, plain);
    packed += is_packed;
    kin_object_unref(plain);
    kin_object_unref(object);
  }
  assert_true(packed > OBJECTS / 3 && packed < OBJECTS);
  like_pods_finish(&l);
}

/* Little is left of an object that is mostly its own strings: with type and
 * version, and as an item of a list, which has neither. */
static void test_packed_objects_of_strings(void **state) {
  (void)state;
  static const char *const types[] = {"\"apiVersion\":\"v1\",\"kind\":\"Pod\",",
                                      ""};
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  for (size_t i = 0; i < 2; i++) {
    char text[LIKE_PODS_SIZE];
    int length = snprintf(
        text, sizeof text,
        "{%s\"metadata\":{\"name\":\"web-7d9f8b6c5-x2x4z\",\"namespace\":"
        "\"shop\",\"uid\":\"0f4c2f9e-6a55-4d3e-9d39-0d7b7f1f8a11\","
        "\"resourceVersion\":\"123456\",\"labels\":{\"app\":\"web\","
        "\"track\":\"t1\",\"own\":\"only-%d\"}},\"spec\":{\"nodeName\":\"node-"
        "3\"}}",
        types[i], 4711);
    assert_true(length >= 128);
    kin_object *plain;
    kin_object *object;
    assert_int_equal(like_pods_make(&plain, l.memory, text, (size_t)length), 0);
    assert_int_equal(kin__object_copy(&object, l.memory, plain, 0), 0);
    assert_true(kin__object_pack(&object, NULL, l.memory, l.packer));
    assert_same(object, plain);
    assert_true(kin_object_memory(object) < kin_object_memory(plain));
    kin_object_unref(plain);
    kin_object_unref(object);
  }
  like_pods_finish(&l);
}

/* Labels of over a kilobyte of codes stay JSON text. */
static void test_packed_long_labels(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  static char text[8192];
  int length = sprintf(text, "{\"metadata\":{\"name\":\"a\",\"labels\":{");
  for (int i = 0; i < 200; i++) {
    length += sprintf(text + length, "\"name-%d\":\"value-%d\",", i, i);
  }
  length +=
      sprintf(text + length, "\"app\":\"web\"}},\"text\":\"%02000d\"}", 0);
  kin_object *plain;
  kin_object *object;
  assert_int_equal(like_pods_make(&plain, l.memory, text, (size_t)length), 0);
  assert_int_equal(like_pods_make(&object, l.memory, text, (size_t)length), 0);
  assert_true(kin__object_pack(&object, NULL, l.memory, l.packer));
  assert_same(object, plain);
  kin_object_unref(plain);
  kin_object_unref(object);
  like_pods_finish(&l);
}

static void test_packed_copy(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l, 5, 40);
  kin_object *plain = make(&l, 5, 40);
  kin_str text;
  assert_int_equal(kin__object_text(object, &text), 0);
  kin_object *copy;
  assert_int_equal(kin__object_copy(&copy, l.memory, object, 0), 0);
  like_pods_close(&l);
  kin_object_unref(object);
  assert_same(copy, plain);
  kin_object_unref(copy);
  kin_object_unref(plain);
  like_pods_finish(&l);
}

/* Memory is never damaged; but were it, reading is an error. */
static void test_packed_damaged(void **state) {
  (void)state;
  like_pods l;
  assert_int_equal(like_pods_init(&l, 0, 0, SAMPLES), 0);
  kin_object *object = make_packed(&l, 5, 40);
  kin_str frame = kin__packed_frame(object);
  int errors = 0;
  for (size_t i = 0; i < frame.length * 8; i++) {
    char *byte = (char *)frame.data + i / 8;
    *byte ^= (char)(1 << i % 8);
    kin_object_view *view;
    int err = kin_object_view_open(&view, object);
    assert_true(err == 0 || err == KIN_EUNEXPECTED);
    errors += err != 0;
    kin_object_view_close(view);
    *byte ^= (char)(1 << i % 8);
  }
  assert_true(errors > 0);
  kin_object_unref(object);
  like_pods_finish(&l);
}

static bool scenario(size_t fail_at) {
  like_pods l;
  int err = like_pods_init(&l, fail_at, 0, SAMPLES);
  kin_object *object = NULL;
  char text[LIKE_PODS_SIZE];
  size_t length = like_pods_text(text, 5, 40);
  if (err == 0) {
    err = like_pods_make(&object, l.memory, text, length);
  }
  if (err == 0) {
    (void)kin__object_pack(&object, NULL, l.memory, l.packer);
    assert_int_equal(kin_object_uid(object).length, 3);
    kin_object_view *view;
    err = kin_object_view_open(&view, object);
    assert_true(err == 0 || err == KIN_ENOMEM);
    if (err == 0) {
      assert_text(kin_object_view_json(view), text, length);
    }
    kin_object_view_close(view);
    kin_value value = kin_object_at(object, "/spec/nodeName");
    assert_true(value.error == 0 || value.error == KIN_ENOMEM);
    kin_object_unref(object);
  }
  like_pods_finish(&l);
  return fail_alloc_has_failed(&l.fail);
}

static void test_packed_fail_alloc(void **state) {
  (void)state;
  fail_alloc_sweep(scenario, 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_packed_reads_as_plain),
      cmocka_unit_test(test_packed_labels_are_short),
      cmocka_unit_test(test_packed_values),
      cmocka_unit_test(test_packed_text_is_dropped),
      cmocka_unit_test(test_packed_text_is_held_by_readers),
      cmocka_unit_test(test_late_texts_go),
      cmocka_unit_test(test_texts_that_are_read_during_the_close_go),
      cmocka_unit_test(test_packed_after_any_state),
      cmocka_unit_test(test_packed_lengths),
      cmocka_unit_test(test_packed_bounds),
      cmocka_unit_test(test_packed_dictionary_is_renewed),
      cmocka_unit_test(test_inflated_bound),
      cmocka_unit_test(test_label_table_bounds),
      cmocka_unit_test(test_labels_cannot_be_chosen),
      cmocka_unit_test(test_packed_is_tried_once),
      cmocka_unit_test(test_packed_after_a_refusal),
      cmocka_unit_test(test_packed_after_a_failed_allocation),
      cmocka_unit_test(test_packed_objects_are_smaller),
      cmocka_unit_test(test_packed_objects_of_strings),
      cmocka_unit_test(test_packed_long_labels),
      cmocka_unit_test(test_packed_copy),
      cmocka_unit_test(test_packed_damaged),
      cmocka_unit_test(test_packed_fail_alloc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
