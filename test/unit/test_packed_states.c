/* SPDX-License-Identifier: MIT */

/* Random states of objects, packed one after the other: texts of Kubernetes'
 * shape with their members in any order and number, with white space, and texts
 * of no shape at all. Whatever state was packed before, whatever dictionary is
 * in use, and whenever memory runs out: each state reads as the plain object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/object_core.h"
#include "support/like_pods.h"

#define TEXT_BYTES (KIN__PACK_MAX_BYTES + 4096u)
#define KEPT 24u

static uint64_t random_state;

static unsigned below(unsigned bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state >> 33) % bound;
}

/* --- Texts ---------------------------------------------------------------- */

typedef struct random_text {
  char bytes[TEXT_BYTES];
  size_t length;
  /* Where the resident strings lie; a length of 0: nowhere. */
  size_t at[3];
  size_t lengths[3];
} random_text;

enum { UID, VERSION, LABELS };

static void put(random_text *t, const char *s) {
  size_t length = strlen(s);
  if (length < TEXT_BYTES - t->length) {
    memcpy(t->bytes + t->length, s, length);
    t->length += length;
  }
}

static const char *one_of(const char *const *words, unsigned count) {
  return words[below(count)];
}
#define ONE_OF(...)                                                            \
  one_of((const char *const[]){__VA_ARGS__},                                   \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void put_space(random_text *t, bool is_spaced) {
  if (is_spaced && below(3) == 0) {
    put(t, ONE_OF(" ", "\n", "\t ", "  "));
  }
}

static void put_resident(random_text *t, unsigned i, const char *s) {
  t->at[i] = t->length;
  t->lengths[i] = strlen(s);
  put(t, s);
}

/* `change` decides what differs between the states of an object, and `object`
 * all else. */
typedef struct shape {
  unsigned object;
  unsigned change;
  unsigned filling; /* bytes of the spec */
  unsigned status;  /* bytes of the status */
  bool is_spaced;
  bool has_mark; /* a byte that stands for a mark */
  bool has_kind;
  bool is_other; /* the members in another order */
} shape;

static void put_filling(random_text *t, unsigned count, unsigned seed) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789:,{}[]";
  for (unsigned i = 0; i < count && t->length < TEXT_BYTES - 1; i++) {
    seed = seed * 1103515245u + 12345u;
    t->bytes[t->length++] =
        (seed >> 28) < 12 ? 'x' : letters[(seed >> 16) % (sizeof letters - 1)];
  }
}

static void put_metadata(random_text *t, const shape *s, const char *name) {
  char string[160];
  put(t, "\"metadata\":");
  put_space(t, s->is_spaced);
  put(t, "{");
  put_space(t, s->is_spaced);
  snprintf(string, sizeof string, "\"name\":\"%s\",\"generateName\":\"%.*s\"",
           name, (int)(strlen(name) > 5 ? strlen(name) - 5 : 0), name);
  put(t, string);
  put(t, ",\"uid\":\"");
  snprintf(string, sizeof string, "%s-%u",
           s->object % 5 == 0 ? name : "8c9a1e20", s->object);
  put_resident(t, UID, string);
  put(t, "\",\"resourceVersion\":\"");
  snprintf(string, sizeof string, "%u",
           s->change * (s->object % 3 ? 1u : 977u));
  put_resident(t, VERSION, string);
  put(t, "\"");
  if (s->object % 4 != 0) {
    put(t, ",\"labels\":");
    const char *const labels[] = {
        "{}",
        "{\"app\":\"web\",\"track\":\"t1\"}",
        "{\"app\":\"web\"}",
        "{ \"app\" : \"web\" }",
        "{\"app\":\"\",\"\":\"web\"}",
        "{\"app\":1}",
        "null",
        "[\"app\",\"web\"]",
        "{\"app\":\"w\\u0065b\"}",
        "{\"app\":\"web\",\"app\":\"own\"}",
        "{\"own\":\"only-3\",\"track\":\"t2\",\"other\":\"\xc3\xa4\"}",
        "\"a\""};
    unsigned i = s->object + (s->change % 7 == 0 ? s->change : 0);
    put_resident(t, LABELS, labels[i % (sizeof labels / sizeof *labels)]);
  }
  if (s->object % 6 == 1) {
    put(t, ",\"annotations\":{\"metadata\":{\"a\":1},\"status\":{\"b\":2}}");
  }
  put(t, "}");
}

/* A string with or without a binary value, of few different ones. */
static void put_value(random_text *t, unsigned i) {
  char string[160];
  static const char *const forms[] = {
      "\"0f0e0d0c-1111-2222-3333-44445555%04x\"",
      "\"10.%u.0.7\"",
      "\"2026-06-05T10:%02u:33Z\"",
      "\"2026-06-05T10:59:%02uZ\"",
      "\"containerd://%032x\"",
      "\"sha256:%064x\"",
      "\"%025x\"",
      "\"%0150x\"",
      "\"%u.1.1\"",
      "\"0%u.1.1.1\""};
  snprintf(string, sizeof string, forms[i % (sizeof forms / sizeof *forms)],
           i * 7u % 60u);
  put(t, string);
}

static void put_values(random_text *t, unsigned seed) {
  put(t, ",\"values\":[null");
  for (unsigned i = seed % 12; i > 0; i--) {
    put(t, ",");
    put_value(t, seed * i);
  }
  put(t, "]");
}

static void put_status(random_text *t, const shape *s) {
  put(t, ONE_OF("\"status\":{", "\"status\":{", "\"status\":{", "\"status\":{",
                "\"status\":{", "\"status\": {",
                "\"status\":{\"metadata\":{},\"status\":{},"));
  char string[64];
  snprintf(string, sizeof string, "\"n\":%u,\"text\":\"", s->change);
  put(t, string);
  put_filling(t, s->status, s->change);
  put(t, "\"");
  put_values(t, s->change);
  put(t, "}");
}

static void put_spec(random_text *t, const shape *s) {
  put(t, "\"spec\":{\"text\":\"");
  put_filling(t, s->filling, s->object);
  put(t, s->has_mark ? "\x01"
                       "a\x01"
                     : "");
  put(t, "\"");
  put_values(t, s->object);
  put(t, "}");
}

static void make_shaped(random_text *t, const shape *s, const char *name) {
  t->length = 0;
  memset(t->lengths, 0, sizeof t->lengths);
  put(t, "{");
  put_space(t, s->is_spaced);
  if (s->has_kind) {
    put(t, "\"kind\":\"Pod\",\"apiVersion\":\"v1\",");
  }
  if (s->object % 7 == 0) { /* metadata begins at about 255 */
    put(t, "\"k\":\"");
    put_filling(t, 200 + below(60), s->object);
    put(t, "\",");
  }
  if (s->is_other) {
    put_status(t, s);
    put(t, ",");
    put_spec(t, s);
    put(t, ",");
    put_metadata(t, s, name);
  } else {
    put_metadata(t, s, name);
    put(t, ",");
    put_spec(t, s);
    put(t, ",");
    put_status(t, s);
  }
  put(t, below(8) == 0 ? ",\"more\":[1,{\"status\":{}}]}" : "}");
}

/* Pieces that mean something to who packs, in any order, and residents that lie
 * anywhere. */
static void make_shapeless(random_text *t, const char *name) {
  t->length = 0;
  unsigned pieces = 1 + below(200);
  for (unsigned i = 0; i < pieces; i++) {
    switch (below(14)) {
    case 0:
      put(t, "\"metadata\":{");
      break;
    case 1:
      put(t, ",\"status\":{");
      break;
    case 2:
      put(t, name);
      break;
    case 3:
      put(t, ONE_OF("\x01",
                    "\x01"
                    "a",
                    "\x01"
                    "e",
                    "\x01z"));
      break;
    case 4:
      put(t, ONE_OF("{\"app\":\"web\"}", "{", "}", "\"", "\\"));
      break;
    case 5:
      t->bytes[t->length++] = (char)below(256);
      break;
    case 6:
      put_filling(t, below(400), below(3));
      break;
    case 7:
      put_value(t, below(1000));
      break;
    case 8:
      put(t, below(20) == 0 ? "\x02" : "\"");
      break;
    default:
      put_filling(t, below(20), below(1000));
    }
  }
  for (unsigned i = 0; i < 3; i++) {
    t->at[i] = t->length > 0 ? below((unsigned)t->length) : 0;
    unsigned left = (unsigned)(t->length - t->at[i]);
    t->lengths[i] =
        below(3) != 0 && left > 0 ? below(left < 60 ? left : 60) : 0;
  }
}

/* --- Objects -------------------------------------------------------------- */

static kin_str resident(const random_text *t, unsigned i) {
  return kin__str(t->bytes + t->at[i], t->lengths[i]);
}

static kin_object *make(kin__memory *memory, const random_text *t,
                        const char *name) {
  kin__object_parts parts = {.namespace_ = KIN__LIT("shop"),
                             .name = kin__cstr(name),
                             .uid = resident(t, UID),
                             .version = resident(t, VERSION),
                             .labels = resident(t, LABELS),
                             .body = kin__str(t->bytes, t->length)};
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  return object;
}

static void assert_str(kin_str a, kin_str b) {
  assert_int_equal(a.length, b.length);
  if (a.length > 0) {
    assert_memory_equal(a.data, b.data, b.length);
  }
}

static void assert_same(const kin_object *packed, const kin_object *plain,
                        bool in_place) {
  static const char *const names[] = {"app", "track", "own", "other", ""};
  assert_str(kin_object_key(packed), kin_object_key(plain));
  assert_str(kin_object_name(packed), kin_object_name(plain));
  assert_str(kin_object_uid(packed), kin_object_uid(plain));
  assert_str(kin_object_resource_version(packed),
             kin_object_resource_version(plain));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    kin_str a = {0};
    kin_str b = {0};
    bool has = kin_object_label(plain, names[i], &a);
    assert_int_equal(kin_object_label(packed, names[i], &b), has);
    assert_str(b, a);
  }
  kin_str text;
  void *block = NULL;
  int err = in_place ? kin__object_text(packed, &text)
                     : kin__object_open_text(packed, &text, &block);
  if (err != KIN_ENOMEM) {
    assert_int_equal(err, 0);
    assert_str(text, kin__object_body(plain));
    kin__object_close_text(packed, block);
  }
}

static void drop_notes(like_pods *l) {
  kin__inflated *next = kin__inflated_take(l->packing);
  while (next != NULL) {
    kin__inflated *noted = next;
    next = next->next;
    (void)kin__packed_drop_text(noted);
  }
}

/* --- The walk ------------------------------------------------------------- */

typedef struct walk {
  like_pods l;
  kin__memory *plain; /* never without memory */
  kin__packer *helper;
  kin__dictionary *dictionary;
  struct {
    kin_object *packed;
    kin_object *plain;
  } kept[KEPT];
  unsigned packed;
  unsigned halves;
  unsigned binary;
  unsigned renewed;
  unsigned taken; /* fronts with the frame of the state before */
} walk;

static random_text current;

static void renew(walk *w) {
  static char bytes[KIN__SAMPLES_MAX * 8192];
  static kin__samples samples;
  samples = (kin__samples){.bytes = bytes};
  size_t used = 0;
  unsigned count = 1 + below(100);
  for (unsigned i = 0; i < count; i++) {
    shape s = {.object = below(40),
               .change = below(100),
               .filling = below(4000),
               .status = below(500),
               .is_spaced = below(4) == 0};
    make_shaped(&current, &s, "web-7d9f8-abcde");
    size_t length = current.length < 8192 ? current.length : 8192;
    memcpy(bytes + used, current.bytes, length);
    used += length;
    samples.sizes[samples.count++] = length;
  }
  kin__dictionary *dictionary;
  if (kin__dictionary_new(&dictionary, w->l.packing, &samples,
                          w->renewed++ % 2 == 0, below(2) == 0) == 0) {
    kin__packer_use(w->l.packer, dictionary);
    kin__dictionary_unref(dictionary);
  }
}

/* Whether both begin with the same frame. */
static bool has_frame_of(const kin_object *object, const kin_object *before) {
  if (before == NULL || (before->flags & object->flags & KIN__HALVES) == 0) {
    return false;
  }
  kin_str a = kin__packed_frame(object);
  kin_str b = kin__packed_frame(before);
  return a.length >= 48 && b.length >= 48 && memcmp(a.data, b.data, 32) == 0;
}

static kin_object *pack(walk *w, const kin_object *plain,
                        const kin_object *before) {
  static _Alignas(max_align_t) char image[TEXT_BYTES];
  kin_object *object;
  if (kin__object_copy(&object, w->l.memory, plain, 0) != 0) {
    return NULL;
  }
  if (below(8) == 0) {
    size_t size = kin__object_pack_to(image, sizeof image, object, w->l.packer);
    kin_object *packed = size > 0 && size <= sizeof image
                             ? kin__object_of_image(w->l.memory, image, size)
                             : NULL;
    if (packed != NULL) {
      kin_object_unref(object);
      return packed;
    }
  }
  w->packed += kin__object_pack(&object, before, w->l.memory, w->l.packer);
  w->halves += (object->flags & KIN__HALVES) != 0;
  w->binary += (object->flags & KIN__BINARY) != 0;
  w->taken += has_frame_of(object, before);
  kin_object *copy;
  if (below(8) == 0 && kin__object_copy(&copy, w->l.memory, object, 0) == 0) {
    kin_object_unref(object);
    return copy;
  }
  return object;
}

static void keep(walk *w, unsigned i, kin_object *packed, kin_object *plain) {
  kin_object_unref(w->kept[i].packed);
  kin_object_unref(w->kept[i].plain);
  w->kept[i].packed = packed;
  w->kept[i].plain = plain;
}

/* A state of the object in place i, of which most change the status only. */
static void step(walk *w, shape *shapes) {
  static const char *const names[] = {
      "a",    "web-7d9f8-abcde", "metadata", "status",
      "db-0", "only-3",          "uid",      "xxxx"};
  unsigned i = below(KEPT);
  const char *name = names[i % (sizeof names / sizeof *names)];
  shape *s = &shapes[i];
  s->change += below(20);
  s->has_kind = below(3) != 0;
  if (s->object == 0 || below(20) == 0) {
    unsigned rare = below(200);
    *s = (shape){.object = 1 + below(1000),
                 .change = s->change + (s->change < 1000 ? below(1500) : 0),
                 .filling = rare == 0    ? 120000 + below(12000)
                            : rare < 150 ? below(4000)
                                         : 300 + below(300),
                 .is_spaced = below(8) == 0,
                 .has_mark = below(10) == 0,
                 .is_other = below(8) == 0};
  }
  s->status = below(10) == 0 ? below(3000) : below(200);
  if (below(12) == 0) {
    make_shapeless(&current, name);
  } else {
    make_shaped(&current, s, name);
  }
  kin_object *plain = make(w->plain, &current, name);
  const kin_object *before =
      below(6) == 0 ? w->kept[below(KEPT)].packed : w->kept[i].packed;
  if (below(10) == 0) {
    before = below(2) == 0 ? NULL : plain;
  }
  kin_object *packed = pack(w, plain, before);
  if (packed != NULL) {
    assert_same(packed, plain, below(4) == 0);
    keep(w, i, packed, plain);
  } else {
    kin_object_unref(plain);
  }
  unsigned other = below(KEPT);
  if (w->kept[other].packed != NULL) {
    assert_same(w->kept[other].packed, w->kept[other].plain, false);
  }
}

static void run(uint64_t seed, unsigned steps, bool may_fail) {
  static walk w;
  static shape shapes[KEPT];
  memset(&w, 0, sizeof w);
  memset(shapes, 0, sizeof shapes);
  random_state = seed;
  assert_int_equal(like_pods_init(&w.l, 0, 0, 64), 0);
  fail_alloc plain;
  fail_alloc_init(&plain, 0);
  w.plain = kin__memory_new(&plain.allocator);
  assert_non_null(w.plain);
  for (unsigned i = 0; i < steps; i++) {
    if (may_fail) {
      w.l.fail.fail_at = below(4) == 0 ? w.l.fail.calls + 1 + below(4) : 0;
    }
    if (below(150) == 0) {
      renew(&w);
    }
    step(&w, shapes);
    if (below(10) == 0) {
      drop_notes(&w.l);
    }
  }
  w.l.fail.fail_at = 0;
  assert_true(w.packed > steps / 2);
  assert_true(w.halves > steps / 20);
  assert_true(w.binary > steps / 20);
  assert_true(w.taken > steps / 60);
  for (unsigned i = 0; i < KEPT; i++) {
    if (w.kept[i].packed != NULL) {
      assert_same(w.kept[i].packed, w.kept[i].plain, true);
    }
  }
  drop_notes(&w.l);
  for (unsigned i = 0; i < KEPT; i++) {
    keep(&w, i, NULL, NULL);
  }
  kin__memory_unref(w.plain);
  like_pods_finish(&w.l);
}

static unsigned times(void) {
  const char *more = getenv("PACKED_STATES_TIMES");
  return more != NULL ? (unsigned)atoi(more) : 1;
}

static void test_states_read_as_plain(void **state) {
  (void)state;
  for (unsigned i = 0; i < times(); i++) {
    run(UINT64_C(0x9e3779b97f4a7c15) + i, 3000, false);
  }
}

static void test_states_without_memory(void **state) {
  (void)state;
  for (unsigned i = 0; i < times(); i++) {
    run(UINT64_C(0xbf58476d1ce4e5b9) + i, 3000, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states_read_as_plain),
      cmocka_unit_test(test_states_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
