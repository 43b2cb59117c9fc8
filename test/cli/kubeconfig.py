# SPDX-License-Identifier: MIT
"""Which server, and as whom, from files and the environment.

Proves, from outside: KC-02 to KC-05, KC-07 and KC-10 (files, contexts, relative
paths, data, default namespace, what the command line says in their place).
"""

import base64
import json
import os
import pathlib
import tempfile

from certificates import Certificates
from harness import (Discreet, Program, Scripted, check, check_equal, pod,
                     pod_list, unix_sockets, until)

PODS = "/api/v1/namespaces/default/pods"
LIST = pod_list([pod("a", 5)], 10)
SECRET = "c2VjcmV0LW9mLWEta3ViZWNvbmZpZw"


def config(url, user=None, cluster=None, namespace=None, name="one"):
    """A kubeconfig with one context, as JSON, which is YAML too."""
    context = {"cluster": name, "user": name}
    if namespace:
        context["namespace"] = namespace
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": url,
                                                **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": context}]}


class Folder:
    """A folder for kubeconfig files, and a program that must not tell
    secrets."""

    def __init__(self, programs):
        self._programs = programs
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def write(self, name, content):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(content if isinstance(content, str)
                       else json.dumps(content))
        new.replace(path)
        return str(path)

    def program(self, *arguments, **environment):
        return Discreet([self._programs.kinformer, *arguments], [SECRET],
                        environment)


def expect_once(p):
    lines = p.expect_end(0).splitlines()
    check_equal(json.loads(lines[-1])["event"], "synced")
    return lines


def test_files_and_their_order(programs):
    """--kubeconfig before KUBECONFIG before ~/.kube/config."""
    with Folder(programs) as f, Scripted({PODS: [LIST]}) as right, \
            Scripted({PODS: [LIST]}) as wrong:
        good = f.write("good", config(right.url))
        bad = f.write("bad", config(wrong.url))
        f.write(".kube/config", config(right.url))
        for arguments, environment in [
                (["--kubeconfig", good], {"KUBECONFIG": bad}),
                ([], {"KUBECONFIG": good}),
                ([], {"KUBECONFIG": f"{f.path}/missing:{good}:{bad}"}),
                ([], {"HOME": str(f.path)})]:
            with f.program("pods", "--once", *arguments, **environment) as p:
                expect_once(p)
        check_equal(len(right.requests), 4)
        check_equal(wrong.requests, [])


def test_yaml_written_by_hand(programs):
    with Folder(programs) as f, \
            Scripted({"/api/v1/namespaces/team-a/pods": [LIST]}) as server:
        path = f.write("config", f"""\
# from a colleague
apiVersion: v1
kind: Config
preferences: {{}}
current-context: "dev"
clusters:
  - cluster:
      server: {server.url}
    name: dev-cluster
users:
- name: me
  user: {{}}
contexts:
- context: &c
    cluster: dev-cluster
    user: me
    namespace: team-a
  name: dev
- {{name: same, context: *c}}
""")
        for more in ([], ["--context", "same"]):
            with f.program("pods", "--once", *more, KUBECONFIG=path) as p:
                expect_once(p)


def test_namespace(programs):
    """That of the context, unless the command line says another."""
    with Folder(programs) as f, Scripted({
            "/api/v1/namespaces/team-a/pods": [LIST],
            "/api/v1/namespaces/team-b/pods": [LIST],
            "/api/v1/pods": [LIST], PODS: [LIST]}) as server:
        with_one = f.write("a", config(server.url, namespace="team-a"))
        without = f.write("b", config(server.url))
        for path, arguments, asked in [
                (with_one, [], "/api/v1/namespaces/team-a/pods"),
                (with_one, ["-n", "team-b"], "/api/v1/namespaces/team-b/pods"),
                (with_one, ["-A"], "/api/v1/pods"),
                (without, [], PODS)]:
            server.requests.clear()
            with f.program("pods", "--once", *arguments,
                           KUBECONFIG=path) as p:
                p.expect_end(0)
            check_equal(server.requests[0][0], asked, str(arguments))


def test_credentials(programs):
    """Data and files, relative to their kubeconfig; a token from each place."""
    made = Certificates()
    with Folder(programs) as f:
        context = made.server(made.signed("server"))
        authority = pathlib.Path(made.authority).read_bytes()
        f.write("certs/ca.crt", authority.decode())
        f.write("certs/token", SECRET + "\n")
        data = base64.b64encode(authority).decode()
        with Scripted({PODS: [LIST]}, context) as server:
            for cluster, user in [
                    ({"certificate-authority-data": data}, {"token": SECRET}),
                    ({"certificate-authority": "certs/ca.crt"},
                     {"tokenFile": "certs/token"})]:
                path = f.write("config", config(server.url, user, cluster))
                server.requests.clear()
                with f.program("pods", "--once", KUBECONFIG=path) as p:
                    expect_once(p)
                for _, _, headers in server.requests:
                    check_equal(headers["Authorization"], f"Bearer {SECRET}")
            # The scheme of a URL may be written in any case.
            upper = server.url.replace("https://", "HTTPS://")
            path = f.write("config", config(upper, user, cluster))
            server.requests.clear()
            with f.program("pods", "--once", "--token", "other", "--as", "jane",
                           "--as-group", "a", "--as-group", "b",
                           KUBECONFIG=path) as p:
                expect_once(p)
            [(_, _, headers)] = server.requests[:1]
            check_equal(headers["Impersonate-User"], "jane")
    made.close()


def test_impersonation_of_a_given_server(programs):
    made = Certificates()
    with Folder(programs) as f, Scripted(
            {PODS: [LIST]}, made.server(made.signed("server"))) as server:
        with f.program("pods", "--once", "--server", server.url,
                       "--certificate-authority", made.authority, "--token",
                       SECRET, "--as", "jane") as p:
            expect_once(p)
        check_equal(server.requests[0][2]["Impersonate-User"], "jane")
    made.close()


def test_rotation(programs):
    """A token that is replaced in the file; the old one is refused."""
    made = Certificates()
    valid = ["first"]

    def answer(handler):
        if handler.headers["Authorization"] == f"Bearer {valid[0]}{SECRET}":
            handler.answer(200, LIST)
        else:
            handler.answer(401, b"")

    with Folder(programs) as f, Scripted(
            {PODS: [answer]}, made.server(made.signed("server"))) as server:
        cluster = {"certificate-authority": made.authority}

        def write(token):
            return f.write("config", config(
                server.url, {"token": token + SECRET}, cluster))

        with f.program("pods", "--no-watch-list",
                       KUBECONFIG=write("first")) as p:
            p.until("synced")
            for token in ("second", "third"):
                valid[0] = token
                # The watch ends, and what follows is refused.
                server.lists[PODS] = [answer]
                server.push("ERROR", {"kind": "Status", "code": 410,
                                      "reason": "Expired", "message": "gone"})
                server.end_watch()
                line = p.until("error")
                while line["status"] != 401:
                    line = p.until("error")
                write(token)
                p.until("relisted")
            p.interrupt()
    made.close()


PLUGIN = """#!/bin/sh
echo '{"kind":"ExecCredential",
"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a"}}'
"""


def test_plugin_and_a_reader_that_stalls(programs):
    """XP-02: the plugin's standard error is the pipe or socket that is full
    (2>&1). A signal still ends the program."""
    many = pod_list([pod(f"pod-{i:06}", i + 1) for i in range(2000)], 2001)
    made = Certificates()
    for make in (os.pipe, unix_sockets):
        with Folder(programs) as f, Scripted(
                {PODS: [many]}, made.server(made.signed("server"))) as server:
            pathlib.Path(f.write("plugin", PLUGIN)).chmod(0o700)
            plugin = {"apiVersion": "client.authentication.k8s.io/v1",
                      "command": "./plugin", "interactiveMode": "Never"}
            path = f.write("config", config(
                server.url, {"exec": plugin},
                {"certificate-authority": made.authority}))
            reader, writer = make()
            with Program([programs.kinformer, "pods"], {"KUBECONFIG": path},
                         stdout=writer, stderr=writer) as p:
                os.close(writer)
                until(lambda: any("watch" in q for _, q, _ in server.requests),
                      "a watch")
                check_equal(os.read(reader, 1), b"{")
                p.interrupt()
            os.close(reader)
    made.close()


WRONG = [
    ("clusters: [", "config:2"),
    ("clusters: 7\n", "clusters"),
    ("current-context: x\n", "x"),
    ("- a\n", "config"),
    ("", "not in a cluster"),
]


def test_problems_are_told(programs):
    with Folder(programs) as f:
        for text, named in WRONG:
            path = f.write("config", text)
            with f.program("pods", KUBECONFIG=path) as p:
                status, output, error = p.wait()
            check_equal(status, 1, repr(text))
            check_equal(output, b"")
            check(named.encode() in error, f"{text!r}: {error!r}")
        # All of them together, and no secret.
        wrong = config("https://h", {"token": SECRET, "username": "u",
                                     "password": SECRET},
                       {"certificate-authority": "missing.crt",
                        "proxy-url": "gopher://p"})
        with f.program("pods", KUBECONFIG=f.write("config", wrong)) as p:
            status, output, error = p.wait()
        check_equal(status, 1)
        for word in (b"missing.crt", b"proxy-url", b"username"):
            check(word in error, f"no {word} in {error!r}")


def test_values_that_cannot_be_used(programs):
    """A value that no request can take ends the program at once, and is told
    by its line, without a secret."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v9", "command": "a",
              "interactiveMode": "Never"}
    with Folder(programs) as f:
        for user, cluster, field in [
                ({"token": f"{SECRET} b"}, {}, "token"),
                ({"username": "a:b"}, {}, "username"),
                ({"username": "a", "password": f"{SECRET}\n"}, {}, "password"),
                ({"as": "a\nb"}, {}, "as"),
                ({"exec": plugin}, {}, "exec.apiVersion"),
                ({}, {"tls-server-name": "a b"}, "tls-server-name")]:
            path = f.write("config", config("https://127.0.0.1:1", user, cluster))
            where = f"users[0].user.{field}: " if user else \
                f"clusters[0].cluster.{field}: "
            with f.program("pods", KUBECONFIG=path) as p:
                status, output, error = p.wait()
            check_equal((status, output), (1, b""), str(error))
            check(f"{path}:1: {where}".encode() in error, str(error))


def test_options_are_named(programs):
    """What is wrong with an option names the option of the program. An option
    that is wrong whatever the files say is status 2."""
    with Folder(programs) as f:
        path = f.write("config", config("https://127.0.0.1:1", {}))
        for expected, arguments, named in (
                (1, ["--context", "a"], b'--context: there is no context "a"\n'),
                (1, ["--cluster", "a"], b'--cluster: there is no cluster "a"\n'),
                (1, ["--user", "a"], b'--user: there is no user "a"\n'),
                (2, ["--as", "a\nb"], b"--as or --as-group: the user cannot"),
                (2, ["--as", "a", "--as-group", " "],
                 b"--as or --as-group: a group cannot"),
                (2, ["--tls-server-name", "a b"], b"--tls-server-name: is neith"),
                (1, ["--token-file", "/no"], b"--token-file: /no: there is no"),
                (1, ["--certificate-authority", "/no"],
                 b"--certificate-authority: /no: there is no"),
                (1, ["--client-certificate", "/no", "--client-key", "/nokey"],
                 b"--client-key: /nokey: there is no")):
            with f.program("pods", *arguments, KUBECONFIG=path) as p:
                status, output, error = p.wait()
            check_equal((status, output), (expected, b""), str(error))
            check(b"kinformer: " + named in error, str(error))


def test_server_of_the_file_is_plain(programs):
    """The command line is right, the file does not go with it."""
    with Folder(programs) as f:
        path = f.write("config", config("http://127.0.0.1:1"))
        with f.program("pods", "--kubeconfig", path, "--token", SECRET) as p:
            status, output, error = p.wait()
        check_equal((status, output), (1, b""), str(error))
        check(error.startswith(b"kinformer: --token needs an https:// server"),
              str(error))


def test_nothing_is_configured(programs):
    with Folder(programs) as f:
        with f.program("pods", HOME=str(f.path)) as p:
            status, _, error = p.wait()
        check_equal(status, 1)
        check(b"not in a cluster" in error and b"--server" in error, str(error))
        for arguments in (["--context", "a"], ["--kubeconfig", "f"],
                          ["--cluster", "a"], ["--user", "a"]):
            with f.program("pods", "--server", "http://127.0.0.1:1",
                           *arguments) as p:
                status, _, error = p.wait()
            check_equal(status, 2)
            check(b"exclude each other" in error, str(error))
