/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_SIGNAL_OF_WRITE_H
#define KIN_TEST_SIGNAL_OF_WRITE_H

/* Writes a byte in a process of its own. Returns the signal that ends this
 * process, or 0. */
int signal_of_write(char *place);

#endif /* KIN_TEST_SIGNAL_OF_WRITE_H */
