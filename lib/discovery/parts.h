/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_PARTS_H
#define KIN_DISCOVERY_PARTS_H

#include "base/buf.h"
#include "decode/cursor.h"
#include "object/json.h"

/* Cuts a document into parts that are parsed one by one: a parser that takes a
 * whole document of a large cluster would hold the loop for milliseconds. A part
 * is an array of some neighbouring elements of the document's list. */

/* A list that a discovery document may have. */
typedef enum kin__parts_list {
  KIN__LIST_ITEMS,     /* APIGroupDiscoveryList */
  KIN__LIST_VERSIONS,  /* APIVersions */
  KIN__LIST_GROUPS,    /* APIGroupList */
  KIN__LIST_RESOURCES, /* APIResourceList */
  KIN__LISTS
} kin__parts_list;

typedef struct kin__parts {
  const kin_allocator *allocator;
  /* The result; a text of another type than string is "". Both are cut. */
  char kind[32];
  char api_version[64];
  struct yyjson_doc **docs;
  uint32_t count;

  /* The rest belongs to parts.c. */
  uint32_t capacity;
  kin__buf text;
  kin__cursor cursor;
  size_t fed;      /* bytes of the text, up to `end` */
  size_t end;      /* of the text, or of the list that is cut */
  uint64_t offset; /* of the cursor's first byte in the text */
  bool is_closed;  /* a byte behind the text ends a number at its end */
  bool has_root;
  int member;    /* whose value comes next */
  uint32_t seen; /* bits: members */
  struct {
    size_t begin;
    size_t end; /* 0: absent, or no array */
  } lists[KIN__LISTS];
  size_t part_begin; /* SIZE_MAX: no part is open */
  size_t part_end;
} kin__parts;

/* Takes the memory of `text`. */
void kin__parts_init(kin__parts *parts, const kin_allocator *allocator,
                     kin__buf *text);
void kin__parts_finish(kin__parts *parts);

/* Both do one piece and return 1 if more is left, 0 at the end, or an error:
 * KIN_EJSON, KIN_EUNEXPECTED (no object), KIN_ENOMEM. First kin__parts_scan finds
 * kind, apiVersion and all lists. Of a member that occurs twice the first
 * counts. Then kin__parts_cut parses one list; an absent one has no parts. */
int kin__parts_scan(kin__parts *parts);
void kin__parts_choose(kin__parts *parts, kin__parts_list list);
int kin__parts_cut(kin__parts *parts);

/* Frees one part. */
void kin__parts_drop(kin__parts *parts, uint32_t index);

#endif /* KIN_DISCOVERY_PARTS_H */
