/* SPDX-License-Identifier: MIT */

/* A program that forks while a client is open. The child may go on with the
 * loop after uv_loop_fork; in it the client neither reads nor writes the
 * sockets, which are its parent's, and can be closed. The parent notices
 * nothing. The row is that of doc/embedding.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fork.h"
#include "support/host_world.h"

enum { CHILD_OK = 0, CHILD_FORK = 1, CHILD_HEARD = 2, CHILD_OPEN = 3 };

static void on_child_closed(void *data) {
  *(int *)data = 1;
}

static void on_stop(uv_timer_t *timer) {
  uv_stop(timer->loop);
}

/* The child's life: the loop for 50 ms, then the end of the client. Nothing of
 * cmocka's is used here. Returns the exit status. */
static int live_as_child(host_world *w, bool closes_at_once) {
  if (uv_loop_fork(&w->program.loop) != 0) {
    return CHILD_FORK;
  }
  kin_client_stats before = KIN_CLIENT_STATS_INIT;
  kin_client_stats after = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w->program.client, &before), 0);
  uv_timer_t timer;
  uv_timer_init(&w->program.loop, &timer);
  uv_timer_start(&timer, on_stop, 50, 0);
  if (!closes_at_once) {
    uv_run(&w->program.loop, UV_RUN_DEFAULT);
  }
  assert_int_equal(kin_client_get_stats(w->program.client, &after), 0);
  if (after.received_bytes != before.received_bytes ||
      after.sent_bytes != before.sent_bytes ||
      after.connections != before.connections) {
    return CHILD_HEARD;
  }
  int is_closed = 0;
  uv_close((uv_handle_t *)&timer, NULL);
  if (kin_client_close(w->program.client, on_child_closed, &is_closed) != 0) {
    return CHILD_OPEN;
  }
  for (int i = 0; i < 1000 && !is_closed; i++) {
    uv_run(&w->program.loop, UV_RUN_NOWAIT);
  }
  return is_closed ? CHILD_OK : CHILD_OPEN;
}

static void fork_and_wait(host_world *w, bool closes_at_once) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    _exit(live_as_child(w, closes_at_once));
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), CHILD_OK);
}

/* Bytes are waiting in the watch's socket when the program forks, so a child
 * that read them would take them away from its parent; over TLS one that said
 * close_notify would end the parent's connection. */
static void check_fork(bool is_tls, bool closes_at_once) {
  host_world w;
  host_init(&w, is_tls);
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.synced == 1) {
  }
  int turns = 0;
  while (w.server.requests + w.secure.requests < 2) {
    host_turn(&w);
    assert_true(turns++ < 10000);
  }
  uv_run(&w.outside, UV_RUN_NOWAIT); /* the event is on its way */
  size_t farewells = w.secure.farewells;
  fork_and_wait(&w, closes_at_once);
  HOST_UNTIL(&w, w.program.deletes == 1) {
  }
  fork_and_wait(&w, closes_at_once); /* with an idle watch */
  size_t accepted = w.server.accepted + w.secure.accepted;
  for (int i = 0; i < 20; i++) {
    host_turn(&w);
  }
  assert_int_equal(w.program.errors, 0);
  assert_int_equal(w.server.open + w.secure.open, 1);
  assert_int_equal(w.secure.farewells, farewells);
  assert_int_equal(w.server.accepted + w.secure.accepted, accepted);
  host_close(&w);
  host_finish(&w);
}

static void test_fork_child_runs(void **state) {
  (void)state;
  check_fork(false, false);
  check_fork(true, false);
}

static void test_fork_child_closes(void **state) {
  (void)state;
  check_fork(false, true);
  check_fork(true, true);
}

/* Of the sockets that lead to the server those of the client; the others are
 * the server's own ends. */
static int count_client_sockets(const host_world *w) {
  int count = 0;
  for (int fd = 3; fd < 256; fd++) {
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
        ntohs(peer.sin_port) == w->server.port) {
      count++;
      assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
  }
  return count;
}

static void test_fork_child_execs(void **state) {
  (void)state;
  for (int execs = 0; execs < 2; execs++) {
    host_world w;
    host_init(&w, false);
    assert_int_equal(host_open(&w), 0);
    HOST_UNTIL(&w, w.program.deletes == 1) {
    }
    assert_int_equal(count_client_sockets(&w), 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      if (execs) {
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
      }
      _exit(execs);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    host_reset(&w); /* the connections are not kept open by the child */
    HOST_UNTIL(&w, w.program.deletes == 2) {
    }
    host_close(&w);
    host_finish(&w);
  }
}

/* The mark itself, in a child of a child too; with and without a page. */
static void test_fork_mark(void **state) {
  (void)state;
  for (int has_page = 0; has_page < 2; has_page++) {
    kin__fork_mark mark;
    kin__fork_mark_init(&mark);
    if (!has_page) {
      kin__fork_mark_finish(&mark);
      assert_null(mark.page);
    }
    assert_false(kin__fork_mark_is_child(&mark));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      pid_t grandchild = fork();
      int status = 0;
      if (grandchild > 0) {
        waitpid(grandchild, &status, 0);
      }
      _exit(kin__fork_mark_is_child(&mark) && status == 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(kin__fork_mark_is_child(&mark));
    kin__fork_mark_finish(&mark);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fork_mark),
      cmocka_unit_test(test_fork_child_runs),
      cmocka_unit_test(test_fork_child_closes),
      cmocka_unit_test(test_fork_child_execs),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
