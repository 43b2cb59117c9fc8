# SPDX-License-Identifier: MIT
"""The example `endpoints`: the file is right, always whole, and never made of
half a list."""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import tempfile
import threading
import urllib.parse

from examples import write
from harness import (Program, Scripted, Simulator, check, check_equal,
                     pod_list, status_body, until)

PATH = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
WHOLE = re.compile(
    r"(upstream [a-z-]+ \{\n(  server (\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+"
    r"(; # [a-z0-9-]*| down;)\n)+\}\n)+")
NONE = "  server 127.0.0.1:1 down;\n"
HTTP = {"name": "http", "port": 8080, "protocol": "TCP"}
ADMIN = {"name": "", "port": 9090}


def endpoint(address, name=None, **conditions):
    ours = {"addresses": [address], "conditions": conditions}
    if name:
        ours["targetRef"] = {"kind": "Pod", "name": name}
    return ours


def slice_of(service, name, endpoints, ports=(HTTP,), **more):
    kind = "IPv6" if endpoints and ":" in endpoints[0]["addresses"][0] else "IPv4"
    return {"metadata": {"name": name, "namespace": "shop", **more,
                         "labels": {"kubernetes.io/service-name": service}},
            "addressType": kind, "endpoints": endpoints,
            "ports": list(ports) if ports else None}


def block(name, *servers):
    lines = "".join(f"  server {server}\n" for server in servers)
    return f"upstream {name} {{\n{lines or NONE}}}\n"


class Slices:
    """A program that follows services of kin-apisim, and its file."""

    def __init__(self, programs, server, folder, *ports):
        self.file = folder / "upstreams.conf"
        self.url = server.url + PATH
        self.program = Program(
            [programs.endpoints, server.url, "shop", str(self.file), *ports])

    def put(self, value, method="PUT"):
        name = value["metadata"]["name"]
        write(self.url if method == "POST" else f"{self.url}/{name}",
              method, value)

    def create(self, value):
        self.put(value, "POST")

    def delete(self, name):
        write(f"{self.url}/{name}", "DELETE")

    def expect(self, *blocks):
        """The next file has these blocks."""
        check_equal(self.program.next_line(), f"{self.file}: new".encode())
        check_equal(self.file.read_text(), "".join(blocks), "file")

    def end(self):
        """Returns what was printed and not read."""
        self.program.send(signal.SIGTERM)
        rest = self.program.expect_end(-signal.SIGTERM)
        check_equal([p.name for p in self.file.parent.iterdir()],
                    [self.file.name], "folder")
        return rest


@contextlib.contextmanager
def followed(programs, *ports, before=()):
    with Simulator(programs.apisim) as server, \
            tempfile.TemporaryDirectory(prefix="kinformer-cli-") as name:
        namespaces = server.url + "/api/v1/namespaces"
        write(namespaces, "POST", {"metadata": {"name": "shop"}})
        for value in before:
            write(server.url + PATH, "POST", value)
        slices = Slices(programs, server, pathlib.Path(name), *ports)
        with slices.program:
            yield slices


def test_endpoints(programs):
    before = [slice_of("web", "web-1", [endpoint("10.0.0.2", "b"),
                                        endpoint("10.0.0.1", "a", ready=True)]),
              slice_of("other", "other-1", [endpoint("10.0.9.9", "z")])]
    with followed(programs, "web:http", "api", before=before) as s:
        s.expect(block("web-http", "10.0.0.1:8080; # a", "10.0.0.2:8080; # b"),
                 block("api"))
        # Slices are created: of another port, and of none that is known.
        s.create(slice_of("api", "api-1", [endpoint("10.0.1.1")], (HTTP, ADMIN)))
        web = block("web-http", "10.0.0.1:8080; # a", "10.0.0.2:8080; # b")
        s.expect(web, block("api", "10.0.1.1:9090; # "))
        # One is changed: an endpoint is not ready, another one has come.
        s.put(slice_of("web", "web-1", [endpoint("10.0.0.1", "a", ready=False),
                                        endpoint("10.0.0.3", "c", ready=None),
                                        endpoint("10.0.0.2", "b")]))
        web = block("web-http", "10.0.0.2:8080; # b", "10.0.0.3:8080; # c")
        s.expect(web, block("api", "10.0.1.1:9090; # "))
        # What is deleted is gone; a service without slices keeps its block.
        s.delete("api-1")
        s.expect(web, block("api"))
        s.delete("web-1")
        s.expect(block("web-http"), block("api"))
        check_equal(s.end(), b"")


def test_endpoints_of_several_slices(programs):
    """Merged, sorted, and each once, in one spelling."""
    with followed(programs, "web:http") as s:
        s.expect(block("web-http"))
        s.create(slice_of("web", "web-2", [endpoint("10.0.0.2", "b"),
                                           endpoint("10.0.0.1", "a")]))
        s.expect(block("web-http", "10.0.0.1:8080; # a", "10.0.0.2:8080; # b"))
        # An endpoint moves: it is in both slices, and ready in one of them.
        s.create(slice_of("web", "web-1", [endpoint("10.0.0.3", "c"),
                                           endpoint("10.0.0.2", "b", ready=False),
                                           endpoint("10.0.0.1", "a")]))
        all_ = ["10.0.0.1:8080; # a", "10.0.0.2:8080; # b", "10.0.0.3:8080; # c"]
        s.expect(block("web-http", *all_))
        s.create(slice_of("web", "web-6", [
            endpoint("FD00:0::2", "b"), endpoint("fd00::2", "b"),
            endpoint("fd00::1", "a")]))
        six = ["[fd00::1]:8080; # a", "[fd00::2]:8080; # b"]
        s.expect(block("web-http", *all_, *six))
        # Another number of the same port, in a slice of its own.
        s.put(slice_of("web", "web-1", [endpoint("10.0.0.3", "c")],
                       [{"name": "http", "port": 8081}]))
        s.expect(block("web-http", *all_[:2], "10.0.0.3:8081; # c", *six))
        # It becomes a slice of another service: only the label changes.
        s.put(slice_of("old", "web-1", [endpoint("10.0.0.3", "c")],
                       [{"name": "http", "port": 8081}]))
        s.expect(block("web-http", *all_[:2], *six))
        check_equal(s.end(), b"")


def test_endpoints_without_a_ready_one(programs):
    """Those that serve while they terminate are used, and only they."""
    ending = endpoint("10.0.0.2", "b", ready=False, serving=True,
                      terminating=True)
    away = [endpoint("10.0.0.1", "a", ready=False),
            endpoint("10.0.0.3", "c", ready=False, serving=True),
            endpoint("10.0.0.4", "d", ready=False, terminating=True)]
    with followed(programs, "web:http",
                  before=[slice_of("web", "w", [ending, *away])]) as s:
        s.expect(block("web-http", "10.0.0.2:8080; # b"))
        s.put(slice_of("web", "w", [ending, *away, endpoint("10.0.0.5", "e")]))
        s.expect(block("web-http", "10.0.0.5:8080; # e"))
        s.put(slice_of("web", "w", away))
        s.expect(block("web-http"))
        # A service without pods: nothing is a list here.
        s.put(slice_of("web", "w", [ending]))
        s.expect(block("web-http", "10.0.0.2:8080; # b"))
        s.put({**slice_of("web", "w", None, None), "endpoints": None})
        s.expect(block("web-http"))
        check_equal(s.end(), b"")


def test_endpoints_that_are_no_addresses(programs):
    """What a slice has gets into the file as an address only."""
    bad = [endpoint("example.com", "a"), endpoint("10.0.0.1; evil", "b"),
           endpoint("fe80::1%1;}\nevil", "c"), endpoint("010.0.0.1", "d"),
           endpoint("1" * 100, "e"), endpoint("", "f"),
           {"addresses": []}, {"addresses": None}, {},
           {"addresses": ["10.0.0.7"], "conditions": None,
            "targetRef": {"name": "x\n}\nevil"}}]
    ports = [{"name": "none", "port": None}, {"name": "zero", "port": 0},
             {"name": "big", "port": 70000}, {"name": "text", "port": "80"}, HTTP]
    with followed(programs, *(f"web:{port['name']}" for port in ports),
                  before=[slice_of("web", "w", bad, ports)]) as s:
        # The zone of an address is left out; an address alone is enough.
        s.expect(*(block(f"web-{port['name']}") for port in ports[:-1]),
                 block("web-http", "10.0.0.7:8080; # ", "[fe80::1]:8080; # c"))
        check_equal(s.end(), b"")


def grow(url, count):
    """Replaces a slice that many times, each time by one with an endpoint
    more, on one connection."""
    server = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    endpoints = []
    for i in range(count):
        endpoints.append(endpoint(f"10.0.{i}.1", f"pod-{i}"))
        server.request("PUT", f"{PATH}/w",
                       json.dumps(slice_of("web", "w", endpoints)),
                       {"Content-Type": "application/json"})
        answer = server.getresponse()
        answer.read()
        check_equal(answer.status, 200)
    server.close()


def test_endpoints_burst(programs):
    """A hundred changes make few files, each of them whole."""
    with followed(programs, "web:http",
                  before=[slice_of("web", "w", [endpoint("10.0.0.1")])]) as s:
        s.expect(block("web-http", "10.0.0.1:8080; # "))
        texts, is_over = set(), threading.Event()

        def read():
            while not is_over.is_set():
                texts.add(s.file.read_text())

        reader = threading.Thread(target=read)
        reader.start()
        try:
            grow(s.url, 100)
            files = 1
            last = block("web-http", *sorted(f"10.0.{n}.1:8080; # pod-{n}"
                                             for n in range(100)))
            s.program.next_line()
            while s.file.read_text() != last:
                s.program.next_line()
                files += 1
        finally:
            is_over.set()
            reader.join()
        check(files <= 20, f"{files} files of 100 changes")
        for text in texts:
            check(WHOLE.fullmatch(text), f"not whole: {text!r}")
        s.end()


def test_endpoints_of_another_service(programs):
    """What changes nothing in the file makes no file."""
    with followed(programs, "web:http",
                  before=[slice_of("web", "w", [endpoint("10.0.0.1")])]) as s:
        s.expect(block("web-http", "10.0.0.1:8080; # "))
        s.create(slice_of("other", "o", [endpoint("10.0.9.9")]))
        s.put(slice_of("web", "w", [endpoint("10.0.0.1")],
                       annotations={"a": "b"}))
        s.put(slice_of("web", "w", [endpoint("10.0.0.2")]))
        s.expect(block("web-http", "10.0.0.2:8080; # "))
        check_equal(s.end(), b"")


def test_endpoints_before_the_list(programs):
    """Without a complete list the file stays: no traffic is dropped."""
    first = slice_of("web", "w", [endpoint("10.0.0.1")], resourceVersion="5")
    refusal = (500, status_body(500, "InternalError", "not yet"))
    with tempfile.TemporaryDirectory(prefix="kinformer-cli-") as name:
        file = pathlib.Path(name) / "upstreams.conf"
        old = block("web-http", "10.0.0.9:8080; # old")
        file.write_text(old)
        seen = []

        def answer(handler):
            seen.append(file.read_text())
            handler.answer(200, pod_list([first], 10))

        argv = [programs.endpoints, None, "shop", str(file), "web:http"]
        with Scripted({PATH: [refusal, refusal, answer]}) as server:
            argv[1] = server.url
            with Program(argv) as p:
                check_equal(p.next_line(), f"{file}: new".encode())
                check_equal(seen, [old])
                check_equal(file.read_text(),
                            block("web-http", "10.0.0.1:8080; # "))
                # The server goes away: its endpoints stay.
                before = len(server.requests)
                server.end_watch(PATH)
                until(lambda: len(server.requests) > before, "another watch")
                p.send(signal.SIGTERM)
                check_equal(p.expect_end(-signal.SIGTERM, None), b"")
                check(b"not yet" in p.said(), "why is not said")
                check_equal(file.read_text(),
                            block("web-http", "10.0.0.1:8080; # "))


def test_endpoints_of_a_file_that_cannot_be_written(programs):
    """It is written as soon as that is possible."""
    first = slice_of("web", "w", [endpoint("10.0.0.1")], resourceVersion="5")
    with tempfile.TemporaryDirectory(prefix="kinformer-cli-") as name, \
            Scripted({PATH: [pod_list([first], 10)]}) as server:
        folder = pathlib.Path(name) / "later"
        file = folder / "upstreams.conf"
        argv = [programs.endpoints, server.url, "shop", str(file), "web:http"]
        with Program(argv) as p:
            p.wait_for_error(b"no such file")
            folder.mkdir()
            check_equal(p.next_line(), f"{file}: new".encode())
            check_equal(file.read_text(), block("web-http", "10.0.0.1:8080; # "))
            p.send(signal.SIGTERM)
            p.expect_end(-signal.SIGTERM, None)


def test_endpoints_that_does_not_begin(programs):
    with Program([programs.endpoints, "http://127.0.0.1:1", "shop", "f"]) as p:
        p.expect_end(2, None)
    for url, namespace in (("nothing", "shop"), ("http://127.0.0.1:1", "a/b")):
        with Program([programs.endpoints, url, namespace, "f", "web"]) as p:
            status, _, said = p.wait()
            check_equal(status, 1)
            check(said.startswith(b"endpoints: "), "why is not said")
