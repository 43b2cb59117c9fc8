/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_FIRST_SIZE_H
#define KIN_BASE_FIRST_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* The size of each sized struct of the public headers in its first release. A
 * number, not sizeof: the struct may get members, and the programs of the first
 * release stay right. check_abi.py compares the numbers with the structs. */
#define KIN__FIRST_SIZE(type) KIN__FIRST_##type

struct kin__aligned {
  char c;
  uint64_t n;
};

/* The sizes with pointers of 64 bits, and of 32 bits: where uint64_t is aligned
 * to 8 bytes, as on Arm, and to 4, as on x86. */
#define KIN__BY_ABI(bits64, bits32, x86)                                       \
  ((size_t)(sizeof(void *) == 8                     ? (bits64)                 \
            : offsetof(struct kin__aligned, n) == 8 ? (bits32)                 \
                                                    : (x86)))

#define KIN__FIRST_kin_change_filter_options KIN__BY_ABI(96, 52, 52)
#define KIN__FIRST_kin_client_options KIN__BY_ABI(328, 200, 196)
#define KIN__FIRST_kin_client_stats KIN__BY_ABI(176, 176, 172)
#define KIN__FIRST_kin_controller_options KIN__BY_ABI(144, 72, 72)
#define KIN__FIRST_kin_controller_stats KIN__BY_ABI(32, 32, 28)
#define KIN__FIRST_kin_event_recorder_metrics KIN__BY_ABI(72, 72, 68)
#define KIN__FIRST_kin_event_recorder_options KIN__BY_ABI(72, 44, 44)
#define KIN__FIRST_kin_exec_plugin KIN__BY_ABI(136, 76, 76)
#define KIN__FIRST_kin_expiring_store_options KIN__BY_ABI(56, 32, 32)
#define KIN__FIRST_kin_factory_options KIN__BY_ABI(120, 64, 64)
#define KIN__FIRST_kin_feed_error KIN__BY_ABI(40, 28, 28)
#define KIN__FIRST_kin_heap_options KIN__BY_ABI(32, 16, 16)
#define KIN__FIRST_kin_index_options KIN__BY_ABI(40, 20, 20)
#define KIN__FIRST_kin_informer_metrics KIN__BY_ABI(1656, 1648, 1632)
#define KIN__FIRST_kin_informer_options KIN__BY_ABI(256, 160, 156)
#define KIN__FIRST_kin_informer_watcher_options KIN__BY_ABI(48, 24, 24)
#define KIN__FIRST_kin_kubeconfig_options KIN__BY_ABI(224, 112, 112)
#define KIN__FIRST_kin_lazy_options KIN__BY_ABI(40, 20, 20)
#define KIN__FIRST_kin_leader_elector_metrics KIN__BY_ABI(80, 72, 72)
#define KIN__FIRST_kin_leader_elector_options KIN__BY_ABI(120, 68, 68)
#define KIN__FIRST_kin_lease_candidate_options KIN__BY_ABI(88, 44, 44)
#define KIN__FIRST_kin_lingering_index_options KIN__BY_ABI(40, 24, 24)
#define KIN__FIRST_kin_listener_options KIN__BY_ABI(88, 48, 48)
#define KIN__FIRST_kin_lister_watcher KIN__BY_ABI(56, 28, 28)
#define KIN__FIRST_kin_mutation_cache_options KIN__BY_ABI(56, 40, 36)
#define KIN__FIRST_kin_mutation_detector_options KIN__BY_ABI(56, 32, 32)
#define KIN__FIRST_kin_pager_options KIN__BY_ABI(80, 44, 44)
#define KIN__FIRST_kin_process_handlers KIN__BY_ABI(40, 20, 20)
#define KIN__FIRST_kin_push_store_options KIN__BY_ABI(32, 16, 16)
#define KIN__FIRST_kin_queue_options KIN__BY_ABI(88, 48, 48)
#define KIN__FIRST_kin_rate_limiter_callbacks KIN__BY_ABI(48, 24, 24)
#define KIN__FIRST_kin_reflector_options KIN__BY_ABI(80, 40, 40)
#define KIN__FIRST_kin_reflector_store KIN__BY_ABI(80, 40, 40)
#define KIN__FIRST_kin_request_spec KIN__BY_ABI(200, 112, 112)
#define KIN__FIRST_kin_retry_watcher_options KIN__BY_ABI(72, 40, 40)
#define KIN__FIRST_kin_status KIN__BY_ABI(280, 280, 272)
#define KIN__FIRST_kin_store_options KIN__BY_ABI(32, 16, 16)
#define KIN__FIRST_kin_until_options KIN__BY_ABI(96, 56, 52)
#define KIN__FIRST_kin_wait_options KIN__BY_ABI(56, 32, 32)
#define KIN__FIRST_kin_work_follow_options KIN__BY_ABI(48, 32, 32)
#define KIN__FIRST_kin_work_queue_metrics KIN__BY_ABI(384, 384, 380)
#define KIN__FIRST_kin_work_queue_options KIN__BY_ABI(72, 36, 36)

#endif /* KIN_BASE_FIRST_SIZE_H */
