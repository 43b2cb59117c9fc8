/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_COMPLAINT_H
#define KINFORMER_COMPLAINT_H

#include <stdbool.h>

/* Prints what the library says about its options, a line of standard error for
 * each of `lines`. A line that begins with the name of an option of the
 * library begins with the program's own option instead: `namespaces: ...` is
 * about -n. */
void complain(const char *lines);

/* Whether such a line is about a variable of the environment. */
bool is_about_environment(const char *line);

/* Prints `before` and words of the server, in one line of standard error, as a
 * terminal may show it. */
void complain_of_server(const char *before, const char *words);

#endif /* KINFORMER_COMPLAINT_H */
