/* SPDX-License-Identifier: MIT */
#include "transport/http1_trial.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <llhttp.h>

/* An llhttp of another release reads and writes structs of its own size, so
 * both have room behind them. */
#define ROOM_BYTES 512u
#define MAX_CALLS 32u

typedef struct trial {
  union {
    llhttp_t parser;
    char room[sizeof(llhttp_t) + ROOM_BYTES];
  } as;
} trial;

/* A callback may be called in the place of another, with other arguments. So
 * each one only notes its letter. Only this thread writes. */
static _Thread_local char calls[MAX_CALLS];
static _Thread_local size_t call_count;

static int note(char letter) {
  if (call_count < MAX_CALLS - 1) {
    calls[call_count++] = letter;
  }
  return 0;
}

#define EVENT(name, letter)                                                    \
  static int name(llhttp_t *parser) {                                          \
    (void)parser;                                                              \
    return note(letter);                                                       \
  }
#define DATA(name, letter)                                                     \
  static int name(llhttp_t *parser, const char *at, size_t length) {           \
    (void)parser;                                                              \
    (void)at;                                                                  \
    (void)length;                                                              \
    return note(letter);                                                       \
  }

EVENT(note_begin, '(')
DATA(note_field, 'f')
EVENT(note_field_end, '=')
DATA(note_value, 'v')
EVENT(note_value_end, ';')
EVENT(note_head, 'h')
DATA(note_body, 'b')
EVENT(note_chunk, 'c')
EVENT(note_end, ')')

static const union {
  llhttp_settings_t known;
  void (*all[sizeof(llhttp_settings_t) / sizeof(void (*)(void)) + 32])(void);
} trial_settings = {.known = {
                        .on_message_begin = note_begin,
                        .on_header_field = note_field,
                        .on_header_field_complete = note_field_end,
                        .on_header_value = note_value,
                        .on_header_value_complete = note_value_end,
                        .on_headers_complete = note_head,
                        .on_body = note_body,
                        .on_chunk_complete = note_chunk,
                        .on_message_complete = note_end,
                    }};

static bool is_untouched(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] != '\x5a') {
      return false;
    }
  }
  return true;
}

static bool fits(void) {
  static const char response[] = "HTTP/1.1 201 OK\r\nTransfer-Encoding: "
                                 "chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
  trial t;
  memset(&t, '\x5a', sizeof t);
  call_count = 0;
  llhttp_init(&t.as.parser, HTTP_RESPONSE, &trial_settings.known);
  t.as.parser.data = &t;
  llhttp_errno_t err =
      llhttp_execute(&t.as.parser, response, sizeof response - 1);
  calls[call_count] = '\0';
  return err == HPE_OK && t.as.parser.data == &t &&
         llhttp_get_status_code(&t.as.parser) == 201 &&
         llhttp_get_http_major(&t.as.parser) == 1 &&
         strcmp(calls, "(f=v;hbcc)") == 0 &&
         is_untouched(t.as.room + sizeof(llhttp_t), ROOM_BYTES);
}

/* dladdr walks all symbols of a program, so it is only asked for an error. */
static void find_file(char *to, size_t size) {
  Dl_info info;
  /* ISO C has no conversion from a function's address. */
  void (*function)(llhttp_t *, llhttp_type_t, const llhttp_settings_t *) =
      llhttp_init;
  void *address;
  memcpy(&address, &function, sizeof address);
  bool is_known = dladdr(address, &info) != 0 && info.dli_fname != NULL;
  const char *path = is_known ? info.dli_fname : "unknown";
  size_t length = strlen(path);
  snprintf(to, size, "%s", length < size ? path : path + length - size + 1);
}

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
#define RELEASE                                                                \
  NUMBER(LLHTTP_VERSION_MAJOR)                                                 \
  "." NUMBER(LLHTTP_VERSION_MINOR) "." NUMBER(LLHTTP_VERSION_PATCH)

kin__library kin__http1_library(void) {
  kin__library library = {
      .name = "llhttp", .built_for = RELEASE, .fits = fits()};
  if (!library.fits) {
    find_file(library.found, sizeof library.found);
  }
  return library;
}
