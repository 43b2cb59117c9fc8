/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_PATH_H
#define KIN_CONFIG_PATH_H

#include "config/vault.h"

/* Paths as Go's path/filepath treats them on Unix. */

/* The path that `path`, named in the file `file`, means: absolute paths as they
 * are; others from the folder of the file, without "." and "..", which are
 * taken out without a look at the file system. NULL if memory is out. */
char *kin__path_beside(kin__vault *vault, const char *file, const char *path);

/* `folder`/`name`, cleaned likewise. NULL if memory is out. */
char *kin__path_join(kin__vault *vault, kin_str folder, kin_str name);

#endif /* KIN_CONFIG_PATH_H */
