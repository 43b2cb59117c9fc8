# SPDX-License-Identifier: MIT
"""TLS, tokens, and that each refusal says which check it was.

Proves, from outside: TR-01 (own authority as the only trust, system roots, name
override, contradictions), KC-07 (nothing secret to an http server), AU-01 and
AU-02 (token files; sooner after a 401, as this program has it), AU-04.
"""

import functools
import json
import pathlib
import signal
import socket
import ssl
import threading
import time
import warnings

from certificates import Certificates
from harness import (Discreet, Program, Scripted, Simulator, check,
                     check_equal, pod, pod_list, status_body, until)
from simulated import fold

PODS = "/api/v1/namespaces/default/pods"
LIST = pod_list([pod("a", 5)], 10)

SECRET = "eyJhbGciOiJub25lIn0.c2VjcmV0LXRva2Vu.aW4tbm8tb3V0cHV0"
MENDED = "eyJhbGciOiJub25lIn0.bWVuZGVkLXRva2Vu.aW4tbm8tb3V0cHV0"

# From a connection to the error line about it. Far below the 10 s of the shortest
# time limit that might tell of it instead; a busy machine may stand still for some
# seconds.
AT_ONCE_S = 5.0


@functools.cache
def certificates():
    made = Certificates()
    made.good = made.signed("good")
    return made


def finish():
    if certificates.cache_info().currsize:
        certificates().close()


# No token, nor what looks like one.
SECRETS = (SECRET, MENDED, "Bearer")


def follow(programs, url, *arguments):
    return Discreet([programs.kinformer, "pods", "--server", url, *arguments],
                    SECRETS)


def trusting(programs, server, *arguments):
    return follow(programs, server.url, "--certificate-authority",
                  certificates().authority, *arguments)


def good_server(answers):
    return Scripted({PODS: answers}, certificates().server(certificates().good))


def command_line(p):
    return pathlib.Path(f"/proc/{p.pid}/cmdline").read_bytes()


def expect_synced(p):
    check_equal(p.until("synced")["objects"], 1)
    p.interrupt()


def expect_error(p, server, error_class, *words, status=0):
    """The first line is this error, in time; returns it."""
    line = p.next_event()
    elapsed_s = time.monotonic() - server.accepted[0]
    check_equal((line["event"], line["class"], line["status"]),
                ("error", error_class, status), str(line))
    for word in words:
        check(word in line["message"], f"no {word!r} in {line['message']!r}")
    check(elapsed_s < AT_ONCE_S, f"{elapsed_s:.3f} s until {line}")
    check(0 < line["retryInMs"] <= 60000, str(line))
    return line


# ---- a good server


def test_whole_story(programs):
    """What plain HTTP does, and the token in every request."""
    with good_server([LIST]) as server, \
            trusting(programs, server, "--token", SECRET) as p:
        check_equal(p.next_event()["event"], "add")
        check_equal(p.next_event()["event"], "synced")
        server.push("MODIFIED", pod("a", 11))
        check_equal(p.next_event()["resourceVersion"], "11")
        server.end_watch()
        until(lambda: len(server.requests) >= 3, "another request")
        p.interrupt()
        for _, _, headers in server.requests:
            check_equal(headers["Authorization"], f"Bearer {SECRET}")


def test_many_objects(programs):
    """Records, chunks and items that do not end together."""
    body = pod_list([pod(f"pod-{i:05}", i + 1, note="x" * (i % 7000))
                     for i in range(2000)], 5000)
    with good_server([body]) as server, \
            trusting(programs, server, "--exit-after", "1000") as p:
        check_equal(p.until("synced")["objects"], 2000)
        for i in range(1000):
            server.push("MODIFIED", pod(f"pod-{i:05}", 6000 + i,
                                        note="y" * (i * 13 % 20000)))
        versions = [json.loads(line)["resourceVersion"]
                    for line in p.expect_end(0).splitlines()]
        check_equal(sorted(versions), [str(6000 + i) for i in range(1000)])


def test_session_is_resumed(programs):
    reused = []

    def answer(handler):
        reused.append(handler.connection.session_reused)
        handler.close_connection = True
        handler.answer(*((500, b"") if len(reused) < 3 else (200, LIST)))

    with good_server([answer]) as server, trusting(programs, server) as p:
        expect_synced(p)
    check_equal(reused, [False, True, True])


def test_name_is_sent(programs):
    """SNI: a name, never an address; --tls-server-name in its place."""
    server_certificate = certificates().signed(
        "named", "DNS:localhost,DNS:other.example,IP:127.0.0.1")
    for host, more, expected in [
            ("localhost", [], "localhost"),
            ("127.0.0.1", [], None),
            ("127.0.0.1", ["--tls-server-name", "other.example"],
             "other.example")]:
        names = []
        context = certificates().server(server_certificate)
        context.sni_callback = lambda _, name, __, to=names: to.append(name)
        with Scripted({PODS: [LIST]}, context) as server, \
                follow(programs, f"https://{host}:{server.port}",
                       "--certificate-authority", certificates().authority,
                       *more) as p:
            expect_synced(p)
        check_equal(names[0], expected, f"name sent for {host} {more}")


def test_only_http_1_1_is_offered(programs):
    """A server that prefers HTTP/2 must not choose it."""
    context = certificates().server(certificates().good)
    context.set_alpn_protocols(["h2", "http/1.1"])
    chosen = []

    def answer(handler):
        chosen.append(handler.connection.selected_alpn_protocol())
        handler.answer(200, LIST)

    with Scripted({PODS: [answer]}, context) as server, \
            trusting(programs, server) as p:
        expect_synced(p)
    check_equal(chosen, ["http/1.1"])


def test_system_certificates(programs):
    """Without an authority, SSL_CERT_FILE says whom the system trusts."""
    with good_server([LIST]) as server, \
            Discreet([programs.kinformer, "pods", "--server", server.url],
                     SECRETS,
                     env={"SSL_CERT_FILE": certificates().authority}) as p:
        expect_synced(p)


def test_end_without_close_notify(programs):
    """A body that ends with its connection is whole only if TLS says so."""
    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: "
                            b"application/json\r\n\r\n" + LIST)
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    def whole(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: "
                            b"application/json\r\n\r\n" + LIST)
        handler.close_connection = True
        handler.connection.unwrap()

    with good_server([cut, whole]) as server, trusting(programs, server) as p:
        line = p.next_event()
        check_equal(line["event"], "error", str(line))
        expect_synced(p)


def test_churn_is_legal(programs):
    """As over plain HTTP, with kin-apisim, its token and watches that break."""
    made = certificates()
    with Simulator(programs.apisim, "--pods", "100", "--churn", "500",
                   "--token", SECRET, "--tls-cert", made.good, "--tls-key",
                   made.key_of(made.good), "--fault",
                   "cut,verb=watch,how=fin,after-events=150") as server, \
            follow(programs, server.url, "-A", "--certificate-authority",
                   made.authority, "--token", SECRET, "--exit-after",
                   "600") as p:
        lines = p.expect_end(0).splitlines()
    errors = [line for line in lines if b'"event":"error"' in line]
    check(all(b'"class":"connect"' in line for line in errors), str(errors))
    state = fold(line for line in lines if line not in errors)
    check(state, "nothing was added")


# ---- who the server is


def test_untrusted(programs):
    made = certificates()
    own = made.self_signed("own")
    for certificate, arguments, word in [
            # From another authority than the one that was named.
            (made.good, ["--certificate-authority", made.stranger],
             "issuer CN=authority"),
            # From one the system does not know.
            (made.good, [], "issuer CN=authority"),
            # From nobody but itself.
            (own, ["--certificate-authority", made.authority], "issuer CN=own"),
    ]:
        with Scripted({PODS: [LIST]}, made.server(certificate)) as server, \
                follow(programs, server.url, "--token", SECRET,
                       *arguments) as p:
            expect_error(p, server, "tls", "not trusted", word)
            check_equal(server.requests, [])
            p.interrupt()


def test_other_name(programs):
    for name, names, arguments, words in [
            ("name", "DNS:other.example", [],
             ["other.example", "not 127.0.0.1"]),
            ("address", "IP:127.0.0.2", [], ["127.0.0.2", "not 127.0.0.1"]),
            ("nameless", None, [], ["names no host", "127.0.0.1"]),
            ("good", None, ["--tls-server-name", "third.example"],
             ["127.0.0.1, localhost", "not third.example"])]:
        made = certificates()
        certificate = made.good if name == "good" else made.signed(name, names)
        with Scripted({PODS: [LIST]}, made.server(certificate)) as server, \
                trusting(programs, server, "--token", SECRET, *arguments) as p:
            expect_error(p, server, "tls", "certificate", *words)
            check_equal(server.requests, [])
            p.interrupt()
    with Scripted({PODS: [LIST]},
                  certificates().server(certificates().path("name.crt"))) \
            as server, trusting(programs, server, "--tls-server-name",
                                "other.example") as p:
        expect_synced(p)


def test_wrong_time(programs):
    made = certificates()
    for certificate, words in [
            (made.signed("old", start="20200101000000Z",
                         end="20210203040506Z"),
             ["expired", "2021-02-03T04:05:06Z"]),
            (made.signed("early", start="20490101000000Z",
                         end="20500101000000Z"),
             ["not valid before", "2049-01-01T00:00:00Z"])]:
        with Scripted({PODS: [LIST]}, made.server(certificate)) as server, \
                trusting(programs, server, "--token", SECRET) as p:
            expect_error(p, server, "tls", *words)
            check_equal(server.requests, [])
            p.interrupt()


def test_replaced_certificate(programs):
    """The server is mended; the program finds out by itself."""
    made = certificates()
    expired = made.signed("expired", start="20200101000000Z",
                          end="20210101000000Z")
    context = made.server(expired)
    with Scripted({PODS: [LIST]}, context) as server, \
            trusting(programs, server) as p:
        expect_error(p, server, "tls", "expired")
        context.load_cert_chain(made.good, made.key_of(made.good))
        expect_synced(p)


def test_replaced_authority(programs):
    """So is a file of ours."""
    made = certificates()
    good = pathlib.Path(made.authority).read_bytes()
    wrong = pathlib.Path(made.stranger).read_bytes()
    for name, content, words in [
            ("bundle-missing.crt", None, ["file", "bundle-missing.crt: "]),
            ("bundle-odd.crt", b"no certificate\n", ["bundle-odd.crt"]),
            ("bundle-empty.crt", b"", ["not trusted"]),
            ("bundle-wrong.crt", wrong, ["not trusted"])]:
        path = made.path(name)
        if content is not None:
            made.write(name, content)
        with good_server([LIST]) as server, \
                follow(programs, server.url, "--certificate-authority",
                       path) as p:
            line = p.next_event()
            check_equal((line["event"], line["class"]), ("error", "tls"),
                        str(line))
            for word in words:
                check(word in line["message"], str(line))
            made.write(name, good)
            expect_synced(p)


def test_insecure(programs):
    """Anybody will do, and it is said aloud."""
    made = certificates()
    with Scripted({PODS: [LIST]}, made.server(made.self_signed(
            "anybody", "DNS:other.example"))) as server, \
            follow(programs, server.url, "--insecure-skip-tls-verify",
                   "--token", SECRET, "--once") as p:
        p.until("synced")
        status, _, error = p.wait()
        check_equal(status, 0)
        check_equal(error.count(b"\n"), 1, str(error))
        check(b"WARNING: --insecure-skip-tls-verify" in error, str(error))
        check_equal(server.requests[0][2]["Authorization"], f"Bearer {SECRET}")


# ---- no TLS, or an old one


def test_old_tls(programs):
    context = certificates().server(certificates().good)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1_1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
    except (ValueError, ssl.SSLError):
        return  # this Python has no TLS that is old enough
    with Scripted({PODS: [LIST]}, context) as server, \
            trusting(programs, server, "--token", SECRET) as p:
        expect_error(p, server, "tls", "TLS 1.")
        p.interrupt()


class Raw:
    """A listener that answers whatever comes with the same bytes."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.accepted = []
        self.received = []
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted.append(time.monotonic())
            with connection:
                try:
                    self.received.append(connection.recv(65536))
                    connection.sendall(self._answer)
                except OSError:
                    pass


def test_plain_server(programs):
    """https:// on a port where plain HTTP is spoken."""
    for answer, words in [
            (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
             ["does not speak TLS", "plain HTTP"]),
            (b"SSH-2.0-OpenSSH_9.2\r\n", ["does not speak TLS"])]:
        with Raw(answer) as server, follow(
                programs, f"https://127.0.0.1:{server.port}", "--token",
                SECRET) as p:
            expect_error(p, server, "tls", *words)
            p.interrupt()
    with Scripted({PODS: [LIST]}) as server, follow(
            programs, f"https://127.0.0.1:{server.port}", "--token",
            SECRET) as p:
        expect_error(p, server, "tls", "does not speak TLS")
        p.interrupt()


def test_once_with_a_wrong_scheme(programs):
    """https:// for plain HTTP, and http:// for TLS: --once ends after the second
    try."""
    go = (b"HTTP/1.0 400 Bad Request\r\n\r\n"
          b"Client sent an HTTP request to an HTTPS server.\n")
    plain = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
    for scheme, answer, words in (("http", go, b"speaks TLS"),
                                  ("https", plain, b"does not speak TLS")):
        with Raw(answer) as server, \
                follow(programs, f"{scheme}://127.0.0.1:{server.port}",
                       "--once") as p:
            status, _, error = p.wait()
        check_equal(status, 1, str(error))
        check(words in error, str(error))


def test_tls_server(programs):
    """http:// on a port where TLS is spoken: an alert, an end, or, from Go, a
    sentence."""
    go = (b"HTTP/1.0 400 Bad Request\r\n\r\n"
          b"Client sent an HTTP request to an HTTPS server.\n")
    alert = b"\x15\x03\x01\x00\x02\x02\x46"
    for answer in (go, alert):
        with Raw(answer) as server, \
                follow(programs, f"http://127.0.0.1:{server.port}") as p:
            expect_error(p, server, "tls", "speaks TLS", "https://")
            p.interrupt()
    with good_server([LIST]) as server, \
            follow(programs, f"http://127.0.0.1:{server.port}") as p:
        # One with OpenSSL says nothing at all: there is no more to be known.
        expect_error(p, server, "connect", "closed the connection before it")
        p.interrupt()


# ---- who we are


class Guarded(Scripted):
    """Lets in who brings a token, which can change."""

    def __init__(self, token, refusal=None):
        self.token = token
        self._refusal = refusal or (401, status_body(
            401, "Unauthorized", "Unauthorized"))
        super().__init__({PODS: [self._check]},
                         certificates().server(certificates().good))

    def _check(self, handler):
        if handler.headers["Authorization"] == f"Bearer {self.token}":
            handler.answer(200, LIST)
        else:
            handler.answer(*self._refusal)


def test_unauthorized(programs):
    """The server comes to accept the token."""
    with Guarded(MENDED) as server, \
            trusting(programs, server, "--token", SECRET) as p:
        expect_error(p, server, "auth", "pods", status=401)
        server.token = SECRET
        expect_synced(p)


def test_token_file_mended(programs):
    """A 401 makes it read the file again, long before it would be due."""
    made = certificates()
    path = made.write("token-wrong", SECRET.encode() + b"\n")
    with Guarded(MENDED) as server, \
            trusting(programs, server, "--token-file", path) as p:
        expect_error(p, server, "auth", status=401)
        made.write("token-wrong", b"\n  " + MENDED.encode() + b"\n")
        expect_synced(p)
    check_equal([headers["Authorization"].removeprefix("Bearer ")
                 for _, query, headers in server.requests][-1], MENDED)


def test_once_without_a_token(programs):
    """Without a token, --once ends after the second try, with one line."""
    path = certificates().path("token-never")
    with Guarded(MENDED) as server, \
            trusting(programs, server, "--once", "--token-file", path) as p:
        status, _, error = p.wait()
        check_equal(status, 1)
        check_equal(error.count(b"\n"), 1, str(error))
        check(b"token-never: " in error, str(error))
        check_equal(server.requests, [])


def test_once_without_a_certificate(programs):
    """The same without a certificate, a key or an authority. A server that is
    not trusted may be so in a moment, so it is waited for."""
    made = certificates()
    key = made.write("key-garbage", b"no key\n")
    missing = made.path("missing")
    with Guarded(MENDED) as server:
        for arguments, named in (
                (["--certificate-authority", missing], b"missing: no such"),
                (["--client-certificate", missing, "--client-key", missing],
                 b"missing: no such"),
                (["--client-certificate", made.authority, "--client-key", key], b"key-garbage: ")):
            with Program([programs.kinformer, "pods", "--once", "--server",
                          server.url, *arguments]) as p:
                status, _, error = p.wait()
            check_equal(status, 1, str(error))
            check_equal(error.count(b"\n"), 1, str(error))
            check(named in error, str(error))
        with Program([programs.kinformer, "pods", "--once", "--timeout", "3",
                      "--server", server.url]) as p:
            check_equal(p.wait()[0], 3)
        check_equal(server.requests, [])


def test_no_token(programs):
    """A file that holds none, until it does."""
    made = certificates()
    for name, content, word in [("token-missing", None, "token-missing: "),
                                ("token-empty", b" \n", "empty"),
                                ("token-odd", SECRET.encode() + b" more\n",
                                 "something else than a token")]:
        path = made.path(name)
        if content is not None:
            made.write(name, content)
        with Guarded(MENDED) as server, \
                trusting(programs, server, "--token-file", path) as p:
            line = p.next_event()
            check_equal((line["event"], line["class"], line["status"]),
                        ("error", "auth", 0), str(line))
            check(word in line["message"] and name in line["message"],
                  str(line))
            check_equal(server.requests, [])
            made.write(name, MENDED.encode())
            expect_synced(p)


def test_token_and_token_file(programs):
    """The file beats the token once it could be read; until then the token is
    used."""
    made = certificates()
    readable = made.write("token-right", MENDED.encode())
    for path, expected in [(readable, MENDED),
                           (made.path("token-nowhere"), SECRET)]:
        with Guarded(expected) as server, \
                trusting(programs, server, "--token", SECRET, "--token-file",
                         path) as p:
            check_equal(p.next_event()["event"], "add")
            expect_synced(p)


def test_forbidden(programs):
    refusal = (403, status_body(
        403, "Forbidden", 'pods is forbidden: User "u" cannot list resource'))
    with Guarded(MENDED, refusal) as server, \
            trusting(programs, server, "--token", SECRET) as p:
        line = expect_error(p, server, "forbidden", "cannot list", status=403)
        check_equal(line["reason"], "Forbidden")
        server.token = SECRET
        expect_synced(p)


def test_client_certificate(programs):
    made = certificates()
    us = made.signed("us", None)
    intruder = made.signed("intruder", None, authority="stranger")
    context = made.server(made.good)
    context.load_verify_locations(made.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context.maximum_version = version
        for arguments, words in [
                # In TLS 1.2 the alert is that of any failure.
                ([], ["asks for a client certificate"
                      if version is ssl.TLSVersion.TLSv1_3
                      else "refuses the handshake"]),
                (["--client-certificate", intruder, "--client-key",
                  made.key_of(intruder)], ["refuses the client certificate"]),
                (["--client-certificate", us, "--client-key",
                  made.key_of(intruder)], ["key"]),
                (["--client-certificate", made.path("no.crt"), "--client-key",
                  made.key_of(us)], ["client certificate file", "no.crt: "])]:
            with Scripted({PODS: [LIST]}, context) as server, \
                    trusting(programs, server, *arguments) as p:
                line = p.next_event()
                check_equal((line["event"], line["class"]), ("error", "tls"),
                            f"{version} {arguments} {line}")
                for word in words:
                    check(word in line["message"], str(line))
                check_equal(server.requests, [])
                p.interrupt()
        with Scripted({PODS: [LIST]}, context) as server, \
                trusting(programs, server, "--client-certificate", us,
                         "--client-key", made.key_of(us)) as p:
            expect_synced(p)


# ---- the token is told to nobody


def test_process_list(programs):
    for arguments in (["--token", SECRET], [f"--token={SECRET}"],
                      ["--token", MENDED, "--token", SECRET]):
        with good_server([LIST]) as server, \
                trusting(programs, server, *arguments) as p:
            p.until("synced")
            line = command_line(p)
            check(SECRET.encode() not in line and MENDED.encode() not in line,
                  f"the token is in {line!r}")
            check(b"--token" in line and b"--server" in line, str(line))
            check_equal(server.requests[0][2]["Authorization"],
                        f"Bearer {SECRET}")
            p.interrupt()


def test_other_outputs(programs):
    """Errors in a table and statistics tell no more than lines of JSON do."""
    with Guarded(MENDED) as server, \
            trusting(programs, server, "--token", SECRET, "-o", "table",
                     "--stats") as p:
        until(lambda: "auth 401" in p.next_line().decode(), "an error")
        p.send(signal.SIGINT)
        status, _, error = p.wait()
        check_equal(status, 0)
        check_equal(json.loads(error)["scopes"][0]["lastErrorClass"], "auth")


def test_refused(programs):
    made = certificates()
    plain = ["pods", "--server", "http://127.0.0.1:1"]
    secure = ["pods", "--server", "https://127.0.0.1:1"]
    for arguments, named in [
            ([*plain, "--token", SECRET], "--token needs an https:// server"),
            ([*plain, "--token-file", "f"],
             "--token-file needs an https:// server"),
            ([*plain, "--certificate-authority", made.authority],
             "--certificate-authority needs an https:// server"),
            ([*plain, "--client-certificate", "f", "--client-key", "g"],
             "--client-certificate needs an https:// server"),
            ([*plain, "--client-key", "g"],
             "--client-key needs an https:// server"),
            ([*plain, "--tls-server-name", "a"],
             "--tls-server-name needs an https:// server"),
            ([*plain, "--insecure-skip-tls-verify"],
             "--insecure-skip-tls-verify needs an https:// server"),
            (["--token", SECRET, *plain], "--token needs an https:// server"),
            ([*secure, "--certificate-authority", "f",
              "--insecure-skip-tls-verify"], "exclude each other"),
            ([*secure, "--client-certificate", "f"], "need each other"),
            ([*secure, "--client-key", "f"], "need each other"),
            ([*secure, "--token", ""], "--token needs a token"),
            ([*secure, "--token-file", ""], "--token-file needs"),
            ([*secure, "--certificate-authority="],
             "--certificate-authority needs"),
            ([*secure, "--client-certificate="], "--client-certificate needs"),
            ([*secure, "--client-key="], "--client-key needs"),
            ([*secure, "--tls-server-name="], "--tls-server-name needs"),
            ([*secure, "--tls-server-name", "a/b"],
             "kinformer: --tls-server-name: is neither"),
            ([*secure, "--token", SECRET + "\n"], "visible ASCII"),
            ([*secure, "--token", f"Bearer {SECRET}"], "one word"),
            ([*secure, "--token", "Bearer", SECRET], "one word"),
            ([*secure, f"--tok={SECRET}"], "--tok: no such option"),
            ([*secure, f"--tokne={SECRET}"], "--tokne: no such option"),
            ([*secure, "--token"], "--token needs a value"),
            ([*secure, f"--insecure-skip-tls-verify={SECRET}"],
             "--insecure-skip-tls-verify takes no value"),
    ]:
        with Discreet([programs.kinformer, *arguments], SECRETS) as p:
            status, output, error = p.wait()
            what = f"kinformer {' '.join(arguments)}"
            check_equal(status, 2, f"exit status of {what}, saying {error!r}")
            check_equal(output, b"", f"standard output of {what}")
            check(named.encode() in error, f"{what} says {error!r}, not {named}")
