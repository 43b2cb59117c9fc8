/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_PATH_CLEAN_H
#define KIN_CONFIG_PATH_CLEAN_H

/* Removes "." and double slashes, and ".." with the name before it; as Go's
 * filepath.Clean. An empty path becomes ".". `path` has room for two bytes. */
void kin__path_clean(char *path);

#endif /* KIN_CONFIG_PATH_CLEAN_H */
