/* SPDX-License-Identifier: MIT */
#include "complaint.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

typedef struct option_name {
  const char *library;
  const char *program;
} option_name;

static const option_name names[] = {
    {"server", "--server"},
    {"namespaces", "-n"},
    {"namespace_", "-n"},
    {"label_selector", "-l"},
    {"field_selector", "--field-selector"},
    {"fields", "--fields"},
    {"pointer", "--index"},
    {"page_size", "--page-size"},
    {"plural", "RESOURCE"},
    {"group", "RESOURCE"},
    {"version", "RESOURCE"},
    {"word", "RESOURCE"},
    {"result", "RESOURCE"},
    {"path", "--kubeconfig"},
    {"context", "--context"},
    {"cluster", "--cluster"},
    {"user", "--user"},
    {"token", "--token"},
    {"token_file", "--token-file"},
    {"certificate_authority_file", "--certificate-authority"},
    {"client_certificate_file", "--client-certificate"},
    {"client_key_file", "--client-key"},
    {"tls_server_name", "--tls-server-name"},
    {"tls: tls_server_name", "--tls-server-name"},
    {"insecure_skip_tls_verify", "--insecure-skip-tls-verify"},
    {"impersonate_user", "--as"},
    {"impersonate_groups", "--as-group"},
    {"impersonation", "--as or --as-group"},
    {"mutation_check", "KUBE_CACHE_MUTATION_DETECTOR"},
    {"check_watch_lists", "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"},
};

/* The name that the line begins with, or NULL. A colon follows a name, unless
 * it has one in it: a sentence about the member follows then. */
static const option_name *name_of(const char *line) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *name = names[i].library;
    size_t length = strlen(name);
    char next = strchr(name, ':') ? ' ' : ':';
    if (strncmp(line, name, length) == 0 && line[length] == next) {
      return &names[i];
    }
  }
  return NULL;
}

bool is_about_environment(const char *line) {
  const option_name *name = name_of(line);
  return name && strncmp(name->program, "KUBE_", 5) == 0;
}

static void complain_line(const char *line, size_t length) {
  const option_name *name = name_of(line);
  size_t begin = name ? strlen(name->library) : 0;
  fprintf(stderr, "kinformer: %s%s%.*s\n", name ? name->program : "",
          name && line[begin] == ' ' ? ":" : "", (int)(length - begin),
          line + begin);
}

void complain(const char *lines) {
  while (*lines) {
    size_t length = strcspn(lines, "\n");
    complain_line(lines, length);
    lines += length + (lines[length] == '\n');
  }
}

void complain_of_server(const char *before, const char *words) {
  text line = {0};
  text_append_string(&line, before);
  text_append_visible(&line, (kin_str){words, strlen(words)});
  fprintf(stderr, "kinformer: %.*s\n", (int)line.length,
          line.data ? line.data : "");
  text_finish(&line);
}
