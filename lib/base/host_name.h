/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_HOST_NAME_H
#define KIN_BASE_HOST_NAME_H

#define KIN__HOST_NAME_SIZE 256u

/* Writes the name of the machine, with '-' for what is not visible ASCII; "" if
 * it has none. */
void kin__host_name(char to[KIN__HOST_NAME_SIZE]);

#endif /* KIN_BASE_HOST_NAME_H */
