/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_NUMBER_H
#define KIN_BASE_NUMBER_H

#include <stddef.h>

/* The longest text, including its NUL. */
#define KIN__NUMBER_SIZE 40

/* Writes a finite number as printf's %.*g does in the C locale: with a decimal
 * point, whatever locale the host has set. At most 17 digits. Returns `text`.
 *
 * No other place in the library turns a floating-point number into text;
 * test/check/check_layers.py checks this. */
const char *kin__number_format(char text[KIN__NUMBER_SIZE], double value,
                               int digits);

#endif /* KIN_BASE_NUMBER_H */
