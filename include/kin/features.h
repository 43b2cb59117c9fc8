/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEATURES_H
#define KIN_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/informer.h>
#include <kin/log.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The feature gates of client-go by name, so that a program can be operated
 * like others: with KUBE_FEATURE_WatchListClient=false in its environment, for
 * example. Nothing is global and the library never reads the environment by
 * itself. A program that wants this fills a set of gates, and applies the set
 * to the options of its informers, in the tweak of a factory for instance.
 *
 * A gate is locked where this library works in one way only; its default says
 * which. doc/client-go-parity.md says what each gate means here. */
typedef enum kin_feature {
  KIN_FEATURE_ATOMIC_FIFO = 0,
  KIN_FEATURE_CLIENTS_ALLOW_CA_ROTATION,
  KIN_FEATURE_CLIENTS_ALLOW_CBOR,
  KIN_FEATURE_CLIENTS_ALLOW_TLS_CACHE_GC,
  KIN_FEATURE_CLIENTS_PREFER_CBOR,
  KIN_FEATURE_IN_ORDER_INFORMERS,
  KIN_FEATURE_IN_ORDER_INFORMERS_BATCH_PROCESS,
  KIN_FEATURE_INFORMER_RESOURCE_VERSION,
  KIN_FEATURE_UNLOCK_WHILE_PROCESSING_FIFO,
  KIN_FEATURE_WATCH_LIST_CLIENT
} kin_feature;

/* The properties of a gate. */
typedef struct kin_feature_info {
  const char *name; /* such as "WatchListClient" */
  bool is_enabled;  /* by default */
  bool is_locked;   /* cannot be set to another value */
} kin_feature_info;

/* Looks a gate up; static. NULL for a value that is no gate, so counting up
 * from 0 lists them all. */
KIN_EXTERN const kin_feature_info *kin_feature_get_info(kin_feature feature);

/* Finds a gate by its name. Errors: KIN_ENOENT (unknown, NULL); *feature is
 * left alone then. */
KIN_EXTERN int kin_feature_by_name(const char *name, kin_feature *feature);

/* A set of gates. Zero-initialize it to begin with the defaults. A set owns
 * nothing and may be copied. Its fields are private. */
typedef struct kin_features {
  uint64_t is_set; /* a bit for each gate */
  uint64_t set_to;
  uint64_t is_in_env;
  uint64_t env_says;
  bool has_read_env;
} kin_features;

/* The value that was set, else the environment's, else the default. False for a
 * value that is no gate. */
KIN_EXTERN bool kin_features_is_enabled(const kin_features *features,
                                        kin_feature feature);

/* Sets a gate by its name.
 * Errors: KIN_ENOENT (unknown, NULL), KIN_ENOTSUP (the gate is locked to the
 * other value). Nothing has changed then. */
KIN_EXTERN int kin_features_set(kin_features *features, const char *name,
                                bool is_enabled);

/* The same, ignoring locks, for tests of a program's own. Errors:
 * KIN_ENOENT. */
KIN_EXTERN int kin_features_set_for_testing(kin_features *features,
                                            const char *name, bool is_enabled);

/* Sets the options of an informer that the gates decide, and leaves the rest.
 * The only one: WatchListClient off sets no_watch_list. */
KIN_EXTERN void kin_features_apply(const kin_features *features,
                                   kin_informer_options *options);

/* Returns the value of an environment variable, or NULL if it is not set. The
 * value is used at once. Like getenv, with one more argument. */
typedef const char *(*kin_getenv_cb)(const char *name, void *data);

/* Reads the gates from variables such as KUBE_FEATURE_WatchListClient, with the
 * values 1, t, T, TRUE, true, True, 0, f, F, FALSE, false or False. Any other
 * value, also an empty one, and a value against which the gate is locked leave
 * the gate alone, and are reported to `log` (level ERROR; may be NULL). `data`
 * is passed to both callbacks; both are called inside this call only.
 * Errors: KIN_EALREADY (read before; nothing is read), KIN_EINVAL (no
 * getenv_cb). */
KIN_EXTERN int kin_features_read_env(kin_features *features,
                                     kin_getenv_cb getenv_cb, kin_log_cb log,
                                     void *data);

/* Returns whether kin_features_read_env has succeeded. */
KIN_EXTERN bool kin_features_has_read_env(const kin_features *features);

#ifdef __cplusplus
}
#endif

#endif /* KIN_FEATURES_H */
