# SPDX-License-Identifier: MIT
"""TLS: records, orderly ends and faults."""

import contextlib
import socket
import time

from sim import Reader, Stream, one_of, request_bytes, wait_until
from tls import Recorder, end_of, serving

PODS = "/api/v1/pods"
WATCH = "/api/v1/pods?watch=1"
APPLICATION_DATA = 23


def answer_and_end(sim, path):
    with contextlib.closing(Recorder(sim)) as recorder:
        recorder.send(path)
        reader = Reader(recorder)
        reader.head()
        rest, end = end_of(recorder)
        return reader.buffer + rest, end


def test_orderly_ends(start):
    with serving(start, "--pods", "3") as sim:
        # An answer after which the connection is closed.
        with sim.connect() as sock:
            sock.sendall(request_bytes("GET", PODS, headers={
                "Connection": "close"}))
            assert end_of(sock)[1] == "EOF"
        # The client ends first; the server answers in kind.
        with sim.connect() as sock:
            sock.settimeout(5)
            plain = sock.unwrap()
            assert plain.recv(1) == b""
            plain.close()
        # The server ends.
        stream = sim.watch(WATCH)
        stream.events(3)
        sim.stop()
        assert end_of(stream.sock)[1] == "EOF"
        stream.close()


def test_client_leaves_without_close_notify(start):
    with serving(start, "--pods", "3") as sim:
        stream = sim.watch(WATCH)
        stream.events(3)
        stream.sock.shutdown(socket.SHUT_RDWR)
        stream.close()
        wait_until(lambda: sim.stats()["watches"]["open"] == 0,
                   "the watch is open")


def test_cut_has_no_close_notify(start):
    with serving(start, "--pods", "10") as sim:
        sim.control("fault", {"kind": "cut", "how": "fin", "after-bytes": 1000,
                              "count": 1})
        body, end = answer_and_end(sim, PODS)
        assert (len(body), end) == (1000, "EOF without close_notify")
        sim.control("fault", {"kind": "cut", "verb": "watch", "count": 1,
                              "after-events": 3})
        body, end = answer_and_end(sim, WATCH)
        assert end == "ConnectionResetError", end
        for how, expected in (("fin", "EOF without close_notify"),
                              ("rst", "ConnectionResetError")):
            with contextlib.closing(Recorder(sim)) as recorder:
                recorder.send(WATCH)
                Reader(recorder).head()
                sim.control("drop-watches", {"how": how})
                assert end_of(recorder)[1] == expected, how


def test_half_close_has_close_notify(start):
    with serving(start, "--pods", "3", "--fault",
                 "half-close,after-bytes=200,count=1") as sim:
        body, end = answer_and_end(sim, PODS)
        assert (len(body), end) == (200, "EOF")


def test_stall_and_half_open(start):
    with serving(start, "--pods", "3") as sim:
        for kind in ("stall", "half-open"):
            sim.control("fault", {"kind": kind, "verb": "watch", "count": 1,
                                  "after-events": 3})
            stream = sim.watch(WATCH)
            stream.events(3)
            sim.control("events", {"count": 3, "kind": "modify"})
            assert stream.quiet(0.3)
            stream.close()
        # A stall notices that the client left, half-open does not.
        wait_until(lambda: sim.stats()["watches"]["open"] == 1,
                   "a watch is open")


def test_split_into_records(start):
    with serving(start, "--pods", "2") as sim:
        recorder = Recorder(sim)
        plain = recorder.ask(PODS).json()
        sim.control("fault", {"kind": "split", "bytes": 7, "count": 1})
        assert recorder.ask(PODS).json() == plain
        sizes = [size for _, size in recorder.records()]
        assert len(sizes) > 1500 and max(sizes) == 7 + 1 + 16
        assert len(recorder.ask(PODS).body) and len(recorder.records()) < 5


def test_split_below_the_records(start):
    with serving(start, "--pods", "2") as sim:
        recorder = Recorder(sim)
        plain = recorder.ask(PODS).json()
        sim.control("fault", {"kind": "split", "bytes": 1000, "mode": "tcp",
                              "ms": 5, "count": 5})

        def reads():
            began = time.monotonic()
            assert recorder.ask(PODS).json() == plain
            assert len(recorder.records()) < 5
            assert time.monotonic() - began > 0.04
            return recorder.reads

        found = one_of(reads, lambda sizes: len(sizes) >= 6)
        assert len(found) >= 6 and max(found[:3]) <= 3000
        sim.control("fault", method="DELETE")
        sim.control("fault", {"kind": "split", "bytes": 1, "mode": "tcp",
                              "count": 1})
        assert recorder.ask(PODS).json() == plain
        assert recorder.ask(PODS).json() == plain
        assert len(recorder.reads) < 5


def test_split_below_records_without_tls(start):
    sim = start("--pods", "1", "--object-bytes", "1100", "--fault",
                "split,mode=tcp,bytes=300,ms=20,count=1")
    began = time.monotonic()
    assert len(sim.get(PODS).json()["items"]) == 1
    assert time.monotonic() - began > 0.06


def test_other_faults(start):
    with serving(start, "--pods", "3") as sim:
        for rule, check in (
                ({"kind": "status", "code": 429}, lambda x: x.status == 429),
                ({"kind": "truncate", "after-bytes": 3000},
                 lambda x: len(x.body) == 3000),
                ({"kind": "split", "mode": "chunks", "bytes": 99},
                 lambda x: len(x.json()["items"]) == 3),
                ({"kind": "header-bomb", "bytes": 300000},
                 lambda x: len(str(x.header_list)) > 290000),
                ({"kind": "delay", "ms": 50}, lambda x: x.status == 200),
                ({"kind": "stall", "after-bytes": 5000, "ms": 50},
                 lambda x: len(x.json()["items"]) == 3)):
            sim.control("fault", {**rule, "count": 1})
            assert check(sim.get(PODS)), rule


def test_records_are_full(start):
    """A long answer is not sent in a record for each of its pieces."""
    with serving(start, "--replay", "--pods", "400", "--replay-events",
                 "2000") as sim:
        recorder = Recorder(sim)
        body = recorder.ask(PODS).body
        sizes = [size for kind, size in recorder.records()
                 if kind == APPLICATION_DATA]
        assert len(sizes) < len(body) / 16384 + 20
        assert max(sizes) == 16384 + 1 + 16


def test_replay_is_the_same_as_without_tls(start):
    options = ["--replay", "--pods", "3000", "--replay-events", "3000",
               "--object-bytes", "5400"]
    with serving(start, *options) as sim:
        plain = start(*options)
        assert sim.get(PODS).body == plain.get(PODS).body
        path = f"{WATCH}&resourceVersion=3001"
        both = sim.watch(path), plain.watch(path)
        for _ in range(3000):
            assert both[0].chunk() == both[1].chunk()


def test_many_connections(start):
    with serving(start, "--pods", "20", "--churn", "200") as sim:
        streams = [sim.watch(WATCH) for _ in range(40)]
        for stream in streams:
            stream.events(40)
        for i, stream in enumerate(streams):
            if i % 2:
                stream.close()
        for stream in streams[::2]:
            stream.events(20)
        control = sim.stats()
        assert control["watches"]["started"] == 40


def test_stop_in_every_state(start):
    """Nothing is left behind: the address sanitizer watches the exit."""
    with serving(start, "--pods", "2000") as sim:
        silent = sim.connect_plain()
        begun = sim.connect_plain()
        begun.sendall(b"\x16\x03\x01\x01\x00\x01\x00")
        told = sim.connect_plain()
        told.sendall(b"GET / HTTP/1.1\r\n\r\n")
        idle = sim.connect()
        full = sim.connect()  # more to send than its client takes
        full.sendall(request_bytes("GET", PODS) * 8)
        watch = Stream(sim, WATCH)
        wait_until(lambda: sim.stats()["bytesSent"] > 100000, "nothing sent")
        sim.stop()
        for sock in (silent, begun, told, idle, full, watch.sock):
            sock.close()
