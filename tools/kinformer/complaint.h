/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_COMPLAINT_H
#define KINFORMER_COMPLAINT_H

/* Prints what the library says about its options, a line of standard error for
 * each line of `text`. A line that begins with the name of an option of the
 * library begins with the program's own option instead: `namespaces: ...` is
 * about -n. */
void complain(const char *text);

#endif /* KINFORMER_COMPLAINT_H */
