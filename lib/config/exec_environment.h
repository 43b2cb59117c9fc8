/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_EXEC_ENVIRONMENT_H
#define KIN_CONFIG_EXEC_ENVIRONMENT_H

#include <kin/allocator.h>

/* The environment of a process (XP-02): that of this process, `variables`
 * ("NAME=value", NULL last), and `info`, also "NAME=value". A later one of the
 * same name replaces an earlier one. Only the array is new; the strings are
 * borrowed, also those of this process. NULL if out of memory. */
char **kin__exec_environment_new(const kin_allocator *allocator,
                                 char *const *variables, char *info);

#endif /* KIN_CONFIG_EXEC_ENVIRONMENT_H */
