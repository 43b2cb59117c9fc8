/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_FILES_H
#define KIN_CONFIG_KUBE_FILES_H

#include "config/config_env.h"

/* The process's environment and its files. The functions block: they are for
 * the start of a program, and for threads of libuv's pool. `log` may be NULL,
 * and is borrowed. */
kin__config_env kin__config_env_of_process(const kin__log *log);

#define KIN__FOLDER_SIZE 4096u

/* Writes the name of the working directory to `to` and returns it; NULL if the
 * folder is gone, or its name is longer. */
const char *kin__config_folder(char to[KIN__FOLDER_SIZE]);

#endif /* KIN_CONFIG_KUBE_FILES_H */
