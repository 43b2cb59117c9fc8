/* SPDX-License-Identifier: MIT */
#ifndef APISIM_FAULT_H
#define APISIM_FAULT_H

/* Faults: what goes wrong, for which requests, how often and when.
 *
 * A rule says which requests it is for. When a request matches, the rule's kind
 * either answers it at once (status, redirect, ...) or writes into
 * the plan of that response; the response and connection layers carry the plan
 * out. The kinds are one table in fault.c. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "buf.h"

struct conn;
struct sim;

/* What the connection does when it has sent the bytes it may send. */
typedef enum wire_action {
  WIRE_NONE,
  WIRE_RESET,      // RST
  WIRE_CLOSE,      // FIN, both ways
  WIRE_STALL,      // send nothing more, but notice the peer's end
  WIRE_HALF_CLOSE, // FIN our side only
  WIRE_HALF_OPEN,  // neither read nor write nor close any more
  WIRE_FINISH,     // the response was ended early in good order
} wire_action;

/* An ERROR event, after which the watch ends. */
typedef struct fault_error {
  bool is_set;
  unsigned code;
  uint64_t retry_after;
  char reason[32];
  char body[16]; // see odd_put_error()
} fault_error;

typedef struct fault_plan {
  /* The trigger: this many watch events, then this many bytes more. */
  uint64_t after_events;
  uint64_t after_bytes;
  wire_action action;
  uint32_t stall_ms;    // 0 = for ever
  size_t garbage_bytes; // inserted into the body at the trigger
  bool truncate;        // the body ends, in good order, at the trigger
  size_t write_bytes;   // split: bytes a write; 0 = no limit
  size_t chunk_bytes;   // split: bytes a chunk; 0 = no limit
  uint32_t delay_ms;    // between the writes of a split
  bool until_close;   // nothing but the connection's end says where the body's
  bool old;           // is, and the head is HTTP/1.0's
  bool gzip;          // compressed, asked for or not
  size_t gzip_blanks; // that come before the body
  char content_type[64];
  char warning[200]; // text of a Warning header
  bool drop_bookmarks;
  bool duplicate_bookmarks;
  uint64_t late_bookmark_ms; // they come so much later
  bool duplicate_events;
  fault_error error; // of a watch, at after_events, as the next three
  bool end_watch;    // in good order
  bool deaf;         // nothing comes any more, but it stays open
  bool odd_object;   // an event with one; in a list it is the first item
  char odd_mode[16]; // see odd_put_object()
  uint64_t odd_bytes;
  bool ignore_limit;
  bool idle_close; // the connection is closed when it has been idle
  uint64_t idle_ms;
} fault_plan;

typedef struct faults faults;

faults *faults_new(void);
void faults_free(faults *f);
/* Adds a rule. Returns its id, or 0 and a message in error. */
uint64_t faults_add(struct sim *s, yyjson_val *rule, buf *error);
/* The same from an option: kind,key=value,... */
uint64_t faults_add_text(struct sim *s, const char *text, buf *error);
void faults_clear(faults *f);
/* Appends the rules as a JSON array. */
void faults_describe(const faults *f, buf *out);

/* Applies the rules to a request that is about to be handled. True if a fault
 * took it over; the caller then leaves it alone. verb is list, watch, get,
 * create, ...; plural may be NULL. */
bool faults_apply(struct conn *c, const char *verb, const char *plural);

#endif
