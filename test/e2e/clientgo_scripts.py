# SPDX-License-Identifier: MIT
"""Random scripts for `./dev e2e against-client-go`, each made of one number.

A script is a list of lines: `script KIND OPTION...` and one operation a line,
in words with a blank between them. Odd bytes of a word stand as %XX, the empty
word is %. An object is KEY@VERSION@UID@VALUES.
"""

import random

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                  "0123456789._/@+-:,'()#*")
KINDS = {}


def encode(text):
    if not text:
        return "%"
    return "".join(c if c in PLAIN else
                   "".join(f"%{b:02X}" for b in c.encode())
                   for c in text)


def make(seed, number):
    """The script with that number of the run with that seed."""
    kinds = list(KINDS)
    kind = kinds[number % len(kinds)]
    rng = Random(f"{seed}/{number}")
    return KINDS[kind](rng)


def kind(function):
    KINDS[function.__name__] = function
    return function


class Random(random.Random):
    """What scripts are made of."""

    def __init__(self, seed):
        super().__init__(seed)
        self.version = 0
        self.keys = self.sample(["a", "b", "c", "x/a", "x/b", "y/a", "y/longer",
                                 "x/c"], self.randint(1, 6))

    def chance(self, percent):
        return self.randrange(100) < percent

    def key(self):
        return self.choice(self.keys)

    def values(self, bad=0):
        if bad and self.chance(bad):
            return "bad"
        return "+".join(self.choice("xyz") for _ in range(self.randint(0, 3)))

    def next_version(self):
        self.version += self.randint(0, 2)
        return self.version

    def object(self, key=None, bad=0, version=None):
        if version is None:
            version = self.next_version()
        return encode(f"{key or self.key()}@{version}@u{self.randint(1, 2)}"
                      f"@{self.values(bad)}")

    def objects(self, most, bad=0):
        keys = [self.key() for _ in range(self.randint(0, most))]
        return [self.object(k, bad) for k in keys]

    def distinct_objects(self, most, bad=0):
        count = min(len(self.keys), self.randint(0, most))
        keys = self.sample(self.keys, count)
        return [self.object(k, bad) for k in keys]

    def version_word(self):
        return encode(self.choice(["", str(self.next_version()), "x9"])
                      if self.chance(30) else str(self.next_version()))

    def some(self, *names):
        return [n for n in names if self.chance(50)]

    def script(self, head, operations, least=20, most=60):
        """`operations`: (weight, function that makes a line or several)."""
        weights = [w for w, _ in operations]
        makers = [m for _, m in operations]
        lines = [head]
        for _ in range(self.randint(least, most)):
            line = self.choices(makers, weights)[0]()
            lines += [line] if isinstance(line, str) else line
        return lines


def _contents(r, bad=0):
    """Operations that every sort of store has."""
    return [
        (12, lambda: f"put {r.object(bad=bad)}"),
        (4, lambda: f"delete {r.object()}"),
        (2, lambda: f"deletekey {encode(r.key())}"),
        (1, lambda: " ".join(["replace", r.version_word(),
                              *r.objects(4, bad)])),
        (4, lambda: f"get {encode(r.key())}"),
        (2, lambda: "list"),
        (1, lambda: "keys"),
    ]


def _transaction(r):
    words = []
    for _ in range(r.randint(0, 4)):
        what = r.choice(["put", "put", "delete", "deletekey"])
        words.append(f"{what}:{encode(r.key())}" if what == "deletekey"
                     else f"{what}:{r.object()}")
    return " ".join(["transact", *words])


@kind
def store(r):
    options = r.some("transform")
    bad = 10 if options else 0
    index = ["values", "name", "uid"]
    value = lambda: encode(r.choice(["x", "y", "z", "a", "b", "u1", "bad", ""]))
    return r.script(" ".join(["script store", *options]), [
        *_contents(r, bad),
        (2, lambda: f"addindex {r.choice(index)}"),
        (3, lambda: f"index {r.choice(index)} {value()}"),
        (2, lambda: f"indexkeys {r.choice(index)} {value()}"),
        (2, lambda: f"values {r.choice(index)}"),
        (2, lambda: f"like {r.choice(index)} {r.object()}"),
        (1, lambda: "indexes"),
        (2, lambda: "version"),
        (1, lambda: f"bookmark {r.version_word()}"),
        (3, lambda: _transaction(r)),
    ])


@kind
def expiring(r):
    ttl = r.choice([0, 10, 100, 1000])
    return r.script(f"script expiring ttl={ttl}", [
        *_contents(r),
        (2, lambda: "version"),
        (1, lambda: f"bookmark {r.version_word()}"),
        (8, lambda: "advance "
            f"{r.choice([1, 5, 9, 10, 50, 99, 100, 101, 1000])}"),
    ])


@kind
def push(r):
    return r.script("script push", _contents(r), 10, 30)


@kind
def mutation(r):
    # Seldom both, as on_put changes which write goes for another one.
    most, on_puts = r.choice([(0, 3), (0, 6), (1, 0), (2, 0), (3, 0), (2, 8)])
    options = r.some("adds") + [f"ttl={r.choice([0, 100, 1000])}",
                                f"max={most}"]
    old = lambda: r.object(version=max(0, r.version - r.randint(0, 6)))
    return r.script(" ".join(["script mutation", *options]), [
        (6, lambda: f"put {r.object()}"),
        (2, lambda: f"delete {r.object()}"),
        (1, lambda: f"deletekey {encode(r.key())}"),
        (8, lambda: f"mutation {r.object()}"),
        (on_puts, lambda: f"onput {old()}"),
        (3, lambda: f"ondelete {old()}"),
        (8, lambda: f"get {encode(r.key())}"),
        (4, lambda: f"index {r.choice('xyz')}"),
        (4, lambda: "advance "
            f"{r.choice([1, 50, 99, 100, 101, 999, 1001, 300001])}"),
    ])


def _queue(r, name, options, replace):
    bad = 8 if "transform" in options else 0
    has_known = "known" in options
    result = lambda: "fail" if r.chance(10) else "ok"

    def know():
        key = r.key()
        what = r.choice(["-", "!"]) if r.chance(15) else r.object(key)
        return f"know {encode(key)} {what}"

    def tombstone():
        key = r.key()
        return f"tombstone {encode(key)} " + (
            "-" if r.chance(30) else r.object(key))

    return [
        (8, lambda: f"add {r.object(bad=bad)}"),
        (8, lambda: f"update {r.object(bad=bad)}"),
        (5, lambda: f"delete {r.object(bad=bad)}"),
        (3 if name != "fifo" else 0, tombstone),
        (3, replace),
        (2, lambda: "resync"),
        (1, lambda: f"bookmark {r.version_word()}"),
        (12, lambda: f"pop {result()}"),
        (5 if name == "inorder" else 1, lambda: f"popbatch {result()}"),
        (8, lambda: "synced"),
        (0.3, lambda: "close"),
        (6 if has_known else 0, know),
        (2 if has_known else 0, lambda: f"forget {encode(r.key())}"),
    ]


def _plain_replace(r, bad=0):
    return lambda: " ".join(
        ["replace", r.version_word(), *r.distinct_objects(4, bad)])


@kind
def fifo(r):
    # The order after a list is that of a Go map: what it left is drained.
    replace = lambda: [_plain_replace(r)(), "drain"]
    return r.script("script fifo", _queue(r, "fifo", [], replace))


@kind
def delta(r):
    options = r.some("known", "replaced", "transform")
    bad = 5 if "transform" in options else 0
    return r.script(" ".join(["script delta", *options]),
                    _queue(r, "delta", options, _plain_replace(r, bad)))


@kind
def inorder(r):
    options = r.some("transform") + (
        ["known"] if r.chance(60) else r.some("bookmarks"))
    bad = 5 if "transform" in options else 0
    return r.script(" ".join(["script inorder", *options]),
                    _queue(r, "inorder", options, _plain_replace(r, bad)))


@kind
def heap(r):
    key = lambda: r.choice("abcdefgh")
    item = lambda: f"{key()} {r.randint(-3, 9)}"
    return r.script("script heap", [
        (8, lambda: f"put {item()}"),
        (4, lambda: f"putnew {item()}"),
        (2, lambda: " ".join(["putall",
                              *(item() for _ in range(r.randint(0, 4)))])),
        (3, lambda: f"delete {key()}"),
        (8, lambda: "pop"),
        (3, lambda: f"get {key()}"),
        (2, lambda: "list"),
        (1, lambda: "keys"),
        (0.3, lambda: "close"),
        (1, lambda: "closed"),
    ])


@kind
def track(r):
    return r.script("script track", [
        (6, lambda: f"start {r.choice('abc')}"),
        (7, lambda: f"finish {r.choice('abc')}"),
        (0.7, lambda: "upstream"),
        (6, lambda: "synced"),
        (5, lambda: "count"),
        (4, lambda: "uncount"),
        (0.7, lambda: "counterupstream"),
        (6, lambda: "countersynced"),
    ])


@kind
def lazy(r):
    return r.script("script lazy", [
        (10, lambda: "get"),
        (4, lambda: "notify"),
        (2, lambda: f"fail {r.choice(['on', 'off'])}"),
    ], 10, 25)



KEY_PARTS = ["a", "b-1", "x.y", "/", "/", "", "A_b", "é", " "]


@kind
def keys(r):
    part = lambda: r.choice(["", "a", "ns", "x.y-z", "a/b", "é", "/"])
    return r.script("script keys", [
        (3, lambda: "split " + encode("".join(
            r.choice(KEY_PARTS) for _ in range(r.randint(0, 4))))),
        (2, lambda: f"make {encode(part())} {encode(part())}"),
    ])


LABEL_KEYS = ["app", "tier", "n", "example.com/role", "in", "notin", "x_y", "0"]
LABEL_VALUES = ["", "web", "db", "5", "10", "09", "in", "a.b-c_d", "A",
                "9223372036854775807"]
ODD_VALUES = ["-3", "+7", "a-", "-a", "a/b", "é", "x y", "9" * 20, "1" * 64,
              "0" * 62 + "1", "0" * 63 + "1", "1.5", "a" * 63, "a" * 64, "_",
              "9223372036854775808", "0x1", "1_0", "\"", "a'b"]
ODD_KEYS = ["/a", "a/", "a/b/c", "A.b/c", "a..b/c", "-a", "a-", "a" * 64,
            "a" * 63, "b" * 253 + "/c", "b" * 254 + "/c", "é", "", "a_b/c",
            "x.Y", ".a/b", "a b", "\"app\""]
SIGNS = ["=", "==", "!=", "=!", "===", "<", ">", "<=", "!", ",", "(", ")", "in",
         "notin", " in ", " notin ", "", " ", "\t", "\n", "\v"]


def _requirement(r):
    blank = lambda: r.choice(["", "", "", " ", "  ", "\t", "\r\n"])
    key = r.choice(ODD_KEYS if r.chance(6) else LABEL_KEYS)
    value = lambda: r.choice(ODD_VALUES if r.chance(8) else LABEL_VALUES)
    b = blank
    shape = r.randrange(8)
    if shape == 0:
        return f"{b()}{key}{b()}"
    if shape == 1:
        return f"{b()}!{b()}{key}{b()}"
    if shape in (2, 3):
        sign = r.choice(["=", "==", "!="])
        return f"{b()}{key}{b()}{sign}{b()}{value()}{b()}"
    if shape in (4, 5):
        values = ",".join(f"{b()}{value()}{b()}"
                          for _ in range(r.randint(1, 3)))
        return f"{b()}{key} {r.choice(['in', 'notin'])}{b()}({values}){b()}"
    return f"{b()}{key}{b()}{r.choice('<>')}{b()}{value()}{b()}"


def _selector_text(r):
    if r.chance(15):  # anything
        return "".join(r.choice(LABEL_KEYS + LABEL_VALUES + SIGNS + SIGNS)
                       for _ in range(r.randint(0, 7)))
    text = ",".join(_requirement(r) for _ in range(r.randint(0, 3)))
    if text and r.chance(15):  # one byte goes, or comes
        at = r.randrange(len(text))
        text = text[:at] + r.choice(["", r.choice(SIGNS)]) + text[at + 1:]
    return text


@kind
def selector(r):
    def match():
        labels = r.sample(LABEL_KEYS, r.randint(0, 4))
        value = lambda: r.choice(LABEL_VALUES + ["-3", "+7", "1.5"])
        return " ".join(["match", *(f"{encode(k)}={encode(value())}"
                                    for k in labels)])

    return r.script("script selector", [
        (6, lambda: "parse " + encode(_selector_text(r))),
        (6, match),
        (1, lambda: "everything"),
        (0.3, lambda: "nothing"),
    ], 30, 80)


STRINGS = ['"a"', '"b-1"', '"\\u0061x"', '"\\ud83d\\ude00"', '"é"', '""',
           '"x\\ty"', '"\\/"', '"a\\\\"']
ODD_STRINGS = ['"\\ud800"', '"\\udc00x"', '"\\ud800\\u0041"', '"\\x41"', '"a',
               'null', '5', 'true', '{}', '[]', '"\x01"', '"\\u00"']
LABELS_ASKED = " ".join(map(encode, ["a", "b-1", "ax", "é", "/", ""]))
NUMBERS = ["0", "-1", "1.5", "1e3", "-21e999", "1E-400", "01", "+1", ".5",
           "9223372036854775808", "-0", "1.", "NaN"]


def _json_object(r):
    """An object of an API, with now and then something odd in it."""
    string = lambda: r.choice(ODD_STRINGS if r.chance(4) else STRINGS)
    blank = lambda: r.choice(["", "", "", " ", "\n\t"])
    labels = [f'{r.choice(STRINGS)}:{string()}' for _ in range(r.randint(0, 3))]
    metadata = [('"name"', string())]
    for name in ("namespace", "uid", "resourceVersion"):
        if r.chance(70):
            metadata.append((f'"{name}"', string()))
    if r.chance(60):
        metadata.append(('"labels"', "{" + ",".join(labels) + "}"))
    if r.chance(10):  # twice
        metadata.append((r.choice(metadata)[0], string()))
    if r.chance(5):
        metadata.append(('"n\\u0061me"', string()))
    r.shuffle(metadata)
    inside = ",".join(f"{blank()}{k}{blank()}:{v}" for k, v in metadata)
    members = ['"kind":"Thing"', '"apiVersion":"v1"',
               '"metadata":{' + inside + blank() + "}"]
    if r.chance(40):
        value = r.choice(NUMBERS + STRINGS) if r.chance(25) else "7"
        members.append(f'"spec":{{"n":{blank()}{value}}}')
    if r.chance(5):
        members.append(r.choice(members))
    r.shuffle(members)
    text = "{" + ",".join(members) + "}"
    if r.chance(4):
        at = r.randrange(len(text))
        text = text[:at] + r.choice(["", ",", "}", "\"", " "]) + text[at + 1:]
    return text


@kind
def object(r):  # pylint: disable=redefined-builtin
    return r.script("script object", [
        (1, lambda: f"object {encode(_json_object(r))} {LABELS_ASKED}")])


SETTLED_MS = 400000


def _faults(r):
    return r.choice([
        ["drop"], ["compact", "drop"], ["compact", "error 410"], ["error 410"],
        ["error 500"], ["error 429"], ["refuse 1 503", "drop"],
        ["refuse 2 500", "drop"], ["compact", "refuse 1 429", "drop"]])


class _World:
    """What the server of a script has."""

    def __init__(self, r):
        self._r = r
        self.objects = {}  # key: word
        self._version = 10
        self._uids = 0
        self.handlers = []
        self._joined = 0

    def change(self):
        r = self._r
        key = r.key()
        if r.chance(30):
            self._version += key in self.objects
            self.objects.pop(key, None)
            return f"remove {encode(key)}"
        values = r.values()
        self._version += 1
        if key in self.objects:
            uid = self.objects[key].split("@")[2]
        else:
            self._uids += 1
            uid = f"u{self._uids}"
        self.objects[key] = f"{key}@{self._version}@{uid}@{values}"
        return f"write {encode(key)} {encode(values)}"

    def changes(self, most):
        return [self.change() for _ in range(self._r.randint(0, most))]

    def odd_event(self):
        """What a server does not say."""
        r = self._r
        # One that is older would take the watch back to its version.
        last = [word for word in self.objects.values()
                if word.split("@")[1] == str(self._version)]
        if last and r.chance(60):
            return [f"event ADDED {encode(last[0])}"]
        absent = [key for key in r.keys if key not in self.objects]
        return ["event DELETED "
                + encode(f"{key}@{self._version}@u0@{r.values()}")
                for key in absent[:1]]

    def join(self):
        self._joined += 1
        self.handlers.append(str(self._joined))
        return " ".join(["join", self.handlers[-1], *self._r.some("filter")])

    def leave(self):
        name = self._r.choice(self.handlers)
        self.handlers.remove(name)
        return f"leave {name}"

    def looks(self):
        r = self._r
        lines = [f"run {SETTLED_MS + 37 * r.randint(1, 99)}"]
        for name in self.handlers:
            lines += [f"log {name}", f"handlersynced {name}"]
        return lines + ["list", f"index values {r.choice('xyz')}", "version",
                        "synced"]


@kind
def informer(r):
    options = r.some("transform")
    has_resync = r.chance(30)
    if has_resync:
        options.append(f"resync={r.choice([10000, 30000])}")
    is_odd = r.chance(25)  # then nothing else goes wrong
    has_faults = not is_odd and r.chance(75)
    w = _World(r)
    lines = [" ".join(["script informer", *options]), *w.changes(4)]
    lines += [w.join() for _ in range(r.randint(0, 2))]
    if has_faults and r.chance(15):
        lines.append(f"refuse {r.randint(1, 3)} {r.choice([500, 503, 429])}")
    lines += ["start", *w.changes(3)]
    for _ in range(r.randint(2, 5)):
        for _ in range(r.randint(0, 3)):
            what = r.randrange(6)
            if what == 0 and len(w.handlers) < 8:
                lines.append(w.join())
            elif what == 1 and w.handlers:
                lines.append(w.leave())
            elif what in (2, 3) and has_faults:
                lines += _faults(r)
            elif what in (2, 3) and is_odd:
                lines += w.odd_event()
            elif what == 4:
                lines.append("mark")
            elif what == 5 or has_resync:
                lines.append(f"run {r.choice([1, 100, 900, 3000, 31000])}")
            lines += w.changes(4)
        lines += w.looks()
    return lines


LOOKS = ("log", "handlersynced", "list", "index", "version", "synced")


def is_settled(script, at):
    """Whether what a line tells is to be compared: of an informer only what is
    seen after a time in which everything has come through."""
    if not script[0].startswith("script informer"):
        return True
    operation = script[at].split(" ")[0]
    while at > 0 and script[at].split(" ")[0] in LOOKS:
        at -= 1
    words = script[at].split(" ")
    return operation not in LOOKS or (
        words[0] == "run" and int(words[1]) > SETTLED_MS)
