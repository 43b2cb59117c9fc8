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
    {"insecure_skip_tls_verify", "--insecure-skip-tls-verify"},
    {"impersonate_user", "--as"},
    {"impersonate_groups", "--as-group"},
    {"impersonation", "--as or --as-group"},
};

static const char *name_in_program(const char *line, size_t length) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strlen(names[i].library) == length &&
        memcmp(names[i].library, line, length) == 0) {
      return names[i].program;
    }
  }
  return NULL;
}

static void complain_line(const char *line, size_t length) {
  size_t begin = 0;
  const char *colon = memchr(line, ':', length);
  const char *name =
      colon ? name_in_program(line, (size_t)(colon - line)) : NULL;
  if (name) {
    begin = (size_t)(colon - line);
  }
  fprintf(stderr, "kinformer: %s%.*s\n", name ? name : "",
          (int)(length - begin), line + begin);
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
