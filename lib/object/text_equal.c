/* SPDX-License-Identifier: MIT */
#include "object/text_equal.h"

#include "base/str.h"
#include "object/text.h"

/* Two values that differ are walked together, child by child. Most have their
 * members in the same order. Only those of other objects are searched for. */

#define READS_AT_LEAST 4096u

typedef struct comparison {
  uint64_t bytes_left; /* that may still be walked over */
  unsigned levels_left;
} comparison;

static bool are_equal(comparison *c, kin_str a, kin_str b);

/* Whether the bytes that a walk has read are within the bound. */
static bool spend(comparison *c, size_t bytes) {
  bool is_enough = bytes <= c->bytes_left;
  c->bytes_left = is_enough ? c->bytes_left - bytes : 0;
  return is_enough;
}

static bool next_member(comparison *c, kin__text_members *members) {
  size_t before = members->at;
  return kin__text_next(members) && spend(c, members->at - before);
}

static bool next_element(comparison *c, kin__text_elements *elements) {
  size_t before = elements->at;
  return kin__text_next_element(elements) && spend(c, elements->at - before);
}

/* Whether a walk that is over has ended at the closing bracket, within the
 * bound, and not where the text stops being JSON. */
static bool is_whole(const comparison *c, kin_str text, size_t at) {
  return c->bytes_left > 0 &&
         kin__text_close(text, at, text.data[0]) == text.length;
}

/* Of the bytes between the quotes. */
static bool are_strings_equal(kin_str a, kin_str b) {
  if (kin__str_equal(a, b)) {
    return true;
  }
  bool is_a_escaped = kin__text_is_escaped(a);
  if (is_a_escaped == kin__text_is_escaped(b)) {
    return false;
  }
  return is_a_escaped ? kin__text_name_is(a, b) : kin__text_name_is(b, a);
}

/* Whether each member that is left in `a` is equal to the first one of its name
 * that is left in `b`. Of names with escapes in both, two may be one. */
static bool has_all(comparison *c, kin__text_members a, kin__text_members b) {
  while (next_member(c, &a)) {
    kin__text_members of_b = b;
    do {
      if (kin__text_is_escaped(a.name) || !next_member(c, &of_b)) {
        return false;
      }
    } while (!kin__text_name_is(of_b.name, a.name));
    if (!are_equal(c, a.value, of_b.value)) {
      return false;
    }
  }
  return is_whole(c, a.text, a.at);
}

static bool are_objects_equal(comparison *c, kin_str a, kin_str b) {
  kin__text_members of_a = {.text = a};
  kin__text_members of_b = {.text = b};
  for (;;) {
    kin__text_members left_of_a = of_a;
    kin__text_members left_of_b = of_b;
    bool has_a = next_member(c, &of_a);
    bool has_b = next_member(c, &of_b);
    if (!has_a && !has_b) {
      return is_whole(c, a, of_a.at) && is_whole(c, b, of_b.at);
    }
    if (!has_a || !has_b) {
      return false;
    }
    if (!are_strings_equal(of_a.name, of_b.name)) {
      /* A name that occurs twice must not hide one that is missing, nor the
       * value that counts. The members before are the same in both. */
      return has_all(c, left_of_a, left_of_b) &&
             has_all(c, left_of_b, left_of_a);
    }
    if (!are_equal(c, of_a.value, of_b.value)) {
      return false;
    }
  }
}

static bool are_arrays_equal(comparison *c, kin_str a, kin_str b) {
  kin__text_elements of_a = {.text = a};
  kin__text_elements of_b = {.text = b};
  for (;;) {
    bool has_a = next_element(c, &of_a);
    bool has_b = next_element(c, &of_b);
    if (!has_a && !has_b) {
      return is_whole(c, a, of_a.at) && is_whole(c, b, of_b.at);
    }
    if (!has_a || !has_b || !are_equal(c, of_a.value, of_b.value)) {
      return false;
    }
  }
}

static bool are_equal(comparison *c, kin_str a, kin_str b) {
  if (kin__str_equal(a, b)) {
    return true;
  }
  if (a.length == 0 || b.length == 0 || a.data[0] != b.data[0]) {
    return false;
  }
  kin_str raw_a;
  kin_str raw_b;
  if (kin__text_string(a, &raw_a) && kin__text_string(b, &raw_b)) {
    return are_strings_equal(raw_a, raw_b);
  }
  bool is_object = a.data[0] == '{';
  if ((!is_object && a.data[0] != '[') || c->levels_left == 0) {
    return false;
  }
  c->levels_left--;
  bool is_equal =
      is_object ? are_objects_equal(c, a, b) : are_arrays_equal(c, a, b);
  c->levels_left++;
  return is_equal;
}

bool kin__text_equal(kin_str a, kin_str b, uint64_t *bytes_left) {
  uint64_t most =
      READS_AT_LEAST + KIN__TEXT_EQUAL_READS * ((uint64_t)a.length + b.length);
  most = most < *bytes_left ? most : *bytes_left;
  comparison c = {.bytes_left = most, .levels_left = KIN__TEXT_EQUAL_DEPTH};
  bool is_equal = are_equal(&c, a, b);
  *bytes_left -= most - c.bytes_left;
  return is_equal;
}
