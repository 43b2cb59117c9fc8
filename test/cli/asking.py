# SPDX-License-Identifier: MIT
"""Single requests against the simulated API server: what a controller writes,
and how the refusals are told apart."""

import json
import subprocess

from harness import Simulator, check, check_equal

MAPS = {"plural": "configmaps", "namespace": "default"}


class Answer:
    def __init__(self, head, body):
        self.code, self.status, self.reason, self.retries, self.causes, \
            self.message = head.split("\t")
        self.body = body

    def json(self):
        check_equal(self.code, "OK", self.message)
        return json.loads(self.body)

    def version(self):
        return self.json()["metadata"]["resourceVersion"]

    def expect(self, code, status, reason):
        check_equal((self.code, self.status, self.reason),
                    (code, str(status), reason), self.message)


class Asker:
    def __init__(self, program, url):
        self._process = subprocess.Popen([program, url], text=True,
                                         stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        rest = self._process.stdout.read()
        self._process.stdout.close()
        check_equal((self._process.wait(), rest), (0, ""), "the end of ask")

    def ask(self, verb, **members):
        if isinstance(members.get("body"), (dict, list)):
            members["body"] = json.dumps(members["body"])
        words = [verb] + [f"{k}={v}" for k, v in members.items()]
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        out = self._process.stdout
        head = out.readline().rstrip("\n")
        body = out.readline().rstrip("\n")
        return Answer(head, body)


def config_map(name, data, **metadata):
    return {"metadata": dict(metadata, name=name), "data": data}


def run(programs, story, *arguments):
    with Simulator(programs.apisim, *arguments) as server, \
            Asker(programs.ask, server.url) as asker:
        story(asker.ask)


def test_create_and_update(programs):
    def story(ask):
        made = ask("create", body=config_map("a", {"x": "1"}), **MAPS)
        check_equal(made.status, "201")
        first = made.version()
        ask("create", body=config_map("a", {}), **MAPS).expect(
            "KIN_EEXIST", 409, "AlreadyExists")
        changed = ask("update", name="a", body=config_map(
            "a", {"x": "2"}, resourceVersion=first), **MAPS)
        check(changed.version() != first, "no new version")
        conflict = ask("update", name="a", body=config_map(
            "a", {"x": "3"}, resourceVersion=first), **MAPS)
        conflict.expect("KIN_ECONFLICT", 409, "Conflict")
        check(conflict.message.startswith(
            "PUT /api/v1/namespaces/default/configmaps/a: "), conflict.message)
        check_equal(ask("get", name="a", **MAPS).json()["data"], {"x": "2"})
        ask("get", name="b", **MAPS).expect("KIN_ENOENT", 404, "NotFound")
        ask("get", plural="nothings").expect("KIN_ENOENT", 404, "NotFound")
        listed = ask("get", **MAPS).json()
        check_equal([item["metadata"]["name"] for item in listed["items"]],
                    ["a"])
    run(programs, story)


def test_patches(programs):
    def story(ask):
        ask("create", body=config_map("a", {"x": "1"}), **MAPS)
        merged = ask("merge", name="a", body={"data": {"y": "2", "x": None}},
                     field_manager="me", **MAPS).json()
        check_equal(merged["data"], {"y": "2"})
        patch = [{"op": "test", "path": "/data/y", "value": "2"},
                 {"op": "add", "path": "/data/z", "value": "3"}]
        check_equal(ask("json", name="a", body=patch, **MAPS).json()["data"],
                    {"y": "2", "z": "3"})
        patch[0]["value"] = "9"
        check_equal(ask("json", name="a", body=patch, **MAPS).status, "422")
        check_equal(ask("strategic", name="a", body={"data": {"z": "4"}},
                        **MAPS).json()["data"], {"y": "2", "z": "4"})
        ask("merge", name="a", body={"metadata": {"resourceVersion": "1"},
                                     "data": {"z": "5"}}, **MAPS).expect(
            "KIN_ECONFLICT", 409, "Conflict")
        ask("merge", name="b", body={}, **MAPS).expect(
            "KIN_ENOENT", 404, "NotFound")
    run(programs, story)


def test_apply(programs):
    """Managers own what they apply; another's change of that is refused."""
    def story(ask):
        def apply(manager, data, **options):
            body = dict(config_map("a", data), apiVersion="v1",
                        kind="ConfigMap")
            return ask("apply", name="a", field_manager=manager, body=body,
                       **options, **MAPS)
        check_equal(apply("me", {"x": "1"}).status, "201")
        check_equal(apply("other", {"y": "2"}).json()["data"],
                    {"x": "1", "y": "2"})
        apply("other", {"x": "3"}).expect("KIN_ECONFLICT", 409, "Conflict")
        check_equal(apply("other", {"x": "3"}, force=1).json()["data"],
                    {"x": "3"})
    run(programs, story)


def test_status_subresource(programs):
    def story(ask):
        pods = {"plural": "pods", "namespace": "default"}
        pod = {"metadata": {"name": "p"},
               "spec": {"containers": [{"name": "c", "image": "i"}]}}
        ask("create", body=pod, **pods)
        ask("merge", name="p", subresource="status",
            body={"status": {"phase": "Running"}}, **pods).json()
        check_equal(ask("get", name="p", **pods).json()["status"]["phase"],
                    "Running")
    run(programs, story)


def test_dry_run(programs):
    def story(ask):
        ask("create", body=config_map("a", {}), dry_run=1, **MAPS).json()
        ask("get", name="a", **MAPS).expect("KIN_ENOENT", 404, "NotFound")
    run(programs, story)


def test_delete(programs):
    def story(ask):
        made = ask("create", body=config_map("a", {}), **MAPS)
        uid = made.json()["metadata"]["uid"]
        ask("delete", name="a", uid="another", **MAPS).expect(
            "KIN_ECONFLICT", 409, "Conflict")
        ask("delete", name="a", at_version="1", **MAPS).expect(
            "KIN_ECONFLICT", 409, "Conflict")
        ask("delete", name="a", uid=uid, at_version=made.version(),
            propagation=2, grace_period_s=0, **MAPS).expect("OK", 200, "")
        ask("delete", name="a", **MAPS).expect("KIN_ENOENT", 404, "NotFound")
        for name in "bcd":
            ask("create", body=config_map(name, {}), **MAPS)
        ask("collection", **MAPS).expect("OK", 200, "")
        check_equal(ask("get", **MAPS).json()["items"], [])
    run(programs, story)


def test_other_paths(programs):
    def story(ask):
        check("gitVersion" in ask("get", path="/version").body, "no version")
        ask("head", path="/healthz").expect("OK", 200, "")
        # Few paths know HEAD; the next request is answered all the same.
        ask("head", path="/version").expect("KIN_ENOENT", 404, "NotFound")
        ask("get", path="/no/such/path").expect("KIN_ENOENT", 404, "NotFound")
        ask("get", path="no slash").expect("KIN_EINVAL", 0, "")
    run(programs, story)


def test_limits_of_answers(programs):
    def story(ask):
        ask("get", plural="pods", max_response_bytes=1000).expect(
            "KIN_ETOOBIG", 200, "")
        check_equal(len(ask("get", plural="pods").json()["items"]), 100)
    run(programs, story, "--pods", "100")


def test_forbidden_and_unauthorized(programs):
    def story(ask):
        ask("create", plural="secrets", namespace="default",
            body=config_map("a", {})).expect("KIN_ESTATUS", 403, "Forbidden")
    run(programs, story, "--forbid", "secrets")

    def refused(ask):
        ask("get", plural="pods").expect("KIN_ESTATUS", 401, "Unauthorized")
    run(programs, refused, "--token", "T")


def test_put_off(programs):
    def story(ask):
        answer = ask("merge", name="a", body={"data": {"x": "1"}}, **MAPS)
        answer.expect("KIN_ENOENT", 404, "NotFound")
        check_equal(answer.retries, "2")
    run(programs, story, "--fault",
        "status,verb=patch,code=429,retry-after=1,count=2")
