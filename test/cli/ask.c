/* SPDX-License-Identifier: MIT */

/* Sends single requests, one after the other, and prints each answer:
 *
 *     ask URL < REQUESTS
 *
 * A line of REQUESTS is one request, with tabs between its words: the verb (get,
 * create, update, json, merge, strategic, apply, delete, collection, head),
 * then member=value. Each answer is a line "CODE STATUS REASON RETRIES CAUSES
 * MESSAGE", with tabs, and a line with the body, in which blanks stand for
 * newlines. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/kin.h>
#include <kin/request.h>

typedef struct asker {
  uv_loop_t *loop;
  kin_client *client;
  char line[1u << 16];
} asker;

static int number_of_verb(const char *name) {
  static const char *const names[] = {
      "get",       "create", "update", "json",       "merge",
      "strategic", "apply",  "delete", "collection", "head"};
  for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
    if (strcmp(names[i], name) == 0) {
      return i;
    }
  }
  fprintf(stderr, "ask: no verb %s\n", name);
  exit(2);
}

static void set_flag(kin_request_spec *spec, const char *name,
                     const char *value) {
  unsigned number = (unsigned)strtoul(value, NULL, 10);
  if (strcmp(name, "force") == 0) {
    spec->force = number != 0;
  } else if (strcmp(name, "dry_run") == 0) {
    spec->dry_run = number != 0;
  } else if (strcmp(name, "propagation") == 0) {
    spec->propagation = (kin_propagation)number;
  } else if (strcmp(name, "grace_period_s") == 0) {
    spec->has_grace_period = true;
    spec->grace_period_s = number;
  } else if (strcmp(name, "timeout_ms") == 0) {
    spec->timeout_ms = number;
  } else if (strcmp(name, "max_response_bytes") == 0) {
    spec->max_response_bytes = number;
  } else {
    fprintf(stderr, "ask: no member %s\n", name);
    exit(2);
  }
}

static void set_member(kin_request_spec *spec, const char *name,
                       const char *value) {
  const struct {
    const char *name;
    const char **member;
  } texts[] = {{"group", &spec->group},
               {"version", &spec->version},
               {"plural", &spec->plural},
               {"namespace", &spec->namespace_},
               {"name", &spec->name},
               {"subresource", &spec->subresource},
               {"path", &spec->path},
               {"body", &spec->body},
               {"content_type", &spec->content_type},
               {"accept", &spec->accept},
               {"field_manager", &spec->field_manager},
               {"field_validation", &spec->field_validation},
               {"uid", &spec->precondition_uid},
               {"at_version", &spec->precondition_version}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (strcmp(texts[i].name, name) == 0) {
      *texts[i].member = value;
      return;
    }
  }
  set_flag(spec, name, value);
}

static void ask_next(asker *a);

static void on_response(const kin_response *response, void *data) {
  asker *a = data;
  printf("%s\t%d\t%s\t%u\t",
         response->code == 0 ? "OK" : kin_err_name(response->code),
         response->status, response->reason_text, response->retries);
  for (size_t i = 0; i < response->cause_count; i++) {
    printf(KIN_STR_FORMAT ";", KIN_STR_ARG(response->causes[i].field));
  }
  printf("\t%s\n", response->message);
  for (size_t i = 0; i < response->body.length; i++) {
    char c = response->body.data[i];
    putchar(c == '\n' ? ' ' : c);
  }
  putchar('\n');
  fflush(stdout);
  ask_next(a);
}

static int take_line(asker *a) {
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  a->line[strcspn(a->line, "\n")] = '\0';
  char *word = strtok(a->line, "\t");
  spec.verb = (kin_verb)number_of_verb(word != NULL ? word : "");
  while ((word = strtok(NULL, "\t")) != NULL) {
    char *value = strchr(word, '=');
    if (value != NULL) {
      *value++ = '\0';
      set_member(&spec, word, value);
    }
  }
  spec.body_length = spec.body != NULL ? strlen(spec.body) : 0;
  return kin_request_start(NULL, a->client, &spec, on_response, a);
}

/* The end of the requests closes the client. */
static void ask_next(asker *a) {
  int err = KIN_EAGAIN;
  while (err != 0 && fgets(a->line, sizeof a->line, stdin) != NULL) {
    err = take_line(a);
    if (err != 0) {
      printf("%s\t0\t\t0\t\t%s\n\n", kin_err_name(err),
             kin_client_problem(a->client));
      fflush(stdout);
    }
  }
  if (err != 0) {
    kin_client_close(a->client, NULL, NULL);
  }
}

int main(int argc, char **argv) {
  static asker a;
  a.loop = uv_default_loop();
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = argc > 1 ? argv[1] : "";
  int err = kin_client_open(&a.client, a.loop, &options);
  if (err != 0) {
    fprintf(stderr, "ask: %s\n", kin_strerror(err));
    return 2;
  }
  ask_next(&a);
  uv_run(a.loop, UV_RUN_DEFAULT);
  uv_loop_close(a.loop);
  return 0;
}
