/* SPDX-License-Identifier: MIT */
#ifndef KIN_EXPORT_H
#define KIN_EXPORT_H

/** @file
 * The mark of public functions. */

/** Marks the functions of the public interface. Everything else in the shared
 * library is hidden. */
#if defined(__GNUC__) || defined(__clang__)
#define KIN_EXTERN __attribute__((visibility("default")))
#else
#define KIN_EXTERN
#endif

#endif /* KIN_EXPORT_H */
