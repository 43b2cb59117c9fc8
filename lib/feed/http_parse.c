/* SPDX-License-Identifier: MIT */
/* The body of a list or a watch, from bytes to objects. */
#include <assert.h>
#include <string.h>

#include "decode/item.h"
#include "feed/feed.h"
#include "feed/http_source_core.h"

/* Result of a decoder callback that ends the body on purpose after an ERROR
 * event. Never leaves this file. */
#define STOP_READING (-6000)

/* A built-in type's list items lack kind and apiVersion; the next event of the
 * object has them: `"kind":"Pod","apiVersion":"v1",`. */
#define KIND_BYTES 32u

/* --- The decoders' sink --------------------------------------------------- */

/* Not for watch events: unchanged objects are rare there, and processing finds
 * them by a look-up that it needs anyway. */
static bool sink_known(void *ctx, const kin__object_parts *identity) {
  kin__http_source *source = ctx;
  if (kin__feed_is_foreign(source->feed, identity->uid)) {
    return true; /* the rest of its bytes is dropped as they arrive */
  }
  if (source->is_watch &&
      kin__feed_request_kind(source->feed) != KIN__REQUEST_STREAM) {
    return false;
  }
  const kin_object *cached = kin__feed_cached(source->feed, identity);
  if (cached == NULL) {
    return false;
  }
  kin__object_unref(source->known);
  source->known = kin__object_ref(cached);
  return true;
}

size_t kin__http_source_headroom(kin__decoded_type type, kin_str body) {
  static const char start[] = "{\"metadata\"";
  size_t length = sizeof start - 1;
  bool lacks_kind = type == KIN__DECODED_LISTED && body.length >= length &&
                    memcmp(body.data, start, length) == 0;
  return lacks_kind ? KIND_BYTES : 0;
}

/* Object of a sink call, with a reference; the cached object if known. */
static int take_object(kin__http_source *source, kin__decoded_type type,
                       const kin__object_parts *parts, kin_object **object) {
  if (parts->body.data == NULL) {
    assert(source->known != NULL); /* a new shard ends the request */
    *object = source->known;
    source->known = NULL;
    return 0;
  }
  kin__object_parts sized = *parts;
  sized.headroom = kin__http_source_headroom(type, parts->body);
  return kin__object_new(object, source->memory, &sized);
}

static int sink_object(void *ctx, kin__decoded_type type,
                       const kin__object_parts *parts) {
  kin__http_source *source = ctx;
  if (source->is_verify) {
    return 0;
  }
  source->has_usable = true;
  if (kin__feed_is_foreign(source->feed, parts->uid)) {
    return kin__feed_pass(source->feed, type, parts->version);
  }
  bool is_cached = parts->body.data == NULL;
  kin_object *object;
  int err = take_object(source, type, parts, &object);
  if (err == 0 && parts->is_key_only) {
    kin__decode_limits limits = kin__item_limits(&source->settings->limits);
    err = kin__feed_oversized(source->feed, parts, &limits);
    if (err != 0) {
      kin__object_unref(object);
    }
  }
  return err == 0 ? kin__feed_take(source->feed, type, object, is_cached) : err;
}

bool kin__http_source_is_useless(const kin__http_source *source) {
  return source->has_bad && !source->has_usable;
}

static int sink_bookmark(void *ctx, kin_str version, bool initial_events_end) {
  kin__http_source *source = ctx;
  bool ends_list = initial_events_end && kin__feed_is_filling(source->feed);
  if (ends_list && kin__http_source_is_useless(source)) {
    return KIN_EKEY;
  }
  return kin__feed_take_bookmark(source->feed, version, initial_events_end);
}

static int sink_error(void *ctx, const kin__status *status) {
  kin__http_source *source = ctx;
  *source->error_event = *status;
  return STOP_READING;
}

static int sink_bad(void *ctx, int code, const kin__object_parts *identity) {
  kin__http_source *source = ctx;
  if (source->is_verify) {
    return 0;
  }
  source->has_bad = true;
  return kin__feed_bad_object(source->feed, code, identity);
}

/* --- The decoders --------------------------------------------------------- */

void kin__http_source_drop_decoders(kin__http_source *source) {
  kin__list_decoder_free(source->list_decoder);
  source->list_decoder = NULL;
  kin__watch_decoders_give(source->env->watch_decoders, source->watch_decoder);
  source->watch_decoder = NULL;
}

static void on_error_event(kin__http_source *source) {
  kin__failure failure;
  char what[256];
  kin__feed_describe(source->feed, what, sizeof what);
  kin__failure_from_status(&failure, source->error_event, -1, what);
  kin__feed_break(source->feed, KIN__INPUT_ERROR_EVENT, &failure);
}

static kin__decode_sink sink_of(kin__http_source *source) {
  return (kin__decode_sink){.ctx = source,
                            .known = sink_known,
                            .object = sink_object,
                            .bookmark = sink_bookmark,
                            .error = sink_error,
                            .bad = sink_bad};
}

/* After KIN_ECLOSED the source may serve the next request already. */
static void stop_parsing(kin__http_source *source, int err, const char *key) {
  if (err == STOP_READING) {
    on_error_event(source);
  } else {
    kin__feed_give_up(source->feed, err, key);
  }
}

/* While a decoder parses, the source does not have it: a sink call may end the
 * request, and open another. A watch has a decoder in the middle of a frame
 * only; between two frames one decoder is as good as another. */
static void parse_watch(kin__http_source *source, const char *bytes,
                        size_t length) {
  kin__watch_decoders *decoders = source->env->watch_decoders;
  kin__watch_decoder *decoder = source->watch_decoder;
  source->watch_decoder = NULL;
  int err = 0;
  if (decoder == NULL) {
    kin__decode_sink sink = sink_of(source);
    err =
        kin__watch_decoders_take(decoders, &decoder, &source->settings->limits,
                                 source->settings->projection, &sink);
  }
  if (err == 0) {
    err = kin__watch_decoder_parse(decoder, bytes, length);
  }
  if (err == 0 && !kin__watch_decoder_is_between(decoder)) {
    source->watch_decoder = decoder;
    return;
  }
  if (err != 0) {
    stop_parsing(source, err, kin__watch_decoder_key_in_hand(decoder));
  }
  kin__watch_decoders_give(decoders, decoder);
}

static void parse_list(kin__http_source *source, const char *bytes,
                       size_t length) {
  kin__list_decoder *decoder = source->list_decoder;
  source->list_decoder = NULL;
  int err = 0;
  if (decoder == NULL) {
    kin__decode_sink sink = sink_of(source);
    err = kin__list_decoder_new(&decoder, source->env->allocator,
                                &source->settings->limits,
                                source->settings->projection, &sink);
  }
  if (err == 0) {
    err = kin__list_decoder_parse(decoder, bytes, length);
  }
  if (err == 0) {
    source->list_decoder = decoder;
    return;
  }
  stop_parsing(source, err, kin__list_decoder_key_in_hand(decoder));
  kin__list_decoder_free(decoder);
}

void kin__http_source_parse(kin__http_source *source, const char *bytes,
                            size_t length) {
  kin__status error_event;
  source->error_event = &error_event;
  if (source->is_watch) {
    parse_watch(source, bytes, length);
  } else {
    parse_list(source, bytes, length);
  }
}
