# SPDX-License-Identifier: MIT
"""Does the harness notice what comes late, never, or in the wrong place?

Part of test_harness.py; nothing here needs a server.
"""

import contextlib
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from bounds import (PAUSE_S, Refusal, Seen, attempts_of, judge_notice,
                    judge_recovery, judge_refusal, judge_retries,
                    judge_unreached, leaks)
from kin import Failure, Kinformer
from process import CHUNK, timed_lines
import ready
from relay import Relay
from ways import Access


def error_line(at, retry_ms, unseen_at=None, **members):
    return Seen(at, {"event": "error", "class": "tls", "status": 0,
                     "reason": "", "message": "tls: certificate expired",
                     "retryInMs": retry_ms, **members}, unseen_at)


class Refusals(unittest.TestCase):
    EXPECTED = Refusal("tls", ("certificate", "expired"))

    def judge(self, error):
        return judge_refusal(error, 10.0, self.EXPECTED)

    def expect(self, text, error):
        found = self.judge(error)
        self.assertEqual(len(found), 1, found)
        self.assertIn(text, found[0])

    def test_as_it_should_be(self):
        self.assertEqual(self.judge(error_line(10.9, 900)), [])

    def test_late(self):
        self.assertEqual(self.judge(error_line(11.1 + PAUSE_S, 900, 10.9)), [])
        self.expect("said 3.10 s after", error_line(11.1 + PAUSE_S, 900))
        self.expect("said 3.10 s after",
                    error_line(19, 900, 11.1 + PAUSE_S))

    def test_wrong_class(self):
        self.expect("expected", error_line(10.5, 900, **{"class": "connect"}))

    def test_wrong_status(self):
        self.expect("expected", error_line(10.5, 900, status=401))

    def test_words_missing(self):
        self.expect("no 'expired'", error_line(10.5, 900,
                                               message="certificate is bad"))

    def test_no_time_of_retry(self):
        self.expect("retried in 0 ms", error_line(10.5, 0))
        self.expect("retried in 99999 ms", error_line(10.5, 99999))

    def test_each_attempt(self):
        errors = [error_line(10.1, 2000), error_line(12.3, 900),
                  error_line(14.9, 900)]
        delays = [error.at - at for error, at in
                  zip(errors, attempts_of(10.0, errors))]
        for delay, expected in zip(delays, (0.1, 0.2, 1.7)):
            self.assertAlmostEqual(delay, expected)

    def test_retried_too_soon(self):
        first = error_line(10.0, 2000)
        self.assertEqual(judge_retries([first, error_line(12.0, 900)]), [])
        self.assertEqual(len(judge_retries([first, error_line(11.5, 900)])), 1)

    def test_retried_in_time_and_read_late(self):
        last = error_line(12.0, 900)
        self.assertEqual(judge_retries([error_line(11, 2000, 10), last]), [])
        self.assertEqual(len(judge_retries([error_line(11, 2000, 10.5),
                                            last])), 1)

    def test_waits_that_are_too_long(self):
        told = [error_line(10, 4001, **{"class": name})
                for name in ("connect", "protocol", "server")]
        self.assertEqual(len(judge_unreached(told)), 2)
        self.assertEqual(judge_unreached(
            [error_line(10, 4000, **{"class": "connect"})]), [])


class Recoveries(unittest.TestCase):
    # Fails at 10 and 12, and would try again at 16.
    ERRORS = [error_line(10.0, 1900), error_line(12.0, 4000)]

    def judge(self, mended_at, recovered_at, more=(), bound_s=None,
              written_at=0.0):
        return judge_recovery([*self.ERRORS, *more], mended_at, recovered_at,
                              bound_s, written_at)

    def expect(self, text, *arguments, **options):
        found = self.judge(*arguments, **options)
        self.assertEqual(len(found), 1, found)
        self.assertIn(text, found[0])

    def test_at_the_next_attempt(self):
        self.assertEqual(self.judge(13.0, 16.2), [])

    def test_never(self):
        self.expect("has not recovered", 13.0, None)

    def test_an_attempt_missed(self):
        self.assertEqual(self.judge(13.0, 17.9 + PAUSE_S), [])
        self.expect("after the next attempt was due", 13.0, 18.1 + PAUSE_S)

    def test_failed_again_although_mended(self):
        self.expect("failed again 3.10 s", 13.0, 17.5,
                    [error_line(16.1, 1000)])

    def test_an_attempt_that_had_begun_may_fail(self):
        # Begun at 16, mended at 17, failed at 18.
        more = [error_line(18.0, 3000)]
        self.assertEqual(self.judge(17.0, 21.5, more), [])
        self.expect("failed again 4.50 s", 17.0, 23.0,
                    [*more, error_line(21.5, 1000)])

    def test_it_may_have_begun_before_its_line_was_read(self):
        # Tells of an attempt that began at 16.9 or later.
        more = [error_line(17.2, 1000, 15.9), error_line(17.3, 1000)]
        self.assertEqual(self.judge(17.0, 18.5, more), [])
        self.expect("failed again 0.50 s", 16.8, 18.5,
                    [more[0], error_line(17.3, 1000)])

    def test_history_may_be_forgotten_meanwhile(self):
        more = [error_line(16.1, 1000, status=410)]
        self.assertEqual(self.judge(13.0, 18.0, more), [])
        self.expect("after the next attempt was due", 13.0, 25.0, more)

    def test_not_within_the_bound(self):
        self.assertEqual(self.judge(13.0, 16.5, bound_s=5), [])
        self.expect("more than 3.0 s", 13.0, 16.5, bound_s=3 - PAUSE_S)

    def test_written_later(self):
        self.assertEqual(self.judge(13.0, 20.5, bound_s=3, written_at=17.0), [])
        self.expect("after the next attempt was due", 13.0, 21.5,
                    written_at=17.0)
        self.expect("more than 3.0 s", 13.0, 20.5, bound_s=3 - PAUSE_S,
                    written_at=17.0)

    def test_without_any_error(self):
        self.assertEqual(judge_recovery([], 13.0, 13.1), [])
        self.assertEqual(len(judge_recovery([], 13.0, 15.1 + PAUSE_S)), 1)

    def test_silence(self):
        self.assertEqual(judge_notice(error_line(54.9, 0), 10.0), [])
        self.assertEqual(len(judge_notice(error_line(55.1, 0), 10.0)), 1)
        self.assertEqual(judge_notice(error_line(57, 0, 54.9), 10.0), [])
        self.assertEqual(len(judge_notice(error_line(57, 0, 55.1), 10.0)), 1)
        self.assertEqual(len(judge_notice(None, 10.0)), 1)


class Lines(unittest.TestCase):
    def setUp(self):
        reader, self.writer = os.pipe()
        self.pipe = os.fdopen(reader, "rb", buffering=0)
        self.addCleanup(self.pipe.close)
        self.lines = timed_lines(self.pipe)

    def write(self, data, then_close=False):
        os.write(self.writer, data)
        if then_close:
            os.close(self.writer)

    def test_whole_lines(self):
        self.write(b"one\n\ntwo\npart", then_close=True)
        self.assertEqual([line for _, _, line in self.lines],
                         [b"one\n", b"\n", b"two\n", b"part"])

    def test_a_line_in_pieces(self):
        long = b"x" * (2 * CHUNK) + b"\n"
        thread = threading.Thread(target=self.write, args=(long, True))
        thread.start()
        self.assertEqual([line for _, _, line in self.lines], [long])
        thread.join()

    def test_times_lie_around_the_writing(self):
        """However late the line is read."""
        self.write(b"one\n")
        next(self.lines)
        before = time.monotonic()
        self.write(b"two\n", then_close=True)
        after = time.monotonic()
        time.sleep(0.1)  # nobody reads
        unseen_at, at, _ = next(self.lines)
        self.assertLessEqual(unseen_at, before)
        self.assertGreater(at, after)

    def test_times_lie_close_together(self):
        """While somebody reads, they are no excuse for what is late."""
        closest = 9.0
        for _ in range(5):  # as often as this process may not run
            thread = threading.Timer(0.3, self.write, (b"late\n",))
            thread.start()
            unseen_at, at, _ = next(self.lines)
            closest = min(closest, at - unseen_at)
            thread.join()
            if closest < 0.2:
                break
        self.assertLess(closest, 0.2)
        os.close(self.writer)


# Prints what it is given and waits for an interrupt.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
output, error = sys.argv[1:3]
print(error, file=sys.stderr, flush=True)
print(output, flush=True)
signal.pause()
"""


class Leaks(unittest.TestCase):
    TOKEN = "e2e-0123456789abcdef0123456789abcdef"
    LINE = ('{"event":"error","class":"auth","status":401,"reason":"",'
            '"message":"%s","retryInMs":800}')

    def test_parts(self):
        found = leaks("text", b"... " + self.TOKEN[9:23].encode(), [self.TOKEN])
        self.assertEqual(found, ["text contains token 0"])
        self.assertEqual(leaks("text", self.TOKEN[:11].encode(),
                               ["another-token", self.TOKEN]), [])

    def run_program(self, output="", error="", argument=""):
        """Returns what is found in a real process."""
        with tempfile.TemporaryDirectory() as directory:
            kin = Kinformer(sys.executable, Access("url"), [
                "-c", PROGRAM, self.LINE % output, error, argument],
                pathlib.Path(directory), secrets=[self.TOKEN])
            with kin:
                kin.wait_error()
                kin.stop()
            return set(kin.leaks)

    def test_process(self):
        self.assertEqual(self.run_program("nothing", "of", "interest"), set())
        # This program's output is in its arguments, too.
        self.assertEqual(self.run_program(output=self.TOKEN),
                         {"standard output contains token 0",
                          "/proc/PID/cmdline contains token 0"})
        self.assertEqual(self.run_program(error=self.TOKEN),
                         {"standard error contains token 0",
                          "/proc/PID/cmdline contains token 0"})
        self.assertEqual(self.run_program(argument=self.TOKEN),
                         {"/proc/PID/cmdline contains token 0"})

    def test_secret_that_is_known_later(self):
        """What was printed before is searched for it, too."""
        with tempfile.TemporaryDirectory() as directory:
            secrets = ["another-token"]
            kin = Kinformer(sys.executable, Access(""), [
                "-c", PROGRAM.replace("sys.argv[1:3]", "os.environ['LINE'], ''")
                .replace("import ", "import os, ")],
                pathlib.Path(directory), secrets=secrets,
                environment={"LINE": self.LINE % self.TOKEN})
            with kin:
                kin.wait_error()
                secrets.append(self.TOKEN)
                kin.stop()
            self.assertEqual(kin.leaks, ["standard output contains token 1"])

    def test_waiting_for_what_does_not_come(self):
        with tempfile.TemporaryDirectory() as directory:
            kin = Kinformer(sys.executable, Access("url"), [
                "-c", PROGRAM, self.LINE % "", "", ""],
                pathlib.Path(directory))
            with kin:
                kin.wait_errors(1, kin.started_at)
                for wait in (
                        lambda: kin.wait_errors(2, kin.started_at,
                                                timeout_s=0.1),
                        lambda: kin.wait_line(
                            "synced line", lambda line:
                            line["event"] == "synced", timeout_s=0.1)):
                    with self.assertRaises(Failure):
                        wait()


class Ports(unittest.TestCase):
    def test_nobody_else_is_given_one(self):
        ports = ready.free_ports(3)
        self.assertEqual(len(set(ports)), 3)
        given = [socket.socket() for _ in range(20)]
        for s in given:
            s.bind(("127.0.0.1", 0))
            self.assertNotIn(s.getsockname()[1], ready.PORTS)
            s.close()

    def test_taken_ones_are_left_out(self):
        taken, free = ready.free_ports(2)
        with socket.socket() as s, mock.patch.object(
                ready, "PORTS", (taken, free)):
            s.bind(("127.0.0.1", taken))
            self.assertEqual(ready.free_ports(1), [free])
            with self.assertRaises(ready.StartError):
                ready.free_ports(2)


class Relays(unittest.TestCase):
    """The relay does to connections what it says."""

    def setUp(self):
        listening = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listening.close)
        listening.settimeout(10)
        self.listening = listening
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.relay = stack.enter_context(Relay(listening.getsockname()[1]))

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.relay.port), 10)
        self.addCleanup(client.close)
        return client

    def accept(self):
        server, _ = self.listening.accept()
        self.addCleanup(server.close)
        server.settimeout(10)
        return server

    def exchange(self, client, server):
        client.sendall(b"question")
        self.assertEqual(server.recv(100), b"question")
        server.sendall(b"answer")
        self.assertEqual(client.recv(100), b"answer")

    def silent(self, receiver):
        receiver.settimeout(0.1)
        with self.assertRaises(TimeoutError):
            receiver.recv(100)
        receiver.settimeout(10)

    def test_forwards_and_ends(self):
        client = self.connect()
        server = self.accept()
        self.exchange(client, server)
        self.assertEqual(len(self.relay.accepted), 1)
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(server.recv(100), b"")
        server.sendall(b"last words")
        server.close()
        self.assertEqual(client.recv(100), b"last words")
        self.assertEqual(client.recv(100), b"")

    def test_aims_and_cuts_nothing(self):
        client = self.connect()
        server = self.accept()
        self.exchange(client, server)
        with socket.create_server(("127.0.0.1", 0)) as other:
            other.settimeout(10)
            self.relay.aim(other.getsockname()[1])
            later = self.connect()
            server_of_later, _ = other.accept()
            self.addCleanup(server_of_later.close)
            server_of_later.settimeout(10)
            self.exchange(later, server_of_later)
            self.exchange(client, server)

    def test_holds_one_direction(self):
        client = self.connect()
        server = self.accept()
        self.relay.hold(to_client=False)
        client.sendall(b"question")
        server.sendall(b"answer")
        self.assertEqual(client.recv(100), b"answer")
        self.silent(server)
        self.relay.release()
        self.assertEqual(server.recv(100), b"question")

    def receive(self, receiver, count):
        received = b""
        while len(received) < count:
            piece = receiver.recv(count - len(received))
            self.assertTrue(piece)
            received += piece
        return received

    def test_holds_after_some_bytes(self):
        client = self.connect()
        server = self.accept()
        self.relay.hold_after(10)
        server.sendall(b"0123456789")
        self.assertEqual(self.receive(client, 10), b"0123456789")
        self.assertTrue(self.relay.wait_held(10))
        server.sendall(b"rest")
        self.silent(client)
        self.relay.release()
        self.assertEqual(self.receive(client, 4), b"rest")

    def test_holds_the_rest_of_a_piece(self):
        client = self.connect()
        server = self.accept()
        self.relay.hold_after(4)
        server.sendall(b"partrest")
        self.assertTrue(self.relay.wait_held(10))
        self.assertEqual(self.receive(client, 4), b"part")
        self.silent(client)
        self.relay.release()
        self.assertEqual(self.receive(client, 4), b"rest")

    def test_what_is_cut_while_it_is_held_is_lost(self):
        client = self.connect()
        server = self.accept()
        self.relay.hold_after(4)
        server.sendall(b"partrest")
        self.assertTrue(self.relay.wait_held(10))
        self.relay.cut()
        self.relay.release()
        self.relay.hold_after(6)
        self.assertEqual(self.receive(client, 4), b"part")
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(client.recv(100), b"")
        # All of the six are the new connection's.
        self.exchange(self.connect(), self.accept())
        self.assertTrue(self.relay.wait_held(10))

    def test_slows_down(self):
        client = self.connect()
        server = self.accept()
        self.relay.slow_down(20000)
        began = time.monotonic()
        server.sendall(bytes(6000))
        self.receive(client, 6000)
        self.assertGreaterEqual(time.monotonic() - began, 0.25)

    def test_holds_what_is_new(self):
        old = self.connect()
        old_server = self.accept()
        self.relay.hold_new()
        new = self.connect()
        new.sendall(b"question")
        self.exchange(old, old_server)
        self.silent(new)
        self.relay.release()
        self.assertEqual(self.accept().recv(100), b"question")

    def test_forgets(self):
        old = self.connect()
        old_server = self.accept()
        self.relay.forget()
        old.sendall(b"question")
        self.silent(old_server)
        self.exchange(self.connect(), self.accept())
        self.relay.release()
        self.silent(old_server)

    def test_refuses_and_cuts(self):
        client = self.connect()
        self.accept()
        self.relay.refuse()
        with self.assertRaises(ConnectionRefusedError):
            self.connect()
        self.relay.accept()
        another = self.connect()
        self.exchange(another, self.accept())
        self.relay.cut()
        for each in client, another:
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(each.recv(100), b"")
