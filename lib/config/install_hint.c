/* SPDX-License-Identifier: MIT */
#include "config/install_hint.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

/* The longest name, U+10FFFF, stands for at least one byte. */
#define NAME_BYTES 8u

/* Reads one character of valid UTF-8; libyaml lets no other through. A byte
 * that cannot be a part of such text counts as itself. */
static size_t take_character(const char *text, uint32_t *character) {
  const unsigned char *bytes = (const unsigned char *)text;
  size_t length = bytes[0] < 0xc0   ? 1
                  : bytes[0] < 0xe0 ? 2
                  : bytes[0] < 0xf0 ? 3
                                    : 4;
  static const unsigned char masks[] = {0, 0xff, 0x1f, 0x0f, 0x07};
  uint32_t value = bytes[0] & masks[length];
  for (size_t i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) {
      *character = bytes[0];
      return 1;
    }
    value = value << 6 | (bytes[i] & 0x3f);
  }
  *character = value;
  return length;
}

/* client-go asks Unicode's tables. Here these are the characters that change
 * how a terminal shows others: controls, format characters, private use. */
static bool is_fit(uint32_t c) {
  static const uint32_t ranges[][2] = {
      {0x00, 0x08},         {0x0e, 0x1f},       {0x7f, 0x9f},
      {0xad, 0xad},         {0x600, 0x605},     {0x61c, 0x61c},
      {0x6dd, 0x6dd},       {0x70f, 0x70f},     {0x180e, 0x180e},
      {0x200b, 0x200f},     {0x202a, 0x202e},   {0x2060, 0x206f},
      {0xd800, 0xf8ff},     {0xfeff, 0xfeff},   {0xfff0, 0xfffb},
      {0xfffe, 0xffff},     {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
      {0xf0000, UINT32_MAX}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (c >= ranges[i][0] && c <= ranges[i][1]) {
      return false;
    }
  }
  return true;
}

int kin__install_hint_clean(kin__vault *vault, const char **to,
                            const char *hint) {
  *to = NULL;
  if (hint == NULL) {
    return 0;
  }
  size_t room = strlen(hint) * NAME_BYTES + 1;
  char *text = kin__vault_alloc(vault, room, 1);
  if (text == NULL) {
    return KIN_ENOMEM;
  }
  size_t used = 0;
  while (*hint != '\0') {
    uint32_t character;
    size_t length = take_character(hint, &character);
    if (is_fit(character)) {
      memcpy(text + used, hint, length);
      used += length;
    } else {
      used += (size_t)snprintf(text + used, room - used, "U+%04X",
                               (unsigned)character);
    }
    hint += length;
  }
  *to = text;
  return 0;
}
