/* SPDX-License-Identifier: MIT */
#include "config/yaml_mask.h"

#include <stdint.h>
#include <string.h>

#include <openssl/crypto.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"

/* Stand-ins for a character of so many bytes. A digit fits into a name and
 * into an escape, where it gives NUL: no other character of a text does. */
static const char *const stand_ins[] = {NULL, "0", "\xc4\x80", "\xee\x80\x80",
                                        "\xf0\x90\x80\x80"};

/* --- Characters ----------------------------------------------------------- */

static bool is_one_of(char c, const char *set) {
  return c != '\0' && strchr(set, c) != NULL;
}

static bool has_at(kin_str text, size_t at, const char *word) {
  size_t length = strlen(word);
  return text.length - at >= length &&
         memcmp(text.data + at, word, length) == 0;
}

static size_t character_length(char first) {
  unsigned char c = (unsigned char)first;
  return c < 0xc0 ? 1u : c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u;
}

static bool is_unicode(uint32_t code) {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/* The bytes of a non-ASCII character that libyaml takes as a part of a word; 0:
 * it is a line end or a byte order mark, or libyaml refuses it. */
static size_t wide_length(kin_str text, size_t at) {
  static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
  static const unsigned char bits[] = {0, 0, 0x1f, 0x0f, 0x07};
  size_t length = character_length(text.data[at]);
  if (length == 1 || text.length - at < length ||
      (unsigned char)text.data[at] > 0xf4) {
    return 0;
  }
  uint32_t code = (unsigned char)text.data[at] & bits[length];
  for (size_t i = 1; i < length; i++) {
    unsigned char c = (unsigned char)text.data[at + i];
    if ((c & 0xc0) != 0x80) {
      return 0;
    }
    code = code << 6 | (c & 0x3f);
  }
  bool is_special = code == 0x2028 || code == 0x2029 || code == 0xfeff ||
                    code == 0xfffe || code == 0xffff;
  return code < least[length] || !is_unicode(code) || is_special ? 0 : length;
}

/* --- Escapes -------------------------------------------------------------- */

static size_t escape_digits(char letter) {
  return letter == 'x' ? 2u : letter == 'u' ? 4u : letter == 'U' ? 8u : 0u;
}

/* Counts the hexadecimal digits, up to `max`, and gives their value. */
static size_t take_hex(kin_str text, size_t at, size_t max, uint32_t *code) {
  size_t count = 0;
  *code = 0;
  for (; count < max; count++) {
    int value = kin__hex_value(kin__str_byte(text, at + count));
    if (value < 0) {
      break;
    }
    *code = *code << 4 | (uint32_t)value;
  }
  return count;
}

static size_t put_utf8(uint32_t code, char *to) {
  static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  if (code < 0x80) {
    to[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2u : code < 0x10000 ? 3u : 4u;
  for (size_t i = length - 1; i > 0; i--) {
    to[i] = (char)(0x80 | (code & 0x3f));
    code >>= 6;
  }
  to[0] = (char)(leads[length] | code);
  return length;
}

/* Masks the digits of an escape whose backslash is at this place. Outside of
 * double quotes it is none, which does no harm. Returns the bytes done. */
static size_t mask_escape(kin__yaml_mask *mask, size_t at) {
  kin_str text = mask->source;
  char letter = kin__str_byte(text, at + 1);
  size_t max = escape_digits(letter);
  if ((unsigned char)letter >= 0x80 || at + 1 == text.length) {
    return 1;
  }
  uint32_t code;
  size_t count = take_hex(text, at + 2, max, &code);
  if (count == max && !is_unicode(code)) {
    return 2 + count;
  }
  memset(mask->copy + at + 2, '0', count);
  /* Another character must not become a digit. */
  char next = kin__str_byte(text, at + 2 + count);
  bool is_bad = count < max && next > ' ' && next != '\\';
  return 2 + count + is_bad;
}

/* --- The copy ------------------------------------------------------------- */

/* Bytes that must stay: a tag that kin__yaml_parse knows, or a version. */
static size_t fixed_length(kin_str text, size_t at) {
  static const char *const before[] = {"!!", "!<tag:yaml.org,2002:"};
  static const char *const names[] = {"null", "bool", "int", "float",
                                      "str",  "seq",  "map"};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    size_t name_at = at + strlen(before[i]);
    for (size_t j = 0; has_at(text, at, before[i]) && j < 7; j++) {
      if (has_at(text, name_at, names[j])) {
        return strlen(before[i]) + strlen(names[j]);
      }
    }
  }
  if (!has_at(text, at, "%YAML")) {
    return 0;
  }
  size_t end = at + strlen("%YAML");
  while (is_one_of(kin__str_byte(text, end), " \t.0123456789")) {
    end++;
  }
  /* Another character must not become a digit. */
  return end - at + kin__is_alphanumeric(kin__str_byte(text, end));
}

/* The place of a digit in a block's header: `|2`, `>-2`. Another character
 * must not become a digit. */
static bool is_indent(const char *copy, size_t at) {
  size_t before = at;
  if (before > 1 && is_one_of(copy[before - 1], "+-")) {
    before--;
  }
  return before > 0 && is_one_of(copy[before - 1], "|>");
}

typedef enum mask_word {
  MASK_NO_WORD,
  MASK_WORD, /* punctuation is a part of it */
  MASK_NAME, /* perhaps of an anchor or tag: libyaml refuses punctuation */
  MASK_URI,  /* perhaps in a tag: `!<tag:a,b>` */
} mask_word;

static bool is_masked(const kin__yaml_mask *mask, size_t at, mask_word word) {
  char c = mask->source.data[at];
  bool is_word = kin__is_alphanumeric(c) ||
                 (word < MASK_NAME && is_one_of(c, "/=_$()^~;<")) ||
                 (word == MASK_WORD && is_one_of(c, "!%&*+-.>@`|"));
  return is_word && !is_indent(mask->copy, at);
}

/* The word after a character that stays. */
static mask_word word_after(const kin__yaml_mask *mask, size_t at,
                            mask_word word) {
  char c = mask->source.data[at];
  if ((unsigned char)c >= 0x80) { /* a line end, or refused */
    return MASK_NO_WORD;
  }
  if (word == MASK_URI) {
    return is_one_of(c, " \t\r\n>") ? MASK_NO_WORD : MASK_URI;
  }
  if (c == '<' && at > 0 && mask->copy[at - 1] == '!') {
    return MASK_URI;
  }
  bool is_inside = word == MASK_NAME && !is_one_of(c, " \t\r\n\",[]{}");
  return is_inside || is_one_of(c, "&*!%") ? MASK_NAME : MASK_NO_WORD;
}

static void write_masked(kin__yaml_mask *mask) {
  kin_str text = mask->source;
  mask_word word = MASK_NO_WORD;
  for (size_t at = 0; at < text.length;) {
    char c = text.data[at];
    size_t fixed = word == MASK_NO_WORD ? fixed_length(text, at) : 0;
    size_t wide = wide_length(text, at);
    if (fixed > 0) {
      at += fixed;
      word = MASK_NAME;
    } else if (c == '\\') {
      at += mask_escape(mask, at);
      word = MASK_NO_WORD;
    } else if (wide > 0 || is_masked(mask, at, word)) {
      size_t length = wide > 0 ? wide : 1;
      memcpy(mask->copy + at, stand_ins[length], length);
      word = word == MASK_NO_WORD ? MASK_WORD : word;
      at += length;
    } else {
      word = word_after(mask, at, word);
      at++;
    }
  }
}

static bool is_utf16(kin_str text) {
  return has_at(text, 0, "\xff\xfe") || has_at(text, 0, "\xfe\xff");
}

/* A character has `width` bytes, of which one is looked at. */
static bool has_tag_directive(kin_str text, size_t at, size_t width) {
  size_t i = 0;
  while (i < 4 && kin__str_byte(text, at + i * width) == "%TAG"[i]) {
    i++;
  }
  return i == 4;
}

/* Any character that is not ASCII counts as a line end, and so does any
 * character of UTF-16: too many are counted rather than too few. */
static size_t count_tag_lines(kin_str text) {
  size_t width = is_utf16(text) ? 2 : 1;
  size_t count = 0;
  for (size_t i = 0; i < text.length; i++) {
    char before = i == 0 ? '\n' : text.data[i - 1];
    bool begins_line =
        width > 1 || (unsigned char)before >= 0x80 || is_one_of(before, "\r\n");
    count += begins_line && has_tag_directive(text, i, width);
  }
  return count;
}

int kin__yaml_mask_init(kin__yaml_mask *mask, const kin_allocator *allocator,
                        kin_str source) {
  *mask = (kin__yaml_mask){.allocator = allocator, .source = source};
  mask->copy = kin__malloc(allocator, source.length > 0 ? source.length : 1);
  if (mask->copy == NULL) {
    return KIN_ENOMEM;
  }
  if (source.length > 0) {
    memcpy(mask->copy, source.data, source.length);
  }
  mask->tag_lines = count_tag_lines(source);
  mask->has_marks = !is_utf16(source) && mask->tag_lines == 0;
  if (mask->has_marks) {
    write_masked(mask);
  }
  /* libyaml does not count the mark at the beginning. */
  mask->place = has_at(source, 0, "\xef\xbb\xbf") ? 3 : 0;
  return 0;
}

void kin__yaml_mask_finish(kin__yaml_mask *mask) {
  if (mask->copy != NULL) {
    OPENSSL_cleanse(mask->copy, mask->source.length);
    kin__free(mask->allocator, mask->copy);
    mask->copy = NULL;
  }
}

/* --- Values --------------------------------------------------------------- */

void kin__yaml_mask_go_to(kin__yaml_mask *mask, size_t index) {
  while (mask->has_marks && mask->index < index &&
         mask->place < mask->source.length) {
    mask->place += character_length(mask->copy[mask->place]);
    mask->index++;
  }
}

/* Of the copy: its other characters have other bytes at the front. */
static bool begins_line_end(char c) {
  return is_one_of(c, "\r\n\xc2\xe2");
}

/* Skips blanks, line ends, comments, and a byte order mark that begins a
 * line. */
static size_t skip_blanks(kin_str copy, size_t at) {
  bool is_comment = false;
  bool is_end = false;
  for (; at < copy.length; at++) {
    char c = copy.data[at];
    if (is_end && c == '\xef') {
      at += 2;
      is_end = false;
      continue;
    }
    is_end = begins_line_end(c) ||
             (!is_comment && ((unsigned char)c & 0xc0) == 0x80);
    is_comment = !is_end && (is_comment || c == '#');
    if (!is_comment && !is_end && c != ' ' && c != '\t') {
      break;
    }
  }
  return at;
}

/* Past the anchor or tag that begins here. A value may follow an anchor at once:
 * `&a:b`. */
static size_t skip_property(kin_str copy, size_t at) {
  bool is_anchor = copy.data[at] == '&';
  for (at++; at < copy.length; at++) {
    char c = copy.data[at];
    bool is_inside = is_anchor ? kin__is_alphanumeric(c) || is_one_of(c, "-_")
                               : !is_one_of(c, " \t") && !begins_line_end(c);
    if (!is_inside) {
      break;
    }
  }
  return at;
}

/* Skips the anchor and the tag of a scalar: none begins with these characters.
 * Stops at an anchor if `to_anchor`. */
static size_t skip_properties(kin_str copy, size_t at, bool to_anchor) {
  while (is_one_of(kin__str_byte(copy, at), to_anchor ? "!" : "&!")) {
    at = skip_blanks(copy, skip_property(copy, at));
  }
  return at;
}

/* Where the characters of a scalar begin, or the quote before them. */
static size_t scalar_place(const kin__yaml_mask *mask) {
  kin_str copy = kin__str(mask->copy, mask->source.length);
  size_t place = skip_properties(copy, mask->place, false);
  bool is_block = is_one_of(kin__str_byte(copy, place), "|>");
  while (is_block && place < copy.length &&
         !begins_line_end(copy.data[place])) {
    place++;
  }
  return place;
}

/* The next place of a stand-in, or of an escape with a code. */
static size_t find(kin_str copy, size_t at, bool is_double, const char *what,
                   size_t length) {
  while (at < copy.length) {
    bool is_escape = is_double && copy.data[at] == '\\';
    char letter = is_escape ? kin__str_byte(copy, at + 1) : '\0';
    if (is_escape ? *what == '\0' && is_one_of(letter, "0xuU")
                  : copy.length - at >= length &&
                        memcmp(copy.data + at, what, length) == 0) {
      return at;
    }
    at += is_escape ? 2 + escape_digits(letter) : 1;
  }
  return copy.length;
}

bool kin__yaml_has_tag_escape(const kin__yaml_mask *mask) {
  kin_str copy = kin__str(mask->copy, mask->source.length);
  size_t at = mask->place;
  while (is_one_of(kin__str_byte(copy, at), "&!")) {
    size_t end = skip_property(copy, at);
    if (copy.data[at] == '!' && memchr(copy.data + at, '%', end - at) != NULL) {
      return true;
    }
    at = skip_blanks(copy, end);
  }
  return false;
}

size_t kin__yaml_unmask(const kin__yaml_mask *mask, kin_str scalar,
                        bool is_double, char *to) {
  kin_str source = mask->source;
  kin_str copy = kin__str(mask->copy, source.length);
  size_t place = scalar_place(mask);
  size_t out = 0;
  for (size_t at = 0; at < scalar.length;) {
    size_t length = character_length(scalar.data[at]);
    length = length > scalar.length - at ? scalar.length - at : length;
    kin_str part = kin__str(scalar.data + at, length);
    char decoded[4];
    bool is_code = *part.data == '\0';
    if (mask->has_marks &&
        (is_code || memcmp(part.data, stand_ins[length], length) == 0)) {
      place = find(copy, place, is_double, part.data, length);
      if (is_code && place + 2 < source.length) {
        size_t digits = escape_digits(source.data[place + 1]);
        uint32_t code;
        (void)take_hex(source, place + 2, digits, &code);
        part = kin__str(decoded, put_utf8(code, decoded));
        place += 2 + digits;
      } else if (!is_code && place < source.length) {
        part = kin__str(source.data + place, length);
        place += length;
      }
    }
    if (to != NULL) {
      memcpy(to + out, part.data, part.length);
    }
    out += part.length;
    at += length;
  }
  return out;
}

kin_str kin__yaml_unmask_name(const kin__yaml_mask *mask, kin_str name) {
  kin_str copy = kin__str(mask->copy, mask->source.length);
  size_t place = skip_properties(copy, mask->place, true) + 1;
  bool is_there = mask->has_marks && place + name.length <= copy.length;
  return is_there ? kin__str(mask->source.data + place, name.length) : name;
}
