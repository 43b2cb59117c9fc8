/* SPDX-License-Identifier: MIT */

/* From a value to a value in it, over the text and without a document. Nothing
 * here recurses. */
#include <string.h>

#include "object/json.h"
#include "object/object.h"
#include "object/text.h"
#include "values/value.h"

/* The bytes of a pointer's token that has to be unescaped. */
enum { ESCAPED_TOKEN_MAX = 512 };

/* The value at the beginning of `text`, which may go on behind it. */
static kin_value value_before(kin_str text) {
  size_t length = kin__text_skip(text, 0);
  return length > 0 ? kin__value_of_text(text.data, length)
                    : kin__value_failed(KIN_EJSON);
}

/* Steps from an object at the beginning of *text to its member. */
static int to_member(kin_str *text, kin_str name) {
  kin__text_members members = {.text = *text};
  while (kin__text_next_name(&members)) {
    if (kin__text_name_is(members.name, name)) {
      *text = kin__str_from(*text, members.at);
      return 0;
    }
    members.at = kin__text_skip(*text, members.at);
    if (members.at == 0) {
      return KIN_EJSON;
    }
  }
  return kin__text_close(*text, members.at, '{') > 0 ? KIN_ENOENT : KIN_EJSON;
}

static int to_element(kin_str *text, uint64_t index) {
  size_t at = 0;
  size_t place;
  while ((place = kin__text_next_place(*text, at)) > 0) {
    if (index-- == 0) {
      *text = kin__str_from(*text, place);
      return 0;
    }
    at = kin__text_skip(*text, place);
    if (at == 0) {
      return KIN_EJSON;
    }
  }
  return kin__text_close(*text, at, '[') > 0 ? KIN_ENOENT : KIN_EJSON;
}

/* Steps to the child of the value at the beginning of *text. */
static int to_child(kin_str *text, kin_str token) {
  char unescaped[ESCAPED_TOKEN_MAX];
  uint64_t index;
  if (text->length == 0) {
    return KIN_EJSON;
  }
  switch (text->data[0]) {
  case '{':
    if (token.length > 0 && memchr(token.data, '~', token.length) != NULL) {
      if (token.length > sizeof unescaped) {
        return KIN_EINVAL;
      }
      size_t length = kin__json_token_unescape(unescaped, token);
      token = kin__str(unescaped, length);
    }
    return to_member(text, token);
  case '[':
    return kin__json_token_to_element(token, &index) ? to_element(text, index)
                                                     : KIN_ENOENT;
  default:
    return KIN_ENOENT;
  }
}

static kin_value at_pointer(kin_str text, const char *pointer) {
  int err = 0;
  while (err == 0 && *pointer == '/') {
    kin_str token = kin__str(pointer + 1, strcspn(pointer + 1, "/"));
    err = to_child(&text, token);
    pointer += 1 + token.length;
  }
  return err == 0 ? value_before(text) : kin__value_failed(err);
}

kin_value kin_value_at(kin_value value, const char *pointer) {
  if (!kin__json_pointer_is_usable(pointer)) {
    return kin__value_failed(KIN_EINVAL);
  }
  if (kin_value_type_of(value) == KIN_VALUE_ABSENT) {
    return kin__value_failed(value.error != 0 ? value.error : KIN_ENOENT);
  }
  return at_pointer(value.json, pointer);
}

kin_value kin_object_at(const kin_object *object, const char *pointer) {
  if (object == NULL || !kin__json_pointer_is_usable(pointer)) {
    return kin__value_failed(KIN_EINVAL);
  }
  kin_str text;
  int err = kin__object_text(object, &text);
  return err == 0 ? at_pointer(text, pointer) : kin__value_failed(err);
}

kin_value kin_value_member(kin_value value, kin_str name) {
  int err = kin__value_expect(value, KIN_VALUE_OBJECT);
  if (err == 0) {
    err = to_member(&value.json, kin__str_given(name));
  }
  return err == 0 ? value_before(value.json) : kin__value_failed(err);
}

kin_value kin_value_of(kin_str json) {
  json = kin__str_given(json);
  json = kin__str_from(json, kin__text_skip_space(json, 0));
  if (json.length == 0) {
    return kin__value_failed(KIN_ENOENT);
  }
  kin_value value = value_before(json);
  return value.error != 0 ||
                 kin__text_skip_space(json, value.json.length) == json.length
             ? value
             : kin__value_failed(KIN_EJSON);
}

/* Walks. An iterator that is over has no text. */

kin_value_iterator kin_value_iterate(kin_value value) {
  kin_value_type type = kin_value_type_of(value);
  if (type == KIN_VALUE_OBJECT || type == KIN_VALUE_ARRAY) {
    return (kin_value_iterator){.text = value.json};
  }
  int err = kin__value_expect(value, KIN_VALUE_OBJECT);
  return (kin_value_iterator){.error = err};
}

static bool end(kin_value_iterator *iterator, int error) {
  *iterator = (kin_value_iterator){.error = error};
  return false;
}

/* Takes the value at `at`, behind which the next step begins. */
static bool take(kin_value_iterator *iterator, size_t at, kin_value *value) {
  size_t after = kin__text_skip(iterator->text, at);
  if (after == 0) {
    return end(iterator, KIN_EJSON);
  }
  *value = kin__value_of_text(iterator->text.data + at, after - at);
  iterator->at = after;
  return true;
}

/* Ends a walk that has found no further child. */
static bool finish(kin_value_iterator *iterator) {
  bool is_closed =
      kin__text_close(iterator->text, iterator->at, iterator->text.data[0]) > 0;
  return end(iterator, is_closed ? 0 : KIN_EJSON);
}

static bool next_member(kin_value_iterator *iterator, kin_value *name,
                        kin_value *value) {
  kin__text_members members = {.text = iterator->text, .at = iterator->at};
  if (!kin__text_next_name(&members)) {
    return finish(iterator);
  }
  /* The quotes around the name. */
  *name = kin__value_of_text(members.name.data - 1, members.name.length + 2);
  return take(iterator, members.at, value);
}

static bool next_element(kin_value_iterator *iterator, kin_value *value) {
  size_t place = kin__text_next_place(iterator->text, iterator->at);
  return place > 0 ? take(iterator, place, value) : finish(iterator);
}

bool kin_value_next(kin_value_iterator *iterator, kin_value *value) {
  if (value != NULL) {
    *value = kin__value_failed(KIN_ENOENT);
  }
  if (iterator == NULL || value == NULL || iterator->text.length == 0) {
    return false;
  }
  kin_value name;
  return iterator->text.data[0] == '{' ? next_member(iterator, &name, value)
                                       : next_element(iterator, value);
}

bool kin_value_next_member(kin_value_iterator *iterator, kin_value *name,
                           kin_value *value) {
  if (name != NULL) {
    *name = kin__value_failed(KIN_ENOENT);
  }
  if (value != NULL) {
    *value = kin__value_failed(KIN_ENOENT);
  }
  if (iterator == NULL || name == NULL || value == NULL ||
      iterator->text.length == 0) {
    return false;
  }
  if (iterator->text.data[0] != '{') {
    return end(iterator, KIN_ETYPE);
  }
  return next_member(iterator, name, value);
}
