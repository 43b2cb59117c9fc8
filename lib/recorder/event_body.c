/* SPDX-License-Identifier: MIT */
#include "recorder/event_body.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "object/text.h"

#define MICRO_DIGITS 6u

/* --- UTF-8 ---------------------------------------------------------------- */

static bool is_continuation(unsigned char c) {
  return (c & 0xc0) == 0x80;
}

/* The length of the character at the begin; 0: it is malformed, too long for its
 * value, half of a surrogate pair, or beyond U+10FFFF. */
static size_t character_length(const unsigned char *s, size_t length) {
  if (s[0] < 0x80) {
    return 1;
  }
  size_t expected = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
  if (s[0] < 0xc2 || s[0] > 0xf4 || length < expected) {
    return 0;
  }
  for (size_t i = 1; i < expected; i++) {
    if (!is_continuation(s[i])) {
      return 0;
    }
  }
  bool is_bad = (s[0] == 0xe0 && s[1] < 0xa0) ||
                (s[0] == 0xed && s[1] > 0x9f) ||
                (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
  return is_bad ? 0 : expected;
}

size_t kin__utf8_clean(char *to, kin_str from, size_t max_bytes) {
  size_t at = 0;
  size_t written = 0;
  while (at < from.length) {
    size_t length = character_length((const unsigned char *)from.data + at,
                                     from.length - at);
    size_t copied = length > 0 ? length : 1;
    if (written + copied > max_bytes) {
      break;
    }
    memcpy(to + written, length > 0 ? from.data + at : "?", copied);
    written += copied;
    at += copied;
  }
  return written;
}

/* --- JSON ----------------------------------------------------------------- */

static int append_quoted(kin__buf *out, kin_str plain) {
  size_t bound = kin__text_quoted_bound(plain.length);
  int err = kin__buf_reserve(out, bound);
  if (err == 0) {
    out->length += kin__text_quote(out->data + out->length, plain);
  }
  return err;
}

/* `"name":"value"`, after a comma unless it is the first member; nothing for an
 * empty value. */
static int append_member(kin__buf *out, const char *name, kin_str value) {
  if (value.length == 0) {
    return 0;
  }
  bool is_first = out->data[out->length - 1] == '{';
  int err = kin__buf_printf(out, "%s\"%s\":", is_first ? "" : ",", name);
  return err == 0 ? append_quoted(out, value) : err;
}

static int append_reference(kin__buf *out, const char *name,
                            const kin_str *texts) {
  static const char *const names[] = {"apiVersion", "kind", "namespace",
                                      "name",       "uid",  "resourceVersion",
                                      "fieldPath"};
  int err = kin__buf_printf(out, ",\"%s\":{", name);
  for (size_t i = 0; i < sizeof names / sizeof names[0] && err == 0; i++) {
    err = append_member(out, names[i], texts[i]);
  }
  return err == 0 ? kin__buf_append_cstr(out, "}") : err;
}

static int append_series(kin__buf *out, const kin__event_entry *entry) {
  char time[KIN__TIMESTAMP_MAX];
  (void)kin__timestamp_format(time, entry->last_observed, MICRO_DIGITS);
  return kin__buf_printf(
      out, "\"series\":{\"count\":%" PRIu32 ",\"lastObservedTime\":\"%s\"}",
      entry->sent_count, time);
}

static int append_event(kin__buf *out, const kin__event_entry *entry,
                        kin_str controller, kin_str instance) {
  const kin_str *texts = entry->texts;
  const struct {
    const char *name;
    kin_str value;
  } members[] = {{"reportingController", controller},
                 {"reportingInstance", instance},
                 {"action", texts[KIN__EVENT_ACTION]},
                 {"reason", texts[KIN__EVENT_REASON]},
                 {"type", texts[KIN__EVENT_TYPE]},
                 {"note", texts[KIN__EVENT_NOTE]}};
  char time[KIN__TIMESTAMP_MAX];
  (void)kin__timestamp_format(time, entry->event_time, MICRO_DIGITS);
  int err = kin__buf_append_cstr(out, "{\"kind\":\"Event\",\"apiVersion\":"
                                      "\"events.k8s.io/v1\",\"metadata\":{");
  if (err == 0) {
    err = append_member(out, "name", texts[KIN__EVENT_NAME]);
  }
  if (err == 0) {
    err = append_member(out, "namespace", texts[KIN__EVENT_NAMESPACE]);
  }
  if (err == 0) {
    err = kin__buf_printf(out, "},\"eventTime\":\"%s\"", time);
  }
  for (size_t i = 0; i < sizeof members / sizeof members[0] && err == 0; i++) {
    err = append_member(out, members[i].name, members[i].value);
  }
  if (err == 0) {
    err = append_reference(out, "regarding", &texts[KIN__EVENT_REGARDING]);
  }
  if (err == 0 && texts[KIN__EVENT_RELATED + 1].length > 0) {
    err = append_reference(out, "related", &texts[KIN__EVENT_RELATED]);
  }
  if (err == 0 && entry->sent_count > 1) {
    err = kin__buf_append_cstr(out, ",");
    err = err == 0 ? append_series(out, entry) : err;
  }
  return err == 0 ? kin__buf_append_cstr(out, "}") : err;
}

int kin__event_body(kin__buf *out, const kin__event_entry *entry,
                    kin_str controller, kin_str instance) {
  if (!entry->is_patch) {
    return append_event(out, entry, controller, instance);
  }
  int err = kin__buf_append_cstr(out, "{");
  if (err == 0) {
    err = append_series(out, entry);
  }
  return err == 0 ? kin__buf_append_cstr(out, "}") : err;
}
