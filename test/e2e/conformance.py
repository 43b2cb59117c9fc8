# SPDX-License-Identifier: MIT
"""Does kin-apisim answer as a real API server does?

usage: conformance.py KIN-APISIM

Run by itself it compares kin-apisim with what a real server answered when that
was last recorded, and ends with `N passed, N failed`. Run by run.py, with a
real server, it compares the two and also whether the record still holds.

The same script runs against both. For each of its steps the status, the headers
that a client acts on, the body or the frames of the watch, and how it ended
have to be equal once versions, uids, times and tokens are replaced by what
they stand for. Differences that are meant are listed in differences.txt; every
other one fails, and so does a listed one that is no more.
"""

import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import conformance_script
from process import Process

RECORD = pathlib.Path(__file__).with_name("recorded") / "conformance.json"
DIFFERENCES = pathlib.Path(__file__).with_name("differences.txt")
HEADERS = ("Content-Type", "Retry-After", "Warning")
TIMEOUT_S = 60


@dataclasses.dataclass
class Answer:
    """What one step got, normalised."""
    status: int = 0
    headers: dict = None
    body: object = None
    frames: list = None
    end: str = ""

    def parts(self):
        return dataclasses.asdict(self)


class Client:
    """Runs the script's steps against one server and records the answers."""

    def __init__(self, url, forget_history):
        self._url = urllib.parse.urlparse(url)
        self.forget_history = forget_history
        self.answers = {}
        self._queue = None  # of calls to be made together

    @contextlib.contextmanager
    def together(self):
        """Steps inside only read, so they are made all at once at its end."""
        self._queue = []
        yield
        queue, self._queue = self._queue, None
        with concurrent.futures.ThreadPoolExecutor(len(queue)) as pool:
            for running in [pool.submit(call) for call in queue]:
                running.result()

    def _reserve(self, name):
        """Names are unique, and answers stay in the order of the script."""
        assert name not in self.answers, name
        self.answers[name] = None

    def step(self, name, *arguments, **options):
        """One request; records the answer. Returns the body, decoded if JSON.

        Arguments: method, target, body=, raw=, headers=, owners=. With owners
        the object's managedFields are recorded, too.
        """
        self._reserve(name)
        if self._queue is None:
            return self._step(name, *arguments, **options)
        self._queue.append(lambda: self._step(name, *arguments, **options))
        return None

    def _step(self, name, method, target, body=None, raw=None, headers=None,
              owners=False):
        response, data = self._exchange(method, target, body, raw, headers)
        decoded = decode(data)
        answer = {"indented": data.startswith(b"{\n"),
                  "content": Normaliser([decoded]).value(decoded)}
        if owners:
            answer["owners"] = owners_of(decoded)
        self.answers[name] = Answer(response.status, headers_of(response),
                                    answer)
        return decoded if isinstance(decoded, dict) else {}

    def silent(self, method, target, body=None, headers=None):
        """One request that prepares others: it has to succeed."""
        response, data = self._exchange(method, target, body, None, headers)
        if response.status >= 300:
            raise RuntimeError(f"{self._url.netloc}: {method} {target}: "
                               f"{response.status} {data[:300]!r}")
        return json.loads(data)

    def watch(self, name, target, headers=None, after=None, then=None):
        """A watch of one second; records its frames.

        then() is called when `after` frames have come, 0 for at once.
        """
        self._reserve(name)
        if self._queue is None:
            self._watch(name, target, headers, after, then)
        else:
            self._queue.append(lambda: self._watch(name, target, headers))

    def _watch(self, name, target, headers=None, after=None, then=None):
        for parameter in ("watch=1", "timeoutSeconds=1"):
            if parameter.split("=", maxsplit=1)[0] + "=" not in target:
                target += ("&" if "?" in target else "?") + parameter
        connection = self._connection()
        frames, end, text = [], "", b""
        try:
            connection.request("GET", target, headers=headers or {})
            if after == 0:
                then()
            response = connection.getresponse()
            if response.status != 200:
                text = response.read()
            else:
                frames, end = self._frames(response, after, then)
        finally:
            connection.close()
        decoded = decode(text) if text else None
        normaliser = Normaliser([f["object"] for f in frames] + [decoded])
        self.answers[name] = Answer(
            response.status, headers_of(response), normaliser.value(decoded),
            [{"type": f["type"], "object": normaliser.value(f["object"])}
             for f in frames], end)

    @staticmethod
    def _frames(response, after, then):
        frames = []
        try:
            for frame in concatenated_json(response):
                if "type" not in frame:
                    frame = {"type": "no frame", "object": frame}
                # Bookmarks come when the server likes, except the one that
                # ends the initial events.
                if frame["type"] == "BOOKMARK" and not is_end_of_initial(frame):
                    continue
                frames.append(frame)
                if len(frames) == after:
                    then()
        except (http.client.HTTPException, OSError) as error:
            return frames, f"cut: {type(error).__name__}"
        return frames, "complete"

    def _exchange(self, method, target, body, raw, headers):
        data = json.dumps(body).encode() if body is not None else raw
        headers = dict(headers or {})
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self._connection()
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def _connection(self):
        return http.client.HTTPConnection(self._url.hostname, self._url.port,
                                          timeout=TIMEOUT_S)


def decode(data):
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "backslashreplace")


def owners_of(decoded):
    """managedFields without their times, whose order they determine."""
    entries = decoded["metadata"].get("managedFields", [])
    return sorted(({key: x for key, x in entry.items() if key != "time"}
                   for entry in entries), key=json.dumps)


def without_owners(message):
    """The object that a message quotes without its managedFields.

    The server sorts their entries by time, in whole seconds. So their order
    depends on the second in which the script applied them.
    """
    def shortened(found):
        try:
            quoted = json.loads(json.loads(found[1]))
            del quoted["metadata"]["managedFields"]
        except (ValueError, KeyError, TypeError):
            return found[0]
        text = json.dumps(quoted, separators=(",", ":"), ensure_ascii=False)
        return "Invalid value: " + json.dumps(text, ensure_ascii=False)

    return re.sub(r'Invalid value: ("\{(?:[^"\\]|\\.)*\}")', shortened, message)


def headers_of(response):
    return {name: response.getheader(name) for name in HEADERS
            if response.getheader(name) is not None}


def concatenated_json(response):
    """Yields the documents of a body, one per line or indented."""
    decoder, text = json.JSONDecoder(), ""
    for line in response:
        text += line.decode("utf-8")
        try:
            frame, end = decoder.raw_decode(text.lstrip())
        except json.JSONDecodeError:
            continue
        text = text.lstrip()[end:]
        yield frame
    if text.strip():
        raise http.client.IncompleteRead(text.encode())


def is_end_of_initial(frame):
    annotations = frame["object"]["metadata"].get("annotations") or {}
    return annotations.get("k8s.io/initial-events-end") == "true"


class Normaliser:
    """Replaces what differs from server to server by what it stands for.

    Within one answer equal uids stay equal, and the versions of objects keep
    their order.
    """

    MESSAGES = (
        (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
        (re.compile(r"too old resource version: \d+ \(\d+\)"),
         "too old resource version: <version> (<version>)"),
        (re.compile(r"(Too large resource version: \d+, current: )\d+"),
         r"\1<version>"),
        (re.compile(r"(ResourceVersion in record \()\d+"), r"\1<version>"),
        (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1<version>"),
        (re.compile(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z"), "<time>"),
    )

    def __init__(self, documents):
        versions = set()
        self._uids = {}
        for document in documents:
            self._collect(document, versions)
        self._ranks = {v: i for i, v in enumerate(sorted(versions, key=int))}

    def _collect(self, value, versions):
        if isinstance(value, list):
            for element in value:
                self._collect(element, versions)
        elif isinstance(value, dict):
            if "uid" in value and str(value.get("resourceVersion")).isdigit():
                versions.add(value["resourceVersion"])
                self._uids.setdefault(value["uid"], len(self._uids))
            for member in value.values():
                self._collect(member, versions)

    def value(self, value):
        if isinstance(value, list):
            return [self.value(element) for element in value]
        if not isinstance(value, dict):
            return value
        result = {}
        for name, member in value.items():
            if name == "metadata" and isinstance(member, dict):
                result[name] = self._metadata(member)
            elif name == "message" and isinstance(member, str):
                for pattern, stands_for in self.MESSAGES:
                    member = pattern.sub(stands_for, member)
                result[name] = without_owners(member)
            elif name == "uid":
                result[name] = "<uid>"
            else:
                result[name] = self.value(member)
        return result

    def _metadata(self, metadata):
        result = {}
        for name, member in metadata.items():
            if name == "uid":
                result[name] = f"<uid {self._uids.get(member)}>"
            elif name == "resourceVersion" and "uid" in metadata:
                result[name] = f"<version {self._ranks.get(member)}>"
            elif name == "resourceVersion":
                result[name] = "<version>" if member.isdigit() else member
            elif name == "continue":
                result[name] = "<token>"
            elif name.endswith("Timestamp"):
                result[name] = "<time>" if member else member
            elif name == "name" and "generateName" in metadata:
                result[name] = metadata["generateName"] + "<random>"
            elif name != "managedFields":
                result[name] = self.value(member)
        return result


# ---------------------------------------------------------------- comparison

def compare(cluster, program, record=False):
    """Runs the script against both; returns (passed, failed, skipped)."""
    if not program.exists():
        print("skipped conformance: kin-apisim is not built")
        return 0, 0, 1
    started = time.monotonic()

    def forget_history():
        cluster.compact()
        cluster.restart_apiserver()

    with Simulation(program, cluster.directory) as simulation:
        real = Client(cluster.proxy.url, forget_history)
        simulated = Client(simulation.url, simulation.forget_history)
        run_both(real, simulated)
    if record:
        write_record(real.answers)
    counts = judge(real.answers, simulated.answers, read_differences())
    kept = judge_record(real.answers, read_record())
    counts = tuple(a + b for a, b in zip(counts, kept))
    print(f"{'FAILED' if counts[1] else 'ok':6} conformance: "
          f"{len(real.answers)} requests ({time.monotonic() - started:.1f} s)",
          flush=True)
    return counts


def main():
    with tempfile.TemporaryDirectory() as directory:
        with Simulation(pathlib.Path(sys.argv[1]).resolve(),
                        pathlib.Path(directory)) as simulation:
            client = Client(simulation.url, simulation.forget_history)
            conformance_script.run(client)
    passed, failed, _ = judge(read_record(), client.answers, read_differences())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def write_record(answers):
    """An answer a line."""
    lines = [f"{json.dumps(name)}: "
             + json.dumps(answer.parts(), ensure_ascii=False)
             for name, answer in answers.items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_record():
    return {name: Answer(**parts) for name, parts in json.loads(
        RECORD.read_text(encoding="utf-8")).items()}


def judge_record(real, recorded):
    """One case: the recorded answers are those of the real server."""
    changed = [name for name in real.keys() | recorded.keys()
               if real.get(name) != recorded.get(name)]
    for name in sorted(changed):
        print(f"FAILED conformance: {name}: not as recorded; "
              "see run.py --record-conformance")
    return (0, 1, 0) if changed else (1, 0, 0)


class Simulation:
    """kin-apisim without data of its own."""

    def __init__(self, program, directory):
        # Children start from the main thread; see process.py.
        self._process = Process("kin-apisim", [program, "--port", "0"],
                                directory, stdout=subprocess.PIPE)
        self.url = ""

    def __enter__(self):
        for line in self._process.stdout:
            found = re.search(rb"listening on (http://\S+)", line)
            if found:
                self.url = found[1].decode()
                return self
        self._process.kill()
        raise RuntimeError("kin-apisim did not start\n"
                           + self._process.log_tail())

    def __exit__(self, *_):
        self._process.kill()
        self._process.stdout.close()

    def forget_history(self):
        client = Client(self.url, None)
        client.silent("POST", "/sim/compact", {"keep": 0})
        client.silent("POST", "/sim/restart-cache", {})


def run_both(real, simulated):
    """Each watch takes a second on either server: run them side by side."""
    problems = []

    def run(client):
        try:
            conformance_script.run(client)
        except Exception as problem:  # pylint: disable=broad-exception-caught
            problems.append(problem)

    # The real one in this thread: it restarts a process.
    other = threading.Thread(target=run, args=(simulated,))
    other.start()
    run(real)
    other.join()
    if problems:
        raise problems[0]


def read_differences():
    """(step, part) -> reason."""
    listed = {}
    for line in DIFFERENCES.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            step, part, reason = (field.strip() for field in line.split("|", 2))
            assert reason, line
            listed[step, part] = reason
    return listed


def judge(real, simulated, listed):
    passed = failed = 0
    unused = dict(listed)
    for name, answer in real.items():
        theirs, ours = answer.parts(), simulated[name].parts()
        problems = []
        for part, expected in theirs.items():
            if expected == ours[part]:
                continue
            if unused.pop((name, part), None) is None:
                problems.append(f"{part}\n         real: {shown(expected)}"
                                f"\n         sim:  {shown(ours[part])}")
        if problems:
            failed += 1
            print(f"FAILED conformance: {name}")
            for problem in problems:
                print(f"       {problem}")
        else:
            passed += 1
    for name, part in unused:
        failed += 1
        print(f"FAILED conformance: {name}: differences.txt lists {part}, "
              "which does not differ")
    return passed, failed, 0


def shown(value):
    return json.dumps(value, ensure_ascii=False)[:1500]


if __name__ == "__main__":
    sys.exit(main())
