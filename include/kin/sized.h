/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIZED_H
#define KIN_SIZED_H

#include <stddef.h>

/** @file
 * Structs that may get more members in a later version begin with their size in
 * bytes. So a program runs with a library that is newer or older than the
 * headers with which the program was compiled.
 *
 * - Options, and other structs that the program gives: the program begins with
 *   the INIT macro, which sets the size. A newer library takes the members that
 *   the program does not have as 0. An older library answers KIN_ENOTSUP if the
 *   program has set a member that the library does not have.
 * - Results, such as kin_status, that a function fills for the program: the
 *   program begins with the INIT macro. The library writes no further than the
 *   size says, and sets members that it does not have to 0. Then `size` is the
 *   number of bytes that have been filled.
 * - Structs that a callback is given, such as kin_event: the library sets the
 *   size.
 *
 * Structs without a size never change. These are values that are passed, held
 * or put into other structs as they are (kin_str, kin_cursor, kin_histogram),
 * and elements of arrays (kin_delta, kin_parameter). */

/** Whether a result, or a struct that a callback is given, has a member. Only a
 * program that may run with an older library needs this: for members that its
 * least version of the library does not have. Example, with an event of type
 * kin_event: KIN_HAS(event, kin_event, resource_version). */
#define KIN_HAS(pointer, type, member)                                         \
  ((pointer)->size >= offsetof(type, member) + sizeof((pointer)->member))

#endif /* KIN_SIZED_H */
