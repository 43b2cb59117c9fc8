/* SPDX-License-Identifier: MIT */
#include "object/strip.h"

#include <string.h>

#include "base/str.h"
#include "object/dictionary.h"
#include "object/text.h"

#define MARK_BYTES 2u
/* metadata comes first in what a server writes, and the name first in it. */
#define NAME_WITHIN 512u
/* Prefix and namespace come next. */
#define NEXT_WITHIN 64u
#define SUFFIX_BYTES 5u /* that a server adds to generateName */
#define STRING_MIN_BYTES 4u

kin_str kin__strip_prefix(kin_str name) {
  size_t length =
      name.length > 2 * SUFFIX_BYTES ? name.length - SUFFIX_BYTES : 0;
  return kin__str(name.data, length);
}

/* --- Without ---------------------------------------------------------------- */

static kin_str find(kin_str text, size_t from, size_t within, kin_str wanted) {
  size_t end = from + within < text.length ? from + within : text.length;
  if (wanted.length < STRING_MIN_BYTES) {
    return kin__str(NULL, 0);
  }
  for (size_t at = from; at + wanted.length <= end; at++) {
    const char *first =
        memchr(text.data + at, wanted.data[0], end - wanted.length - at + 1);
    if (first == NULL) {
      break;
    }
    at = (size_t)(first - text.data);
    if (memcmp(first, wanted.data, wanted.length) == 0) {
      return kin__str(first, wanted.length);
    }
  }
  return kin__str(NULL, 0);
}

/* The next one from `at` on; KIN__RESIDENTS if there is none. */
static unsigned next_of(const kin_str found[KIN__RESIDENTS], const char *at) {
  unsigned next = KIN__RESIDENTS;
  for (unsigned i = 0; i < KIN__RESIDENTS; i++) {
    if (found[i].length >= STRING_MIN_BYTES && found[i].data >= at &&
        (next == KIN__RESIDENTS || found[i].data < found[next].data)) {
      next = i;
    }
  }
  return next;
}

/* The string, if it begins soon behind *behind, which moves behind the string. */
static kin_str find_next(kin_str text, size_t *behind, kin_str wanted) {
  kin_str found = find(text, *behind, NEXT_WITHIN + wanted.length, wanted);
  if (found.length > 0) {
    *behind = (size_t)(found.data - text.data) + found.length;
  }
  return found;
}

/* Without a name, prefix and namespace are not looked for. */
static void find_first(kin_str text, kin_str found[KIN__RESIDENTS]) {
  kin_str *name = &found[KIN__RESIDENT_NAME];
  kin_str *prefix = &found[KIN__RESIDENT_PREFIX];
  kin_str *namespace_ = &found[KIN__RESIDENT_NAMESPACE];
  *name = find(text, 0, NAME_WITHIN, *name);
  size_t behind = name->length > 0
                      ? (size_t)(name->data - text.data) + name->length
                      : text.length;
  *prefix = find_next(text, &behind, *prefix);
  *namespace_ = find_next(text, &behind, *namespace_);
}

size_t kin__strip(char *to, kin_str text, const kin_str strings[KIN__RESIDENTS],
                  unsigned *mask) {
  *mask = 0;
  const char *at = text.data;
  const char *end = text.data + text.length;
  kin_str found[KIN__RESIDENTS];
  memcpy(found, strings, sizeof found);
  find_first(text, found);
  bool may_strip = text.length > 0 &&
                   memchr(text.data, KIN__STRIP_MARK, text.length) == NULL;
  size_t length = 0;
  unsigned i;
  while (may_strip && (i = next_of(found, at)) < KIN__RESIDENTS) {
    size_t before = (size_t)(found[i].data - at);
    memmove(to + length, at, before);
    to[length + before] = KIN__STRIP_MARK;
    to[length + before + 1] = (char)('a' + i);
    length += before + MARK_BYTES;
    at = found[i].data + found[i].length;
    *mask |= 1u << i;
  }
  memmove(to + length, at, (size_t)(end - at));
  return length + (size_t)(end - at);
}

/* As written. Texts without metadata stay as they are. */
static void find_residents(kin_str text, kin_str strings[KIN__RESIDENTS]) {
  kin__text_members members = {
      .text = kin__text_member(text, KIN__LIT("metadata"))};
  while (kin__text_next(&members)) {
    kin_str name = members.name;
    if (kin__str_equal(name, KIN__LIT("labels"))) {
      strings[KIN__RESIDENT_LABELS] = members.value;
    } else if (kin__str_equal(name, KIN__LIT("name"))) {
      (void)kin__text_string(members.value, &strings[KIN__RESIDENT_NAME]);
    } else if (kin__str_equal(name, KIN__LIT("namespace"))) {
      (void)kin__text_string(members.value, &strings[KIN__RESIDENT_NAMESPACE]);
    } else if (kin__str_equal(name, KIN__LIT("uid"))) {
      (void)kin__text_string(members.value, &strings[KIN__RESIDENT_UID]);
    } else if (kin__str_equal(name, KIN__LIT("resourceVersion"))) {
      (void)kin__text_string(members.value, &strings[KIN__RESIDENT_VERSION]);
    }
  }
  strings[KIN__RESIDENT_PREFIX] =
      kin__strip_prefix(strings[KIN__RESIDENT_NAME]);
}

void kin__strip_samples(struct kin__samples *samples) {
  const char *from = samples->bytes;
  char *to = samples->bytes;
  for (unsigned i = 0; i < samples->count; i++) {
    kin_str text = kin__str(from, samples->sizes[i]);
    kin_str strings[KIN__RESIDENTS] = {0};
    unsigned mask;
    find_residents(text, strings);
    from += text.length;
    samples->sizes[i] = kin__strip(to, text, strings, &mask);
    to += samples->sizes[i];
  }
}

/* --- With ------------------------------------------------------------------- */

static size_t length_of(const kin__residents *residents, unsigned i) {
  kin_str s = residents->strings[i];
  return i == KIN__RESIDENT_LABELS
             ? kin__label_table_write(residents->table, s, NULL)
             : s.length;
}

size_t kin__stripped_length(const kin__residents *residents, unsigned mask,
                            size_t length) {
  for (unsigned i = 0; i < KIN__RESIDENTS; i++) {
    if ((mask >> i & 1u) != 0) {
      length -= length_of(residents, i) - MARK_BYTES;
    }
  }
  return length;
}

/* A resident is at least as long as its mark. So what is written never passes
 * what is read. */
bool kin__unstrip(char *text, size_t length, size_t stripped,
                  const kin__residents *residents) {
  const char *from = text + (length - stripped);
  const char *end = text + length;
  while (from < end) {
    const char *mark = memchr(from, KIN__STRIP_MARK, (size_t)(end - from));
    size_t before = (size_t)((mark != NULL ? mark : end) - from);
    memmove(text, from, before);
    text += before;
    from += before;
    if (mark == NULL) {
      break;
    }
    unsigned i = end - mark >= (ptrdiff_t)MARK_BYTES
                     ? (unsigned)(unsigned char)mark[1] - 'a'
                     : KIN__RESIDENTS;
    from += MARK_BYTES;
    size_t its = i < KIN__RESIDENTS ? length_of(residents, i) : SIZE_MAX;
    if (from > end || its > (size_t)(from - text)) {
      return false;
    }
    if (i == KIN__RESIDENT_LABELS) {
      (void)kin__label_table_write(residents->table, residents->strings[i],
                                   text);
    } else if (its > 0) {
      memcpy(text, residents->strings[i].data, its);
    }
    text += its;
  }
  return text == end;
}
