/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_NUMBER_H
#define KIN_BASE_NUMBER_H

#include <stddef.h>

/* The longest text, its NUL included. */
#define KIN__NUMBER_SIZE 40

/* Writes a finite number as printf's %.*g does in the C locale: with a decimal
 * point, whatever locale the host has set. At most 17 digits. Returns text.
 *
 * This is the one place in the library where a floating-point number becomes
 * text; test/check/check_layers.py sees to that. */
const char *kin__number_format(char text[KIN__NUMBER_SIZE], double value,
                               int digits);

#endif /* KIN_BASE_NUMBER_H */
