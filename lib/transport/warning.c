/* SPDX-License-Identifier: MIT */
#include "transport/warning.h"

#include <string.h>

#include "base/alloc.h"
#include "base/link.h"
#include "base/str.h"

/* --- One field ------------------------------------------------------------ */

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static void skip_blanks(kin__warning_line *line) {
  while (line->at < line->end && is_blank(*line->at)) {
    line->at++;
  }
}

static bool is_continuation(const char *c, const char *end) {
  return c < end && ((unsigned char)*c & 0xc0) == 0x80;
}

/* Removes a character of two to four bytes from the front; 0 if there is
 * none. */
static uint32_t take_wide(const char **at, const char *end) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char first = (unsigned char)**at;
  unsigned length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first > 0xf7) {
    return 0;
  }
  uint32_t c = first & (0x7fu >> length);
  for (unsigned i = 1; i < length; i++) {
    if (!is_continuation(*at + i, end)) {
      return 0;
    }
    c = c << 6 | ((unsigned char)(*at)[i] & 0x3f);
  }
  *at += length;
  bool is_character =
      c >= least[length] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
  return is_character ? c : 0;
}

/* UTF-8 without control characters, because it may go to a terminal. */
static bool is_text(kin_str s) {
  const char *at = s.data;
  const char *end = at + s.length;
  while (at < end) {
    unsigned char c = (unsigned char)*at;
    if (c >= 0x80) {
      if (take_wide(&at, end) < 0xa0) {
        return false;
      }
    } else if (c < 0x20 || c == 0x7f) {
      return false;
    } else {
      at++;
    }
  }
  return true;
}

static bool take_code(kin__warning_line *line, int *code) {
  if (line->end - line->at < 4 || line->at[3] != ' ') {
    return false;
  }
  *code = 0;
  for (int i = 0; i < 3; i++) {
    char c = line->at[i];
    if (c < '0' || c > '9') {
      return false;
    }
    *code = *code * 10 + (c - '0');
  }
  line->at += 4;
  return true;
}

static bool take_agent(kin__warning_line *line, kin_str *agent) {
  size_t left = (size_t)(line->end - line->at);
  const char *space = memchr(line->at, ' ', left);
  if (space == NULL) {
    return false;
  }
  *agent = kin__str(line->at, (size_t)(space - line->at));
  line->at += agent->length + 1;
  return agent->length > 0 && is_text(*agent);
}

static bool take_quoted(kin__warning_line *line, kin_str *text) {
  char *at = line->at;
  if (at == line->end || *at != '"') {
    return false;
  }
  char *to = ++at;
  *text = kin__str(to, 0);
  for (; at < line->end && *at != '"'; at++) {
    if (*at == '\\' && ++at == line->end) {
      return false;
    }
    *to++ = *at;
  }
  if (at == line->end) {
    return false;
  }
  text->length = (size_t)(to - text->data);
  line->at = at + 1;
  return is_text(*text);
}

/* A date, which is ignored, and a comma if more follows. */
static bool take_end(kin__warning_line *line) {
  skip_blanks(line);
  if (line->at < line->end && *line->at == '"') {
    size_t left = (size_t)(line->end - line->at - 1);
    char *quote = memchr(line->at + 1, '"', left);
    if (quote == NULL) {
      return false;
    }
    line->at = quote + 1;
    skip_blanks(line);
  }
  if (line->at == line->end) {
    return true;
  }
  bool is_comma = *line->at == ',';
  line->at++;
  skip_blanks(line);
  return is_comma;
}

bool kin__warning_next(kin__warning_line *line, kin__warning *warning) {
  skip_blanks(line);
  bool is_good = take_code(line, &warning->code) &&
                 take_agent(line, &warning->agent) &&
                 take_quoted(line, &warning->text) && take_end(line);
  if (!is_good) {
    line->at = line->end;
  }
  return is_good;
}

/* --- Their destination ---------------------------------------------------- */

/* Of one response: a path may have 256 KiB. */
typedef struct shared_path {
  uint32_t users; /* pending warnings */
  char text[];
} shared_path;

typedef struct pending {
  kin__link node; /* in warnings->pending until its callback */
  kin_warning warning;
  shared_path *path;
  char strings[];
} pending;

/* The length of the longest prefix that splits no character. */
static size_t cut(kin_str s, size_t most) {
  if (s.length <= most) {
    return s.length;
  }
  size_t length = most;
  while (length > 0 && is_continuation(s.data + length, s.data + s.length)) {
    length--;
  }
  return length;
}

static char *put(char *to, const char **string, kin_str s) {
  memcpy(to, s.data, s.length);
  to[s.length] = '\0';
  *string = to;
  return to + s.length + 1;
}

static shared_path *copy_path(kin__warnings *warnings, kin_str path) {
  const char *text;
  shared_path *copy =
      kin__malloc(warnings->allocator, sizeof *copy + path.length + 1);
  if (copy != NULL) {
    copy->users = 0;
    put(copy->text, &text, path);
  }
  return copy;
}

static void let_go(kin__warnings *warnings, pending *p) {
  if (--p->path->users == 0) {
    kin__free(warnings->allocator, p->path);
  }
  kin__free(warnings->allocator, p);
}

/* If memory is out, the warning is lost. *copy: NULL before the first warning
 * of the response. */
static void keep(kin__warnings *warnings, const kin__warning *warning,
                 kin_str path, shared_path **copy) {
  if (warnings->pending_count == KIN__WARNING_MAX_PENDING) {
    return;
  }
  size_t size =
      sizeof(pending) + warning->agent.length + warning->text.length + 2;
  pending *p = kin__malloc(warnings->allocator, size);
  if (p == NULL) {
    return;
  }
  if (*copy == NULL) {
    *copy = copy_path(warnings, path);
  }
  if (*copy == NULL) {
    kin__free(warnings->allocator, p);
    return;
  }
  (*copy)->users++;
  p->path = *copy;
  p->warning.size = sizeof p->warning;
  p->warning.code = warning->code;
  char *to = put(p->strings, &p->warning.agent, warning->agent);
  put(to, &p->warning.text, warning->text);
  p->warning.path = p->path->text;
  kin__link_push(&warnings->pending, &p->node);
  warnings->pending_count++;
  kin__sched_add(warnings->sched, &warnings->task);
}

/* Remembers the text; returns true for a new one. */
static bool is_news(kin__warnings *warnings, kin_str text) {
  uint32_t hash = kin__hash(&warnings->seed, text);
  uint32_t count = warnings->logged_count;
  for (uint32_t i = 0; i < count && i < KIN__WARNING_MEMORY; i++) {
    if (warnings->logged[i] == hash) {
      return false;
    }
  }
  warnings->logged[count % KIN__WARNING_MEMORY] = hash;
  warnings->logged_count++;
  return true;
}

static void log_once(kin__warnings *warnings, const kin__warning *warning,
                     kin_str path) {
  if (warning->code == 299 && warning->text.length > 0 &&
      is_news(warnings, warning->text)) {
    kin__log_write(warnings->log, KIN_LOG_WARN,
                   "the server warns about %.*s: %.*s", (int)cut(path, 150),
                   path.data, (int)cut(warning->text, 320), warning->text.data);
  }
}

void kin__warnings_hear(kin__warnings *warnings, kin_str path, char *fields,
                        size_t length) {
  char *end = fields + length;
  unsigned count = 0;
  shared_path *copy = NULL;
  while (fields < end && !warnings->is_stopped) {
    char *newline = memchr(fields, '\n', (size_t)(end - fields));
    kin__warning_line line = {fields, newline != NULL ? newline : end};
    kin__warning warning;
    while (count < KIN__WARNING_MAX_COUNT &&
           kin__warning_next(&line, &warning)) {
      count++;
      warnings->heard++;
      warning.text.length = cut(warning.text, KIN__WARNING_MAX_TEXT);
      if (warnings->cb != NULL) {
        keep(warnings, &warning, path, &copy);
      } else {
        log_once(warnings, &warning, path);
      }
    }
    fields = newline != NULL ? newline + 1 : end;
  }
}

static pending *take_pending(kin__warnings *warnings) {
  pending *p = KIN__CONTAINER_OF(warnings->pending.next, pending, node);
  kin__link_remove(&p->node);
  warnings->pending_count--;
  return p;
}

/* The callback may close the client, which stops the warnings. */
static bool tell_one(kin__task *task) {
  kin__warnings *warnings = KIN__CONTAINER_OF(task, kin__warnings, task);
  pending *p = take_pending(warnings);
  const kin__sched *sched = warnings->sched;
  uint64_t start_ns = sched->now_ns(sched->ctx);
  warnings->cb(&p->warning, warnings->data);
  *warnings->handler_ns += sched->now_ns(sched->ctx) - start_ns;
  let_go(warnings, p);
  return !kin__link_is_empty(&warnings->pending);
}

void kin__warnings_init(kin__warnings *warnings, const kin_allocator *allocator,
                        kin__sched *sched, const kin__log *log,
                        const kin__hash_seed *seed) {
  *warnings = (kin__warnings){
      .allocator = allocator, .sched = sched, .log = log, .seed = *seed};
  kin__task_init(&warnings->task, tell_one);
  kin__link_init(&warnings->pending);
}

void kin__warnings_tell(kin__warnings *warnings, kin_warning_cb cb, void *data,
                        uint64_t *handler_ns) {
  warnings->cb = cb;
  warnings->data = data;
  warnings->handler_ns = handler_ns;
}

void kin__warnings_stop(kin__warnings *warnings) {
  warnings->is_stopped = true;
  kin__sched_cancel(warnings->sched, &warnings->task);
  while (!kin__link_is_empty(&warnings->pending)) {
    let_go(warnings, take_pending(warnings));
  }
}
