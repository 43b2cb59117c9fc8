/* SPDX-License-Identifier: MIT */
#ifndef KIN_VALUE_H
#define KIN_VALUE_H

/** @file
 * Values in JSON text: by JSON Pointer, by type, one after another. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/object.h>
#include <kin/quantity.h>
#include <kin/str.h>
#include <kin/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A value in JSON text, or the reason why there is none. Nothing is parsed
 * before it is asked for, nothing is allocated, and nothing has to be freed. A
 * value lives as long as the text that it was taken from: an object's text
 * lives as long as the object, and a compact object's as kin_compact says.
 *
 * A function that takes a value hands its error on, so that calls can be
 * nested, and only the last result needs a check:
 *
 *   int64_t replicas = 1;
 *   int err = kin_value_int64(kin_object_at(set, "/spec/replicas"), &replicas);
 *
 * Set a value only by the functions of this header. A zero-initialized value is
 * absent. */
typedef struct kin_value {
  kin_str json; /**< the JSON text: a string has its quotes and escapes */
  int error;    /**< 0, or why there is no value; `json` is empty then */
} kin_value;

/** The types of values. */
typedef enum kin_value_type {
  KIN_VALUE_ABSENT = 0, /**< there is no value: see kin_value.error */
  KIN_VALUE_NULL,       /**< null */
  KIN_VALUE_BOOL,       /**< true or false */
  KIN_VALUE_NUMBER,     /**< a number of any form */
  KIN_VALUE_STRING,     /**< a string */
  KIN_VALUE_ARRAY,      /**< an array */
  KIN_VALUE_OBJECT      /**< an object, or map */
} kin_value_type;

/** The value that the whole of `json` is. The text is borrowed. White space
 * around the value does not count.
 * Errors of the value: KIN_EJSON (no JSON, or more than one value), KIN_ENOENT
 * (an empty text). Only the brackets and strings are checked here; the inside
 * of a value is checked when it is read. Cost: O(length). */
KIN_EXTERN kin_value kin_value_of(kin_str json);

/** The value in an object that a JSON Pointer (RFC 6901) names, such as
 * "/spec/nodeName" or "/metadata/annotations/example.com~1team"; "" names the
 * whole object. If a name occurs twice in one object, the first counts.
 *
 * Errors of the value: KIN_ENOENT (nothing there; null is there as a value of
 * the type KIN_VALUE_NULL), KIN_EINVAL (malformed pointer, or one of over 64
 * tokens, or a token of over 512 bytes that contains a `~`), KIN_EJSON,
 * KIN_ENOMEM (compact objects only, see kin_compact).
 * Cost: O(bytes of the object before the end of the value). To read several
 * values, see kin/fields.h. */
KIN_EXTERN kin_value kin_object_at(const kin_object *object,
                                   const char *pointer);

/** The same for a value inside another value.
 * Cost: O(bytes of `value` before the end of what is found). */
KIN_EXTERN kin_value kin_value_at(kin_value value, const char *pointer);

/** The member of that name, as it is without JSON's escapes: for maps whose
 * keys contain slashes, such as annotations.
 * Errors of the value: KIN_ENOENT, KIN_ETYPE (`value` is no object), KIN_EJSON.
 * Cost: O(bytes of `value` before the end of the member). */
KIN_EXTERN kin_value kin_value_member(kin_value value, kin_str name);

/** The type of a value. KIN_VALUE_ABSENT: there is none. */
KIN_EXTERN kin_value_type kin_value_type_of(kin_value value);

/** Returns whether there is a value and it is not null. */
KIN_EXTERN bool kin_value_exists(kin_value value);

/* The functions below that fill *out have the errors: that of the value;
 * KIN_ENOENT (there is no value, or it is null); KIN_ETYPE (a value of another
 * type); KIN_EJSON (malformed text); and those that they name. On an error *out
 * is left alone. They take time in proportion to the length of the value. */

/** The string. Without escapes (the common case) *out is borrowed from the JSON
 * text, and the buffer is not used. With escapes the string is written to
 * `buffer`, and *out is borrowed from there. `size` is in bytes; as many as
 * value.json.length always suffice. `buffer` may be NULL if `size` is 0: then
 * only strings without escapes are read. *out is not NUL-terminated.
 * Errors: KIN_ETOOBIG (there are escapes, and the buffer is too small).
 * */
KIN_EXTERN int kin_value_string(kin_value value, char *buffer, size_t size,
                                kin_str *out);

/** Copies the string, with a NUL behind it, to `to`. `size` is in bytes; as
 * many as value.json.length always suffice. *length, unless NULL, gets the
 * length without the NUL; a string may contain NULs itself.
 * Errors: KIN_ETOOBIG (too small; nothing is written). */
KIN_EXTERN int kin_value_copy_string(kin_value value, char *to, size_t size,
                                     size_t *length);

/** Returns whether the value is this string; escapes are understood. Needs no
 * buffer: kin_value_string_is(phase, KIN_STR("Running")). */
KIN_EXTERN bool kin_value_string_is(kin_value value, kin_str text);

/** A boolean. */
KIN_EXTERN int kin_value_bool(kin_value value, bool *out);

/** An integer. A number with a fraction or an exponent is none (KIN_ETYPE).
 * Errors: KIN_ETOOBIG (out of range). */
KIN_EXTERN int kin_value_int64(kin_value value, int64_t *out);
/** An integer that is not negative; see kin_value_int64. */
KIN_EXTERN int kin_value_uint64(kin_value value, uint64_t *out);

/** Any number, rounded correctly, whatever the locale.
 * Errors: KIN_ETOOBIG (infinite as a double, or over 1,024 bytes).
 * */
KIN_EXTERN int kin_value_double(kin_value value, double *out);

/** A time of RFC 3339, as metav1.Time and metav1.MicroTime have it.
 * Errors: KIN_EUNEXPECTED (another string, or one with escapes of over 256
 * bytes). */
KIN_EXTERN int kin_value_time(kin_value value, kin_time *out);

/** A duration as metav1.Duration has it, such as "1h30m"; see
 * kin_duration_parse. *out is in nanoseconds.
 * Errors: KIN_EUNEXPECTED (another string, or one with escapes of over 256
 * bytes). */
KIN_EXTERN int kin_value_duration(kin_value value, int64_t *out);

/** A quantity, such as "500m", "2Gi" or 4: a string, white space around it does
 * not count, or a number; see kin_quantity_parse.
 * Errors: KIN_EUNEXPECTED (another string, or one with escapes of over 256
 * bytes), KIN_ETOOBIG. */
KIN_EXTERN int kin_value_quantity(kin_value value, kin_quantity *out);

/** Base64 with padding, as Secrets and other fields of bytes have it, decoded
 * to `to`. Line ends in it do not count. `size` is in bytes; as many as
 * value.json.length always suffice. *length gets the number of bytes.
 * The text may be a secret: wiping `to` is up to the program.
 * Errors: KIN_EUNEXPECTED (no base64; part of the bytes may be written),
 * KIN_ETOOBIG (too small). */
KIN_EXTERN int kin_value_base64(kin_value value, void *to, size_t size,
                                size_t *length);

/** An integer or a string, such as the maxSurge of a Deployment: 1 or "25%".
 */
typedef struct kin_int_or_string {
  bool is_string;  /**< which of both */
  int32_t integer; /**< if not is_string */
  kin_str string;  /**< if is_string: as from kin_value_string */
} kin_int_or_string;

/** An intstr.IntOrString. For `buffer` and `size` see kin_value_string.
 * Errors: KIN_ETOOBIG (no int32_t, or the buffer is too small).
 * */
KIN_EXTERN int kin_value_int_or_string(kin_value value, char *buffer,
                                       size_t size, kin_int_or_string *out);

/** The integer, or the percentage of `total` that the string "25%" means;
 * client-go's GetScaledValueFromIntOrPercent.
 * Errors: KIN_EINVAL (another string, or a percentage of 2^31 and more in
 * magnitude; *out is left alone), KIN_ETOOBIG (the result is no int32_t). */
KIN_EXTERN int kin_int_or_string_scale(const kin_int_or_string *value,
                                       int32_t total, bool rounds_up,
                                       int32_t *out);

/** A walk over the elements of an array or the members of an object, in the
 * order of the text. Plain data, to be copied freely. */
typedef struct kin_value_iterator {
  kin_str text; /**< private */
  size_t at;    /**< private */
  /** 0; or why there are no more: the error of the value, KIN_ENOENT (absent or
   * null), KIN_ETYPE, KIN_EJSON. The end is no error. */
  int error;
} kin_value_iterator;

/** Begins a walk. There is nothing to walk over if the value is absent, null or
 * neither array nor object: `error` says so. */
KIN_EXTERN kin_value_iterator kin_value_iterate(kin_value value);

/** Steps to the next element, or to the value of the next member. Returns false
 * at the end. Cost: O(bytes of the element). */
KIN_EXTERN bool kin_value_next(kin_value_iterator *iterator, kin_value *value);

/** Steps to the next member. *name is a string. Returns false at the end.
 * `error` becomes KIN_ETYPE if the walk is over an array.
 * Cost: O(bytes of the member). */
KIN_EXTERN bool kin_value_next_member(kin_value_iterator *iterator,
                                      kin_value *name, kin_value *value);

#ifdef __cplusplus
}
#endif

#endif /* KIN_VALUE_H */
