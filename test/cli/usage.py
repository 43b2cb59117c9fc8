# SPDX-License-Identifier: MIT
"""The command line: what is refused, and what is asked of the server."""

import os
import shutil
import socket
import tempfile

from harness import (WAIT_S, Program, Scripted, check, check_equal, pod_list)

NOWHERE = "http://127.0.0.1:1"
EMPTY = pod_list([], 7)

# Arguments, and what standard error has to name.
REFUSED = [
    ([], "RESOURCE"),
    (["pods", "configmaps", "--server", NOWHERE], "configmaps"),
    (["pods", "--server", NOWHERE, "--nonsense"], "--nonsense"),
    (["pods", "--server", "127.0.0.1:1"], "http://"),
    (["pods", "--server", "me:password@host:1"], "--server: needs https://"),
    (["pods", "--server", "unix://"], '--server: "unix://" is no'),
    (["pods", "--server", "unix:///s", "--token", "t"], "--token needs an https://"),
    (["pods", "--server", "http://"], '--server: "http://" is no'),
    (["pods", "--server", "http://127.0.0.1:99999"], 'server: "http://127.0.0.1:99999" is no'),
    (["pods", "--server"], "--server needs a value"),
    (["pods", "--server", NOWHERE, "-n"], "-n needs a value"),
    (["pods", "--server", NOWHERE, "--once=1"], "--once takes no value"),
    (["pods", "--server", NOWHERE, "--all-namespaces=1"],
     "--all-namespaces takes no value"),
    (["pods", "--server", NOWHERE, "--s"], "--s: no such option, or short for"),
    (["pods", "--server", NOWHERE, "-x"], "-x: no such option"),
    (["pods", "--server", NOWHERE, "-A", "-n", "a"], "-n and -A"),
    (["pods", "--server", NOWHERE, "-n", "a", "-n", "a"], "-n a is given twice"),
    (["pods", "--server", NOWHERE, "-n", ""], "-n"),
    # Neither asks the server first, nor reads a file.
    *[([word, *more, *wrong], named)
      for word in ("pods", "po")
      for more in (["--server", NOWHERE], ["--kubeconfig", "/nope"])
      for wrong, named in [
          (["-n", "a/b"], '-n: "a/b" is no namespace'),
          (["-n", "Bad_NS"], '-n: "Bad_NS" is no namespace'),
          (["-n", "n" * 254], "is no namespace"),
          (["-n", ".."], '-n: ".." is no namespace'),
          (["-l", "x" * 65537], "-l: over 64 KiB"),
          (["--field-selector", "x" * 65537], "--field-selector: over 64 KiB"),
          (["--fields", "/a" * 300], "--fields: "),
          (["--fields", "/" + "a" * 66000], "--fields: "),
          (["--index", "/a" * 300, "--by", "a"], '--index: "/a/a/'),
          ([x for i in range(1100) for x in ("-n", f"n{i}")], "-n: "),
          (["--as", "a\tb"], "--as or --as-group: "),
          (["--as", " x"], "--as or --as-group: "),
          (["--as", "x", "--as-group", " g"], "--as or --as-group: "),
          (["--as", "x" * 66000], "--as or --as-group: over 64 KiB")]],
    *[(["pods", *more, *wrong], named)
      for more in (["--server", "https://127.0.0.1:1"],
                   ["--kubeconfig", "/nope"])
      for wrong, named in [
          (["--tls-server-name", "a b"], "--tls-server-name: "),
          (["--token", "x" * 66000], "--token: over 64 KiB")]],
    (["pods", "--server", NOWHERE, "--index", "/a"], "--by"),
    (["pods", "--server", NOWHERE, "--by", "a"], "--index"),
    (["pods", "--server", NOWHERE, "--index", "a", "--by", "a"], "--index a"),
    (["pods", "--server", NOWHERE, "--fields", "/a,b"], "--fields b"),
    (["pods", "--server", NOWHERE, "--fields", "/a~2"], "--fields /a~2"),
    (["pods", "--server", NOWHERE, "-o", "yaml"], "-o yaml"),
    (["pods", "--server", NOWHERE, "--resync", "-1"], "--resync -1"),
    (["pods", "--server", NOWHERE, "--resync", "1.2345"], "--resync 1.2345"),
    (["pods", "--server", NOWHERE, "--resync", "0.999"],
     "0 for never, or 1 to 4294967"),
    (["pods", "--server", NOWHERE, "--resync", "4294968"], "--resync 4294968"),
    (["pods", "--server", NOWHERE, "--timeout", "0"], "--timeout 0"),
    (["pods", "--server", NOWHERE, "--timeout", "1s"], "--timeout 1s"),
    (["pods", "--server", NOWHERE, "--timeout", "."], "--timeout ."),
    (["pods", "--server", NOWHERE, "--timeout", "1000000001"],
     "above 0 and up to 1000000000"),
    (["pods", "--server", NOWHERE, "--shard", "3"], "--shard 3"),
    (["pods", "--server", NOWHERE, "--shard", "2/2"], "--shard 2/2"),
    (["pods", "--server", NOWHERE, "--shard", "0/4097"], "--shard 0/4097"),
    (["pods", "--server", NOWHERE, "--max-bytes", "0"], "--max-bytes 0"),
    (["pods", "--server", NOWHERE, "--max-bytes", "Ki"], "--max-bytes Ki"),
    (["pods", "--server", NOWHERE, "--max-bytes", "1Ti"], "--max-bytes 1Ti"),
    (["pods", "--server", NOWHERE, "--max-bytes", "-1"], "--max-bytes -1"),
    (["pods", "--server", NOWHERE, "--max-bytes", "17179869184Gi"],
     "1 to 18446744073709551615, such as"),
    (["pods", "--server", NOWHERE, "--max-bytes", "1Mi", "--on-max-bytes", "die"],
     "--on-max-bytes die"),
    (["pods", "--server", NOWHERE, "--on-max-bytes", "stop"],
     "--on-max-bytes needs --max-bytes"),
    (["pods", "--server", NOWHERE, "--page-size", "x"], "--page-size x"),
    (["pods", "--server", NOWHERE, "--page-size", "2147483648"], "--page-size"),
    (["pods", "--server", NOWHERE, "--exit-after", "0"], "--exit-after 0"),
    (["pods", "--server", NOWHERE, "--exit-after", "18446744073709551616"],
     "1 to 18446744073709551615"),
    (["pods", "--server", NOWHERE, "--once", "--exit-after", "1"], "--once"),
    (["pods", "--server", NOWHERE, "--show-object", "-o", "table"],
     "--show-object"),
    (["nodes", "--server", NOWHERE, "-n", "a"], "nodes have no namespace"),
    (["pods.", "--server", NOWHERE], "plural"),
    (["-pods", "--server", NOWHERE], "-p"),
    (["", "--server", NOWHERE], "plural"),
    (["a/b/c", "--server", NOWHERE], "one '/'"),
    (["pods/", "--server", NOWHERE], "/"),
    (["pods", "--kubeconfig"], "--kubeconfig needs a value"),
    (["pods", "--context", ""], "--context needs a name"),
    (["pods", "--server", NOWHERE, "--as-group", ""], "--as-group needs"),
    (["pods", "--compact=tiny"], "neither fast nor small"),
    (["pods", "--server", NOWHERE, "--fields", "/spec",
      "--keep-managed-fields"], "name it there"),
    (["pods", "--server", NOWHERE, "--metadata-only", "--fields",
      "/metadata/name,/spec/a"],
     "--fields /spec/a: --metadata-only does not"),
    *[(["pods", "--server", NOWHERE, "--fields", f"/a,{field}"],
       f"--fields {field}: has a *") for field in ("/spec/*", "/*/a", "/a/*/b")],
    *[(["pods", "--server", NOWHERE, "--by", "a", *more, "--index", pointer],
       f"--index {pointer}: {named}") for more, pointer, named in [
           (["--fields", "/spec/a,/status"], "/spec/ab", "--fields has to"),
           (["--fields", "/spec/a"], "/spec", "--fields has to"),
           (["--fields", "/spec/0/a"], "/spec/*/a", "--fields has to"),
           (["--metadata-only"], "/spec/nodeName", "--metadata-only does not"),
           (["--max-bytes", "1Mi", "--on-max-bytes", "drop"], "/spec/nodeName",
            "--on-max-bytes drop leaves"),
           ([], "/metadata/managedFields/0/manager",
            "needs --keep-managed-fields")]],
]


def test_refused(programs):
    for arguments, named in REFUSED:
        with Program([programs.kinformer, *arguments]) as p:
            status, output, error = p.wait()
        what = f"kinformer {' '.join(arguments)}"
        check_equal(status, 2, f"exit status of {what}, saying {error!r}")
        check_equal(output, b"", f"standard output of {what}")
        check(named.encode() in error, f"{what} says {error!r}, not {named}")
        check(b" \n" not in error, f"{what} says {error!r}, with a blank")


def test_help_and_version(programs):
    with Program([programs.kinformer, "--help"]) as p:
        text = p.expect_end(0)
    for option in (b"--field-selector", b"--exit-after", b"widgets.v1.example.com",
                   b"Exit status"):
        check(option in text, f"--help does not have {option}")
    check(max(map(len, text.splitlines())) <= 80, "--help has a long line")
    with Program([programs.kinformer, "--version"]) as p:
        check(p.expect_end(0).startswith(b"kinformer 0."), "--version")
    # Without a buffer the first write fails, and not the last one.
    unbuffered = ["stdbuf", "-o0"] if shutil.which("stdbuf") else []
    preloaded = {"ASAN_OPTIONS": "detect_leaks=1:verify_asan_link_order=0"}
    for option in ("--help", "--version"):
        for before in ([], unbuffered):
            with open("/dev/full", "wb") as full, \
                    Program([*before, programs.kinformer, option], stdout=full,
                            env=preloaded) as p:
                p.expect_end(1, b"kinformer: standard output: "
                                b"no space left on device\n")


def test_watch_list(programs):
    """WL-01, WL-02, WL-07: asked for once, unless it is switched off."""
    path = "/api/v1/pods"
    with Scripted({path: [EMPTY]}) as server:
        def once(*more):
            with Program([programs.kinformer, "pods", "-A", "--once", "--server",
                          server.url, *more]) as p:
                p.expect_end(0)
        once("--no-watch-list")
        check_equal(server.refused, [])
        once()
        [(asked, query, _)] = server.refused
        check_equal(asked, path)
        check(300 <= int(query.pop("timeoutSeconds")) <= 600, "timeoutSeconds")
        check_equal(query, {
            "watch": "true", "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan"})


def requests_of(programs, path, *arguments):
    """What `--once` asks a server that has nothing at that path, and no
    discovery."""
    with Scripted({path: [EMPTY]}) as server:
        with Program([programs.kinformer, *arguments, "--once",
                      "--server", server.url]) as p:
            p.expect_end(0)
        asked = [r for r in server.requests if r[0] not in ("/api", "/apis")]
        check_equal(asked[0][0], path, f"path of {arguments}")
        return asked


def test_resource_names(programs):
    # RESOURCE, further arguments, the path that is listed.
    for resource, more, path in [
            ("pods", [], "/api/v1/namespaces/default/pods"),
            ("pods", ["-A"], "/api/v1/pods"),
            ("pods", ["-n", "team-a"], "/api/v1/namespaces/team-a/pods"),
            ("pods.v1", ["-A"], "/api/v1/pods"),
            ("nodes", [], "/api/v1/nodes"),
            ("deployments", ["-A"], "/apis/apps/v1/deployments"),
            ("deployments.apps", [],
             "/apis/apps/v1/namespaces/default/deployments"),
            ("horizontalpodautoscalers.autoscaling", ["-A"],
             "/apis/autoscaling/v2/horizontalpodautoscalers"),
            ("horizontalpodautoscalers.v1.autoscaling", ["-A"],
             "/apis/autoscaling/v1/horizontalpodautoscalers"),
            ("clusterroles.rbac.authorization.k8s.io", [],
             "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
            ("widgets.v2beta10.example.com", ["-A"],
             "/apis/example.com/v2beta10/widgets"),
            ("v1.v1.v1", ["-A"], "/apis/v1/v1/v1"),
    ]:
        requests_of(programs, path, resource, *more)


def test_request_options(programs):
    path = "/api/v1/pods"
    _, query, headers = requests_of(
        programs, path, "pods", "-A", "-l", "app=a b,tier!=c&d",
        "--field-selector", "spec.nodeName=n/1", "--no-watch-list",
        "--page-size", "7")[0]
    check_equal(query.get("labelSelector"), "app=a b,tier!=c&d")
    check_equal(query.get("fieldSelector"), "spec.nodeName=n/1")
    check_equal(query.get("limit"), "7")
    check(headers["User-Agent"].startswith("kinformer/"), "User-Agent")
    _, query, _ = requests_of(programs, path, "pods", "-A")[0]
    check_equal(query.get("limit"), "500")
    _, query, _ = requests_of(programs, path, "pods", "-A",
                              "--page-size", "0")[0]
    check("limit" not in query, "--page-size 0 still has a limit")
    _, _, headers = requests_of(programs, path, "pods", "-A",
                                "--metadata-only")[0]
    check("as=PartialObjectMetadataList" in headers["Accept"],
          f"--metadata-only accepts {headers['Accept']}")


def test_server_prefix(programs):
    path = "/clusters/a/api/v1/pods"
    with Scripted({path: [EMPTY]}) as server:
        with Program([programs.kinformer, "pods", "-A", "--once", "--server",
                      f"{server.url}/clusters/a/"]) as p:
            p.expect_end(0)
        check_equal(server.requests[0][0], path)


def test_unix_socket(programs):
    with tempfile.TemporaryDirectory() as folder, \
            socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "socket")
        listener.bind(path)
        listener.listen()
        listener.settimeout(WAIT_S)
        with Program([programs.kinformer, "pods", "-A", "--once",
                      "--no-watch-list", "--server", f"unix://{path}"]) as p:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as request:
                check(request.readline().startswith(b"GET /api/v1/pods?"), "target")
                while request.readline() != b"\r\n":
                    pass
                connection.sendall(b"HTTP/1.1 200 OK\r\n"
                                   b"Content-Type: application/json\r\n"
                                   b"Connection: close\r\n"
                                   b"Content-Length: %d\r\n\r\n%s" %
                                   (len(EMPTY), EMPTY))
                check(b'"synced"' in p.expect_end(0), "in sync")
