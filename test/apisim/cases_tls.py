# SPDX-License-Identifier: MIT
"""TLS: handshakes, certificates and what comes instead of them."""

import contextlib
import pathlib
import shutil
import socket
import ssl
import subprocess
import time

from sim import Closed, Reader, request_bytes, wait_until
from tls import Recorder, certificates, end_of, serving

PODS = "/api/v1/pods"
WATCH = "/api/v1/pods?watch=1"


# Alerts by their numbers in the protocol: OpenSSL's words for them change.
UNKNOWN_CA = 48
PROTOCOL_VERSION = 70
CERTIFICATE_REQUIRED = 116
NO_APPLICATION_PROTOCOL = 120


def failure(context, sim):
    """How a handshake, and one request after it, end: the exception, and the
    server's alerts."""
    alerts = []

    def on_message(_, direction, __, content_type, ___, data):
        if direction == "read" and content_type == ssl._TLSContentType.ALERT:
            alerts.append(data[1])

    context._msg_callback = on_message
    try:
        with sim.secure(sim.connect_plain(), context) as sock:
            sock.sendall(request_bytes("GET", "/healthz"))
            Reader(sock).response()
    except (ssl.SSLError, Closed) as error:
        return error, alerts
    finally:
        context._msg_callback = None
    raise AssertionError("no failure")


def fails(context, sim, alert):
    error, alerts = failure(context, sim)
    assert alerts == [alert], (error, alerts)


def test_handshake(start):
    with serving(start) as sim:
        with sim.connect() as sock:
            assert sock.version() == "TLSv1.3"
            assert sock.selected_alpn_protocol() is None
            sock.sendall(request_bytes("GET", "/version"))
            assert Reader(sock).response().json()["major"] == "1"


def test_lists_and_writes(start):
    with serving(start, "--pods", "300") as sim:
        assert len(sim.get(PODS).json()["items"]) == 300
        maps = "/api/v1/namespaces/default/configmaps"
        sim.create(maps, "a", data={"x": "y" * 100000})
        assert len(sim.get(f"{maps}/a").json()["data"]["x"]) == 100000


def test_watch_gets_events_at_once(start):
    with serving(start, "--pods", "5") as sim:
        stream = sim.watch(WATCH)
        assert {x["type"] for x in stream.events(5)} == {"ADDED"}
        assert stream.quiet()
        sim.control("events", {"count": 3, "kind": "modify"})
        for _ in range(3):
            assert b'"MODIFIED"' in stream.chunk()
        assert stream.quiet()


def test_connection_is_kept(start):
    with serving(start, "--pods", "20") as sim:
        with sim.connect() as sock:
            reader = Reader(sock)
            for _ in range(20):
                sock.sendall(request_bytes("GET", PODS))
                assert len(reader.response().json()["items"]) == 20
        assert sim.stats()["connections"]["accepted"] == 2


def test_pipelined_requests(start):
    with serving(start, "--pods", "3") as sim:
        with sim.connect() as sock:
            sock.sendall(request_bytes("GET", PODS) * 3000)
            reader = Reader(sock)
            for _ in range(3000):
                assert reader.response().status == 200


def test_token(start):
    with serving(start, "--token", "secret") as sim:
        assert sim.get(PODS).status == 401
        headers = {"Authorization": "Bearer secret"}
        assert sim.get(PODS, headers).status == 200


def test_alpn(start):
    with serving(start) as sim:
        sim.tls.set_alpn_protocols(["h2", "http/1.1"])
        with sim.connect() as sock:
            assert sock.selected_alpn_protocol() == "http/1.1"
        sim.tls.set_alpn_protocols(["h2"])
        fails(sim.tls, sim, NO_APPLICATION_PROTOCOL)


def versions(context, version):
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    return context


def test_versions(start):
    one_one, one_two = ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2
    with certificates() as made:
        options = made.server()
        for arguments, offered, got in (
                ([], one_two, "TLSv1.2"),
                ([], one_one, None),
                (["--tls-max-version", "1.2"], None, "TLSv1.2"),
                (["--tls-max-version", "1.1"], one_one, "TLSv1.1"),
                (["--tls-min-version", "1.1"], one_one, "TLSv1.1"),
                (["--tls-max-version", "1.1"], None, None),
                (["--tls-min-version", "1.3"], one_two, None)):
            sim = start(*options, *arguments)
            context = made.trust()
            # Whether older ones are offered is up to the system.
            context.minimum_version = one_two
            if offered:
                versions(context, offered)
            if got is None:
                fails(context, sim, PROTOCOL_VERSION)
            else:
                with sim.secure(sim.connect_plain(), context) as sock:
                    assert sock.version() == got
                    sock.sendall(request_bytes("GET", "/healthz"))
                    assert Reader(sock).response().body == b"ok"


def test_sessions_are_resumed_until_the_certificate_changes(start):
    with certificates() as made:
        sim = start(*made.server())
        context = made.trust()

        def connect(session):
            sock = context.wrap_socket(sim.connect_plain(), session=session,
                                       server_hostname="127.0.0.1")
            sock.sendall(request_bytes("GET", "/healthz"))
            assert Reader(sock).response().status == 200
            return sock
        with connect(None) as first:
            assert not first.session_reused
            session = first.session
        assert session.has_ticket
        with connect(session) as second:
            assert second.session_reused
        made.server("server")
        context.load_verify_locations(made.path("server.crt"))
        with connect(session) as third:
            assert not third.session_reused


def test_replaced_certificate(start):
    with certificates() as made:
        options = made.server()
        made.server("next")
        sim = start(*options)
        old, new = made.trust(), made.trust("next")
        sim.tls = old
        kept = sim.watch("/api/v1/configmaps?watch=1")
        assert kept.status == 200
        for suffix in (".crt", ".key"):
            temporary = made.path(f"temporary{suffix}")
            shutil.copy(made.path(f"next{suffix}"), temporary)
            pathlib.Path(temporary).rename(made.path(f"server{suffix}"))
        error, _ = failure(old, sim)
        assert isinstance(error, ssl.SSLCertVerificationError), error
        sim.tls = new
        assert sim.get("/healthz").status == 200
        sim.create("/api/v1/namespaces/default/configmaps", "a")
        assert kept.event()["type"] == "ADDED"


def test_half_replaced_certificate(start):
    """Between the two renames the old pair is served, with a complaint."""
    with certificates() as made:
        options = made.server()
        made.server("next")
        sim = start(*options)
        sim.tls = made.trust()
        shutil.copy(made.path("next.crt"), made.path("server.crt"))
        assert sim.get("/healthz").status == 200
        assert sim.get("/healthz").status == 200
        complaint = sim.errors()
        assert complaint.count("the old files stay in use") == 1, complaint
        assert "key values mismatch" in complaint
        shutil.copy(made.path("next.key"), made.path("server.key"))
        sim.tls = made.trust("next")
        assert sim.get("/healthz").status == 200
        assert sim.errors() == complaint
        sim.expect_errors(complaint)


def test_client_certificates(start):
    with certificates() as made:
        options = made.server()
        made.client("alice")
        made.client("mallory")
        sim = start(*options, "--tls-client-ca", made.path("alice.crt"))
        for name, alert in ((None, CERTIFICATE_REQUIRED),
                            ("mallory", UNKNOWN_CA), ("alice", None)):
            context = made.trust()
            if name:
                context.load_cert_chain(made.path(f"{name}.crt"),
                                        made.path(f"{name}.key"))
            if alert:
                fails(context, sim, alert)
                continue
            sim.tls = context
            assert sim.get(PODS).status == 200


def test_plain_http_is_told(start):
    with serving(start) as sim:
        told = (b"HTTP/1.0 400 Bad Request\r\n\r\n"
                b"Client sent an HTTP request to an HTTPS server.\n")
        for data in (request_bytes("GET", PODS),
                     request_bytes("POST", "/", {}), b"OPTIO",
                     request_bytes("PUT", "/x", b"y" * 500000)):
            with sim.connect_plain() as sock:
                sock.sendall(data)
                assert end_of(sock) == (told, "EOF")
        with sim.connect_plain() as sock:
            for i in range(5):
                sock.sendall(b"GET /"[i:i + 1])
            assert end_of(sock) == (told, "EOF")


def test_garbage_for_a_handshake(start):
    with serving(start) as sim:
        hello = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = sim.tls.wrap_bio(*hello, server_hostname="127.0.0.1")
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = hello[1].read()
        for data in (b"\0" * 5, b"\xff" * 100000, b"\x16\x03\x01\xff\xff" * 99,
                     b"\x16\x03\x01\x00\x00", hello[:9] + b"\xff" * 300,
                     hello[:50] + b"A" * 50 + hello[100:], hello * 2,
                     b"\x17\x03\x03\x00\x05hello",
                     b"\x15\x03\x03\x00\x02\x02\x28",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with sim.connect_plain() as sock:
                with contextlib.suppress(ConnectionError):
                    sock.sendall(data)
                    sock.shutdown(socket.SHUT_WR)
                end_of(sock)
        for cut in (0, 1, 4, 5, 6, len(hello) // 2, len(hello)):
            with sim.connect_plain() as sock:
                sock.sendall(hello[:cut])
        assert sim.get("/healthz").status == 200
        wait_until(lambda: sim.stats()["connections"]["open"] == 1,
                   "connections stay open")


def test_garbage_after_the_handshake(start):
    with serving(start, "--pods", "3") as sim:
        recorder = Recorder(sim)
        assert recorder.ask(PODS).status == 200
        recorder.sock.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
        _, end = end_of(recorder.sock)
        assert end in ("EOF", "ConnectionResetError")


def test_handshake_byte_by_byte(start):
    with serving(start, "--pods", "3") as sim:
        recorder = Recorder.__new__(Recorder)
        plain = sim.connect_plain()

        class Slow:
            recv = plain.recv

            def sendall(self, data):
                for byte in data:
                    plain.sendall(bytes([byte]))
        sim.connect_plain = Slow
        recorder.__init__(sim)
        del sim.connect_plain
        assert len(recorder.ask(PODS).json()["items"]) == 3
        plain.close()


def test_handshake_has_a_time_limit(start):
    """The only test that takes the ten seconds, for all who dawdle."""
    with serving(start) as sim:
        idle = sim.connect()
        began = time.monotonic()
        slow = [sim.connect_plain() for _ in range(3)]
        slow[1].sendall(b"\x16\x03")
        slow[2].sendall(b"\x16\x03\x01\x01\x00\x01\x00\x00")
        for sock in slow:
            assert end_of(sock) == (b"", "EOF")
            sock.close()
        assert 9 < time.monotonic() - began < 15
        idle.sendall(request_bytes("GET", "/healthz"))
        assert Reader(idle).response().status == 200
        idle.close()


def test_options_that_are_wrong(start):
    program = start().process.args[0]

    def run(*arguments):
        done = subprocess.run([program, *arguments], capture_output=True,
                              timeout=20, check=False)
        assert done.stdout == b"" and done.stderr.count(b"\n") == 1, done
        return done.returncode, done.stderr.decode()
    with certificates() as made:
        cert, crt, key, pem = made.server()
        made.server("other")
        both = [cert, crt, key, pem]
        empty = pathlib.Path(made.path("empty"))
        empty.write_bytes(b"")
        locked = made.path("locked")
        subprocess.run(["openssl", "ec", "-in", pem, "-aes128", "-passout",
                        "pass:x", "-out", locked], capture_output=True,
                       check=True)
        for arguments, words in (
                ([cert, crt], "need each other"),
                ([key, pem], "need each other"),
                (["--tls-client-ca", crt], "need --tls-cert"),
                (["--tls-max-version", "1.2"], "need --tls-cert"),
                ([*both, "--tls-max-version", "1.0"], "out of range"),
                ([*both, "--tls-max-version", "1.4"], "out of range"),
                ([*both, "--tls-max-version", "1.2", "--tls-min-version",
                  "1.3"], "above"),
                ([cert, made.path("none"), key, pem],
                 f"--tls-cert {made.path('none')}: "),
                ([cert, str(empty), key, pem], "--tls-cert"),
                ([cert, crt, key, crt], "--tls-key"),
                ([cert, crt, key, locked], "--tls-key"),
                ([cert, crt, key, made.path("other.key")],
                 f"--tls-key {made.path('other.key')}: "),
                ([*both, "--tls-client-ca", str(empty)], "--tls-client-ca"),
                ([*both, "--tls-client-ca", made.path("none")],
                 "--tls-client-ca")):
            status, error = run(*arguments)
            assert status == 2 and words in error, (arguments, error)
