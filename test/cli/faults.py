# SPDX-License-Identifier: MIT
"""Against a kin-apisim that misbehaves: in the end the state is the server's.
The faults of doc/kin-apisim.md that a program can be seen to get over within
seconds."""

import contextlib
import json
import urllib.request

from harness import Program, Simulator, check, check_equal
from simulated import listed

LISTS = (
    "status,code=429,retry-after=1", "status,code=500", "status,code=503",
    "status,code=503,body=none", "status,code=504", "status,code=401",
    "status,code=403", "status,code=404", "too-large", "redirect",
    "cut,after-bytes=3000", "cut,how=fin,after-bytes=3000",
    "half-close,after-bytes=3000", "truncate,after-bytes=3000",
    "garbage,after-bytes=3000", "wrong-content-type", "until-close",
    "until-close,mode=1.1", "gzip", "gzip,bytes=1000000", "split,bytes=900",
    "ignore-limit", "odd-object", "idle-close", "header-bomb")
WATCHES = (
    "error,code=410", "error,code=410,reason=Gone", "error,code=500",
    "error,code=500,reason=StorageReadError", "error,code=429,retry-after=1",
    "error,code=504", "error,body=object", "error,body=null", "error,body=none",
    "end", "cut", "cut,how=fin,after-events=1,after-bytes=100",
    "truncate,after-events=1,after-bytes=100", "garbage,after-events=1",
    "status,code=429,retry-after=1", "status,code=503", "status,code=410",
    "until-close", "gzip", "split,bytes=900", "duplicate-events",
    "odd-object", "odd-object,mode=table", "odd-object,mode=large",
    "drop-bookmarks", "duplicate-bookmarks", "late-bookmarks")
STREAMS = (
    "status,code=422", "status,code=400", "cut,after-events=5",
    "end,after-events=5", "error,code=410,after-events=5",
    "odd-object,mode=table,after-events=5", "duplicate-events",
    "duplicate-bookmarks", "late-bookmarks", "gzip")


def apply(state, raw):
    line = json.loads(raw)
    if line["event"] in ("add", "update"):
        if line["key"] != "ns-0/odd":
            state[line["key"]] = line["resourceVersion"]
    elif line["event"] == "delete":
        state.pop(line["key"], None)
    return line["event"] == "synced"


def ask(url, path, body=None):
    with urllib.request.urlopen(url + path, body) as response:
        return response.read()


def delete_rules(url):
    with urllib.request.urlopen(urllib.request.Request(
            url + "/sim/fault", method="DELETE")) as response:
        response.read()


def get_over(programs, verb, faults, *options):
    """All at once: each waits most of the time."""
    with contextlib.ExitStack() as stack:
        runs = []
        for fault in faults:
            server = stack.enter_context(Simulator(
                programs.apisim, "--pods", "40", "--object-bytes", "1100",
                "--fault", f"{fault},verb={verb},count=2"))
            # The time includes that of all programs before it in the next loop.
            runs.append((fault, server, stack.enter_context(Program(
                [programs.kinformer, "pods", "-A", "--timeout", "300",
                 "--server", server.url, *options]))))
        for fault, server, program in runs:
            state = {}
            while not apply(state, program.next_line()):
                pass
            ask(server.url, "/sim/events", b'{"count":20}')
            struck = json.loads(ask(server.url, "/sim/fault"))[0]["applied"]
            check(struck > 0, f"{fault} has not struck")
            ask(server.url, "/sim/drop-watches", b"{}")
            delete_rules(server.url)
            truth = listed(server.url)
            while state != truth:
                apply(state, program.next_line())
            check_equal(state, truth, fault)
            program.interrupt()


def test_lists(programs):
    get_over(programs, "list", LISTS, "--no-watch-list")


def test_watches(programs):
    get_over(programs, "watch", WATCHES, "--no-watch-list")


def test_streams(programs):
    get_over(programs, "watchlist", STREAMS)
