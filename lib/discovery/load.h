/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_LOAD_H
#define KIN_DISCOVERY_LOAD_H

#include <kin/request.h>

#include "client/host.h"
#include "discovery/document.h"
#include "discovery/table.h"
#include "transport/exchange.h"

/* Asks a server for its resources: /api and /apis, and each pending version of
 * a group, a few at a time. */

/* Why the server could not be asked. */
typedef struct kin__load_failure {
  int code; /* 0: none */
  kin_error_class error_class;
  int status;
  char reason[64];
  char message[512];
} kin__load_failure;

typedef struct kin__load kin__load;

/* An answer that is read in steps. */
typedef struct kin__load_reading {
  kin__load *load;
  kin_request *request; /* until its callback */
  kin__document document;
  kin__task task;
} kin__load_reading;

/* The ETags of the roots' aggregated answers, by which the server tells that
 * nothing has changed since; "": none. */
typedef struct kin__load_tags {
  char of_root[2][KIN__ETAG_MAX + 1];
} kin__load_tags;

/* One of the two roots. */
typedef struct kin__load_root {
  kin__load_reading reading;
  bool is_core;
  bool is_plain;     /* has been asked in the old form */
  bool is_unchanged; /* since the known table */
  kin__load_failure failure;
} kin__load_root;

struct kin__load {
  kin__host *host;
  kin__api_table table; /* the result */
  kin__load_root roots[2];
  const kin__api_table *before; /* the table that is known */
  kin__load_tags known;         /* of the table that is known */
  kin__load_tags tags;          /* of the result */
  uint64_t deadline_ms;         /* versions are not asked for later */
  kin__task inheriting;  /* copies versions of `before`, if a root fails */
  uint32_t inherit_next; /* of `before` */
  uint32_t inherit_end;  /* 0: none, or not begun */
  bool has_asked_versions;
  unsigned running;   /* requests, and answers that are read */
  uint32_t next;      /* turn; versions with an earlier one are not pending */
  uint32_t late_turn; /* of the first version without time; UINT32_MAX: none */
  kin__load_failure end; /* of the whole load: no more requests */
  void (*done)(kin__load *load);
  /* A request fails and is followed by another; `event` takes the answer. */
  void (*failing)(kin__load *load, kin_error_event *event);
};

/* Starts. `before`: the server's table as known, which gives the versions of a
 * root that fails, and the resources of versions that fail; it must not change
 * until `done`. `known`: the tags of a table that may be kept, or NULL. `done`
 * is called once, from a callback of a request or a step of the scheduler, and
 * owns the table from then on. `failing` is called from the on_error of a
 * request. The load must live until then; closing the host
 * leads to the call. Errors: those of kin_request_start; `done` is not called
 * then. */
int kin__load_start(kin__load *load, kin__host *host,
                    const kin__api_table *before, const kin__load_tags *known,
                    void (*done)(kin__load *load),
                    void (*failing)(kin__load *load, kin_error_event *event));

/* In `done`: whether the table that is known is still true; the load's own is
 * empty then. */
bool kin__load_is_unchanged(const kin__load *load);
/* In `done`: the tags that stand for the whole table, or NULL. */
const kin__load_tags *kin__load_tags_of(const kin__load *load);

/* In `done`: why the table is of no use, or NULL. */
const kin__load_failure *kin__load_failed(const kin__load *load);
/* In `done`: why the server was asked for a part of the table only, or NULL. */
const kin__load_failure *kin__load_lacks(const kin__load *load);

/* kin_strerror in the form of a failure of the library's own. */
void kin__load_fail(kin__load_failure *failure, int code);

#endif /* KIN_DISCOVERY_LOAD_H */
