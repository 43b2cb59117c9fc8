/* SPDX-License-Identifier: MIT */

/* Frames {"type": .., "object": ..}, one after the other. Servers send `type`
 * first, so the decoder knows from the start what it needs of the object. If
 * `object` comes first, everything is taken from it, and `type` decides at the
 * end. In both cases the object is given when its frame ends. */
#include "decode/watch.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/cursor.h"
#include "decode/item.h"

typedef enum place { BETWEEN, IN_FRAME, IN_OBJECT } place;

typedef enum member { NO_MEMBER, TYPE, OBJECT } member;

typedef enum frame_type {
  NO_TYPE,
  ADDED,
  MODIFIED,
  DELETED,
  BOOKMARK,
  ERROR
} frame_type;

struct kin__watch_decoder {
  kin_allocator allocator;
  kin__decode_sink sink;
  uint32_t max_bytes;
  kin__cursor cursor;
  kin__item item;           /* open once the frame's object has begun */
  int error;                /* the error that ended the decoder, or 0 */
  kin__watch_decoder *next; /* of the free ones */

  /* The current frame. */
  place place;
  uint64_t begin;
  uint64_t object_bytes; /* of the ended item */
  member member;         /* the member whose value is next */
  frame_type type;
  bool has_object; /* the member was seen, with a value of any type */
};

static void start(kin__watch_decoder *d) {
  d->place = BETWEEN;
  d->begin = 0;
  d->object_bytes = 0;
  d->member = NO_MEMBER;
  d->type = NO_TYPE;
  d->has_object = false;
}

static void serve(kin__watch_decoder *d, const kin__decode_limits *limits,
                  const kin__projection *projection,
                  const kin__decode_sink *sink) {
  kin__decode_limits bounds = kin__item_limits(limits);
  d->sink = *sink;
  d->max_bytes = bounds.max_object_bytes;
  kin__item_serve(&d->item, &bounds, projection);
}

int kin__watch_decoder_new(kin__watch_decoder **out,
                           const kin_allocator *allocator,
                           const kin__decode_limits *limits,
                           const kin__projection *projection,
                           const kin__decode_sink *sink) {
  kin__watch_decoder *d = kin__malloc(allocator, sizeof *d);
  *out = d;
  if (d == NULL) {
    return KIN_ENOMEM;
  }
  d->allocator = *allocator;
  kin__cursor_init(&d->cursor, &d->allocator, true);
  kin__item_init(&d->item, &d->allocator, &d->sink);
  serve(d, limits, projection, sink);
  d->error = 0;
  start(d);
  return 0;
}

void kin__watch_decoder_free(kin__watch_decoder *d) {
  if (d == NULL) {
    return;
  }
  kin__cursor_finish(&d->cursor);
  kin__item_finish(&d->item);
  kin_allocator allocator = d->allocator;
  kin__free(&allocator, d);
}

void kin__watch_decoder_reset(kin__watch_decoder *d) {
  kin__cursor_reset(&d->cursor);
  kin__item_close(&d->item);
  d->error = 0;
  start(d);
}

/* Frames. */

static frame_type type_named(kin_str name) {
  static const struct {
    kin_str name;
    frame_type type;
  } types[] = {
      {{"ADDED", 5}, ADDED},     {{"MODIFIED", 8}, MODIFIED},
      {{"DELETED", 7}, DELETED}, {{"BOOKMARK", 8}, BOOKMARK},
      {{"ERROR", 5}, ERROR},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (kin__str_equal(name, types[i].name)) {
      return types[i].type;
    }
  }
  return NO_TYPE;
}

static unsigned wanted_of(frame_type type) {
  switch (type) {
  case ADDED:
  case MODIFIED:
    return KIN__ITEM_ASK;
  case DELETED:
    return 0;
  case ERROR:
    return KIN__ITEM_OPAQUE;
  default: /* a bookmark, or the type is not known yet */
    return KIN__ITEM_ANNOTATIONS;
  }
}

static int give_object(kin__watch_decoder *d, kin__decoded_type type) {
  kin__object_parts parts;
  int err = kin__item_parts(&d->item, &d->cursor, &parts);
  if (err != 0) {
    return err;
  }
  if (kin__item_is_table(&d->item, &d->cursor)) {
    return kin__item_refuse(&d->item, &d->cursor, KIN_EUNEXPECTED);
  }
  return parts.name.length > 0
             ? d->sink.object(d->sink.ctx, type, &parts)
             : kin__item_refuse(&d->item, &d->cursor, KIN_EKEY);
}

/* If `type` came after the object, the sink was not asked yet. */
static int give_changed(kin__watch_decoder *d, kin__decoded_type type) {
  kin__item_ask(&d->item, &d->cursor);
  return give_object(d, type);
}

static int give_bookmark(kin__watch_decoder *d) {
  kin__object_parts identity;
  kin__item_identify(&d->item, &d->cursor, &identity);
  return d->sink.bookmark(d->sink.ctx, identity.version,
                          d->item.is_initial_events_end);
}

static int give_error(kin__watch_decoder *d) {
  kin__object_parts parts = {.body = {NULL, 0}};
  /* If `type` came last, the object was read as one of the API. */
  if (d->item.is_over || d->object_bytes > KIN__ITEM_OPAQUE_MAX) {
    return KIN_ETOOBIG;
  }
  int err = d->item.is_open ? kin__item_parts(&d->item, &d->cursor, &parts) : 0;
  if (err != 0) {
    return err;
  }
  kin__status status;
  err = kin__status_parse(&status, &d->allocator, parts.body);
  if (err == KIN_ENOMEM) {
    return err;
  }
  if (err != 0) {
    kin__status_from_response(
        &status, 500, KIN__LIT("an ERROR event whose object is no Status"));
  }
  return d->sink.error(d->sink.ctx, &status);
}

static int give_frame(kin__watch_decoder *d) {
  if (d->type == NO_TYPE || !d->has_object) {
    return KIN_EUNEXPECTED;
  }
  if (d->type == ERROR) {
    return give_error(d);
  }
  if (!d->item.is_open) {
    return KIN_EUNEXPECTED;
  }
  switch (d->type) {
  case ADDED:
    return give_changed(d, KIN__DECODED_ADDED);
  case MODIFIED:
    return give_changed(d, KIN__DECODED_MODIFIED);
  case DELETED:
    return give_object(d, KIN__DECODED_DELETED);
  default:
    return give_bookmark(d);
  }
}

/* Checks the frame's bytes besides its object, up to `end`. */
static int check_frame(const kin__watch_decoder *d, uint64_t end) {
  uint64_t length = (d->place == IN_OBJECT ? d->item.begin : end) - d->begin;
  return length - d->object_bytes > d->max_bytes ? KIN_ETOOBIG : 0;
}

static int end_frame(kin__watch_decoder *d) {
  int err = check_frame(d, d->cursor.end);
  if (err == 0) {
    err = give_frame(d);
  }
  if (err == 0) {
    kin__item_close(&d->item);
    start(d);
  }
  return err;
}

/* Tokens. */

static int on_name(kin__watch_decoder *d) {
  kin_str name = d->cursor.text;
  d->member = NO_MEMBER;
  if (kin__str_equal(name, KIN__LIT("type"))) {
    d->member = TYPE;
    kin__cursor_want_string(&d->cursor);
    return d->type == NO_TYPE ? 0 : KIN_EUNEXPECTED;
  }
  if (kin__str_equal(name, KIN__LIT("object"))) {
    d->member = OBJECT;
    bool is_second = d->has_object;
    d->has_object = true;
    return is_second ? KIN_EUNEXPECTED : 0;
  }
  return 0;
}

static int on_string(kin__watch_decoder *d) {
  if (d->member == TYPE) {
    d->type = type_named(d->cursor.text);
    return d->type == NO_TYPE ? KIN_EUNEXPECTED : 0;
  }
  return 0;
}

static int on_frame_token(kin__watch_decoder *d, int token) {
  switch (token) {
  case KIN__TOKEN_NAME:
    return on_name(d);
  case KIN__TOKEN_STRING:
    return on_string(d);
  case KIN__TOKEN_OBJECT:
    if (d->member == OBJECT) {
      d->place = IN_OBJECT;
      kin__item_begin(&d->item, &d->cursor, wanted_of(d->type));
      return 0;
    }
    kin__cursor_skip(&d->cursor, 1);
    return 0;
  case KIN__TOKEN_ARRAY:
    kin__cursor_skip(&d->cursor, 1);
    return 0;
  case KIN__TOKEN_END:
    return end_frame(d);
  default:
    return 0;
  }
}

static int on_token(kin__watch_decoder *d, int token) {
  switch (d->place) {
  case BETWEEN:
    d->place = IN_FRAME;
    d->begin = d->cursor.begin;
    return token == KIN__TOKEN_OBJECT ? 0 : KIN_EUNEXPECTED;
  case IN_OBJECT: /* the object has ended */
    d->place = IN_FRAME;
    d->object_bytes = d->cursor.end - d->item.begin;
    return 0;
  default:
    return on_frame_token(d, token);
  }
}

/* Takes tokens until the span is used up. */
static int run(kin__watch_decoder *d) {
  int err = 0;
  while (err == 0) {
    int token = d->place == IN_OBJECT ? kin__item_run(&d->item, &d->cursor)
                                      : kin__cursor_next(&d->cursor);
    if (token <= 0) {
      return token;
    }
    err = on_token(d, token);
  }
  return err;
}

/* Saves the rest of an unfinished frame's item for the next span. */
static int hold_frame(kin__watch_decoder *d) {
  if (d->place == BETWEEN) {
    return 0;
  }
  int err = check_frame(d, kin__cursor_span_end(&d->cursor));
  return err == 0 && d->item.is_open ? kin__item_hold(&d->item, &d->cursor)
                                     : err;
}

int kin__watch_decoder_parse(kin__watch_decoder *d, const char *bytes,
                             size_t length) {
  if (d->error != 0 || length == 0) {
    return d->error;
  }
  kin__cursor_parse(&d->cursor, bytes, length);
  d->error = run(d);
  if (d->error == 0) {
    d->error = hold_frame(d);
  }
  if (d->error != 0) {
    kin__item_note_key(&d->item, &d->cursor); /* the bytes are still there */
  }
  return d->error;
}

bool kin__watch_decoder_is_between(const kin__watch_decoder *d) {
  return d->error == 0 && kin__cursor_is_complete(&d->cursor);
}

const char *kin__watch_decoder_key_in_hand(kin__watch_decoder *d) {
  if (d == NULL) {
    return "";
  }
  if (d->error == 0) {
    kin__item_note_key(&d->item, &d->cursor);
  }
  return d->item.key;
}

/* --- Many watches --------------------------------------------------------- */

void kin__watch_decoders_init(kin__watch_decoders *decoders,
                              const kin_allocator *allocator) {
  *decoders = (kin__watch_decoders){.allocator = allocator};
}

static kin__watch_decoder *take_free(kin__watch_decoders *decoders) {
  kin__watch_decoder *d = decoders->free;
  if (d != NULL) {
    decoders->free = d->next;
    decoders->count--;
  }
  return d;
}

void kin__watch_decoders_finish(kin__watch_decoders *decoders) {
  while (decoders->free != NULL) {
    kin__watch_decoder_free(take_free(decoders));
  }
}

int kin__watch_decoders_take(kin__watch_decoders *decoders,
                             kin__watch_decoder **out,
                             const kin__decode_limits *limits,
                             const kin__projection *projection,
                             const kin__decode_sink *sink) {
  kin__watch_decoder *d = take_free(decoders);
  *out = d;
  if (d == NULL) {
    return kin__watch_decoder_new(out, decoders->allocator, limits, projection,
                                  sink);
  }
  serve(d, limits, projection, sink);
  return 0;
}

void kin__watch_decoders_give(kin__watch_decoders *decoders,
                              kin__watch_decoder *d) {
  if (d == NULL) {
    return;
  }
  if (decoders->count == KIN__WATCH_DECODERS_KEPT) {
    kin__watch_decoder_free(d);
    return;
  }
  if (!kin__watch_decoder_is_between(d)) {
    kin__watch_decoder_reset(d);
  }
  d->next = decoders->free;
  decoders->free = d;
  decoders->count++;
}
