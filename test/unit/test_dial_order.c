/* SPDX-License-Identifier: MIT */
/* The order in which the addresses of a host are tried (CN-09). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "transport/dial_order.h"

#define MAX 40u

/* A look-up's answer, one letter an address: 4, 6, or x for another family. */
typedef struct answer {
  struct addrinfo infos[MAX];
  kin__address addresses[MAX];
} answer;

static struct addrinfo *make_answer(answer *a, const char *families) {
  memset(a, 0, sizeof *a);
  size_t count = strlen(families);
  assert_true(count <= MAX);
  for (size_t i = 0; i < count; i++) {
    kin__address *address = &a->addresses[i];
    if (families[i] == '4') {
      address->ip4.sin_family = AF_INET;
      address->ip4.sin_addr.s_addr = htonl(0x0a000000u + (unsigned)i);
    } else if (families[i] == '6') {
      address->ip6.sin6_family = AF_INET6;
      address->ip6.sin6_addr.s6_addr[0] = 0xfd;
      address->ip6.sin6_addr.s6_addr[15] = (unsigned char)i;
      address->ip6.sin6_scope_id = 7;
    } else {
      address->any.sa_family = AF_UNIX;
    }
    a->infos[i].ai_addr = &address->any;
    a->infos[i].ai_next = i + 1 < count ? &a->infos[i + 1] : NULL;
  }
  return count > 0 ? a->infos : NULL;
}

/* `expected`: the places of the addresses in the answer, such as "0 2 1". */
static void check(const char *families, size_t max, const char *expected) {
  answer a;
  struct addrinfo *first = make_answer(&a, families);
  kin__address ordered[MAX + 1];
  memset(ordered, 0xa5, sizeof ordered);
  size_t count = kin__dial_order(ordered, max, first, 6443);
  assert_true(count <= max);
  char places[4 * MAX] = "";
  for (size_t i = 0; i < count; i++) {
    const kin__address *address = &ordered[i];
    unsigned place;
    if (address->any.sa_family == AF_INET) {
      assert_int_equal(ntohs(address->ip4.sin_port), 6443);
      place = ntohl(address->ip4.sin_addr.s_addr) & 0xff;
    } else {
      assert_int_equal(address->any.sa_family, AF_INET6);
      assert_int_equal(ntohs(address->ip6.sin6_port), 6443);
      assert_int_equal(address->ip6.sin6_addr.s6_addr[0], 0xfd);
      assert_int_equal(address->ip6.sin6_scope_id, 7);
      place = address->ip6.sin6_addr.s6_addr[15];
    }
    size_t used = strlen(places);
    snprintf(places + used, sizeof places - used, i == 0 ? "%u" : " %u", place);
  }
  assert_string_equal(places, expected);
  kin__address untouched;
  memset(&untouched, 0xa5, sizeof untouched);
  assert_memory_equal(&ordered[count], &untouched, sizeof untouched);
}

static void test_dial_order_one_family(void **state) {
  (void)state;
  check("", 16, "");
  check("4", 16, "0");
  check("6", 16, "0");
  check("444", 16, "0 1 2");
  check("666", 16, "0 1 2");
}

static void test_dial_order_two_families(void **state) {
  (void)state;
  check("64", 16, "0 1");
  check("46", 16, "0 1");
  check("6644", 16, "0 2 1 3");
  check("4466", 16, "0 2 1 3");
  check("66664", 16, "0 4 1 2 3");
  check("46666", 16, "0 1 2 3 4");
  check("6464", 16, "0 1 2 3");
}

static void test_dial_order_other_families(void **state) {
  (void)state;
  check("x", 16, "");
  check("xx6x44", 16, "2 4 5");
  check("x4x6", 16, "1 3");
}

/* Many addresses of one family do not displace the other. */
static void test_dial_order_is_bounded(void **state) {
  (void)state;
  check("6666666666666666666644", 4, "0 20 1 21");
  check("6666666666666666666644", 16, "0 20 1 21 2 3 4 5 6 7 8 9 10 11 12 13");
  check("4444", 3, "0 1 2");
  check("46", 1, "0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dial_order_one_family),
      cmocka_unit_test(test_dial_order_two_families),
      cmocka_unit_test(test_dial_order_other_families),
      cmocka_unit_test(test_dial_order_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
