/* SPDX-License-Identifier: MIT */
#include "discovery/message.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"

/* Versions that are named because they could not be asked. */
#define NAMED_VERSIONS 3u

static void begin_text(kin__buf *text, const kin_allocator *allocator) {
  kin__buf_init(text, allocator, KIN__DISCOVERY_MESSAGE_BYTES - 1);
}

static void end_text(kin__buf *text, char *out) {
  if (text->length > 0) {
    memcpy(out, text->data, text->length);
  }
  out[text->length] = '\0';
  kin__put_on_one_line(out);
  kin__buf_finish(text);
}

static void write_near_words(kin__buf *out, const kin__near *near) {
  for (size_t i = 0; i < near->count; i++) {
    const char *before = i == 0                 ? "; did you mean "
                         : i + 1 == near->count ? " or "
                                                : ", ";
    (void)kin__buf_printf(out, "%s%s", before, near->words[i]);
  }
  if (near->count > 0) {
    (void)kin__buf_append_cstr(out, "?");
  }
}

/* Each part begins with `before`, from the second on with "; ". Names the
 * versions from `first` on, in a circle. Returns whether the table lacks
 * something. */
static bool write_missing(kin__buf *out, const kin__api_table *table,
                          uint32_t first, const char *before) {
  unsigned named = 0;
  for (uint32_t i = 0; i < table->version_count; i++) {
    const kin__api_version *version =
        table->versions[(first + i) % table->version_count];
    if (version->state == KIN__API_FAILED && named++ < NAMED_VERSIONS) {
      (void)kin__buf_printf(out, "%snot known: %s%s%s (%s)", before,
                            version->group,
                            version->group[0] != '\0' ? "/" : "",
                            version->version, version->failure);
      before = "; ";
    }
  }
  if (named > NAMED_VERSIONS) {
    (void)kin__buf_printf(out, "; and %u more", named - NAMED_VERSIONS);
  }
  if (table->is_cut) {
    (void)kin__buf_printf(out,
                          "%sthe server has more resources than the limits of "
                          "this library allow",
                          before);
  }
  return named > 0 || table->is_cut;
}

/* The version that was never asked and is asked first. */
static uint32_t first_unasked(const kin__api_table *table) {
  uint32_t at = table->ask_from;
  for (uint32_t i = 0;
       i < table->version_count && table->versions[at]->was_asked; i++) {
    at = (at + 1) % table->version_count;
  }
  return at;
}

void kin__discovery_say_unknown(char out[KIN__DISCOVERY_MESSAGE_BYTES],
                                const char *word, const kin__near *near,
                                const kin__api_table *table) {
  kin__buf text;
  begin_text(&text, table->allocator);
  (void)kin__buf_printf(&text,
                        table->is_late ? "\"%s\" is none of the known resources"
                                       : "the server has no resource \"%s\"",
                        word);
  write_near_words(&text, near);
  (void)write_missing(&text, table, table->is_late ? first_unasked(table) : 0,
                      "; ");
  end_text(&text, out);
}

void kin__discovery_say_rivals(char out[KIN__DISCOVERY_MESSAGE_BYTES],
                               const char *word, const kin__found *found) {
  kin__buf text;
  begin_text(&text, found->allocator);
  (void)kin__buf_printf(&text, "\"%s\" names several resources: ", word);
  for (uint32_t i = 0; i < found->count && i < KIN__NEAR_MAX; i++) {
    const kin_api_resource *resource = found->resources[i];
    (void)kin__buf_printf(
        &text, "%s%s%s%s", i == 0 ? "" : ", ", resource->plural,
        resource->group[0] != '\0' ? "." : "", resource->group);
  }
  end_text(&text, out);
}

/* A text without memory must not be "": that would say that nothing is
 * missing. */
void kin__discovery_say_missing(char out[KIN__DISCOVERY_MESSAGE_BYTES],
                                const kin__api_table *table) {
  kin__buf text;
  begin_text(&text, table->allocator);
  bool is_missing = write_missing(&text, table, 0, "");
  end_text(&text, out);
  if (is_missing && out[0] == '\0') {
    strcpy(out, "some resources are not known");
  }
}
