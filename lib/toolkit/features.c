/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/features.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* client-go's gates as of 1.36, in the order of kin_feature. The defaults
 * describe this library. */
static const kin_feature_info gates[] = {
    /* A list is applied in bounded steps; in-order queues have an option. */
    [KIN_FEATURE_ATOMIC_FIFO] = {"AtomicFIFO", false, true},
    /* Replaced files are read before the next connection. */
    [KIN_FEATURE_CLIENTS_ALLOW_CA_ROTATION] = {"ClientsAllowCARotation", true,
                                               true},
    [KIN_FEATURE_CLIENTS_ALLOW_CBOR] = {"ClientsAllowCBOR", false, true},
    /* There is no TLS cache: each client has its own TLS context. */
    [KIN_FEATURE_CLIENTS_ALLOW_TLS_CACHE_GC] = {"ClientsAllowTLSCacheGC", true,
                                                true},
    [KIN_FEATURE_CLIENTS_PREFER_CBOR] = {"ClientsPreferCBOR", false, true},
    /* An informer's queue is a DeltaFIFO. */
    [KIN_FEATURE_IN_ORDER_INFORMERS] = {"InOrderInformers", false, true},
    /* Changes are processed in slices of time, not one by one. */
    [KIN_FEATURE_IN_ORDER_INFORMERS_BATCH_PROCESS] =
        {"InOrderInformersBatchProcess", true, true},
    /* A scope's status has its version. */
    [KIN_FEATURE_INFORMER_RESOURCE_VERSION] = {"InformerResourceVersion", true,
                                               true},
    /* There is no lock. */
    [KIN_FEATURE_UNLOCK_WHILE_PROCESSING_FIFO] = {"UnlockWhileProcessingFIFO",
                                                  true, true},
    [KIN_FEATURE_WATCH_LIST_CLIENT] = {"WatchListClient", true, false},
};

#define GATE_COUNT (sizeof gates / sizeof gates[0])

const kin_feature_info *kin_feature_get_info(kin_feature feature) {
  size_t i = (size_t)feature;
  return i < GATE_COUNT ? &gates[i] : NULL;
}

int kin_feature_by_name(const char *name, kin_feature *feature) {
  if (feature == NULL) {
    return KIN_EINVAL;
  }
  for (size_t i = 0; name != NULL && i < GATE_COUNT; i++) {
    if (strcmp(gates[i].name, name) == 0) {
      *feature = (kin_feature)i;
      return 0;
    }
  }
  return KIN_ENOENT;
}

static uint64_t bit(size_t i) {
  return UINT64_C(1) << i;
}

bool kin_features_is_enabled(const kin_features *features,
                             kin_feature feature) {
  if (features == NULL) {
    return false;
  }
  size_t i = (size_t)feature;
  if (i >= GATE_COUNT) {
    return false;
  }
  if ((features->is_set & bit(i)) != 0) {
    return (features->set_to & bit(i)) != 0;
  }
  if ((features->is_in_env & bit(i)) != 0) {
    return (features->env_says & bit(i)) != 0;
  }
  return gates[i].is_enabled;
}

static void note(uint64_t *is_known, uint64_t *values, size_t i, bool value) {
  *is_known |= bit(i);
  *values = value ? *values | bit(i) : *values & ~bit(i);
}

int kin_features_set_for_testing(kin_features *features, const char *name,
                                 bool is_enabled) {
  if (features == NULL) {
    return KIN_EINVAL;
  }
  kin_feature feature;
  int err = kin_feature_by_name(name, &feature);
  if (err == 0) {
    note(&features->is_set, &features->set_to, (size_t)feature, is_enabled);
  }
  return err;
}

int kin_features_set(kin_features *features, const char *name,
                     bool is_enabled) {
  if (features == NULL) {
    return KIN_EINVAL;
  }
  kin_feature feature;
  int err = kin_feature_by_name(name, &feature);
  if (err != 0) {
    return err;
  }
  const kin_feature_info *gate = &gates[feature];
  return gate->is_locked && gate->is_enabled != is_enabled
             ? KIN_ENOTSUP
             : kin_features_set_for_testing(features, name, is_enabled);
}

void kin_features_apply(const kin_features *features,
                        kin_informer_options *options) {
  if (features == NULL || options == NULL) {
    return;
  }
  size_t end = offsetof(kin_informer_options, no_watch_list) +
               sizeof options->no_watch_list;
  if (options->size >= end &&
      !kin_features_is_enabled(features, KIN_FEATURE_WATCH_LIST_CLIENT)) {
    options->no_watch_list = true;
  }
}

/* As Go's strconv.ParseBool. */
static bool parse_bool(const char *text, bool *value) {
  static const char *const words[] = {"0", "f", "F", "FALSE", "false", "False",
                                      "1", "t", "T", "TRUE",  "true",  "True"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *value = i >= 6;
      return true;
    }
  }
  return false;
}

static void read_gate(kin_features *features, size_t i, const char *text,
                      const kin__log *log) {
  const kin_feature_info *gate = &gates[i];
  bool is_enabled = kin_features_is_enabled(features, (kin_feature)i);
  bool value;
  if (!parse_bool(text, &value)) {
    kin__log_write(log, KIN_LOG_ERROR,
                   "feature %s is left %s: KUBE_FEATURE_%s is not a boolean",
                   gate->name, is_enabled ? "on" : "off", gate->name);
  } else if (gate->is_locked && value != gate->is_enabled) {
    kin__log_write(log, KIN_LOG_ERROR, "feature %s is locked, it is left %s",
                   gate->name, is_enabled ? "on" : "off");
  } else {
    note(&features->is_in_env, &features->env_says, i, value);
  }
}

int kin_features_read_env(kin_features *features, kin_getenv_cb getenv_cb,
                          kin_log_cb log, void *data) {
  if (features == NULL || getenv_cb == NULL) {
    return KIN_EINVAL;
  }
  if (features->has_read_env) {
    return KIN_EALREADY;
  }
  features->has_read_env = true;
  const kin__log sink = {log, data, KIN_LOG_ERROR};
  for (size_t i = 0; i < GATE_COUNT; i++) {
    char name[64];
    snprintf(name, sizeof name, "KUBE_FEATURE_%s", gates[i].name);
    const char *text = getenv_cb(name, data);
    if (text != NULL) {
      read_gate(features, i, text, &sink);
    }
  }
  return 0;
}

bool kin_features_has_read_env(const kin_features *features) {
  return features != NULL && features->has_read_env;
}
