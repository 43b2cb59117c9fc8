# SPDX-License-Identifier: MIT
"""Where kinformer is meant to do otherwise than client-go: each function here
recognises one such difference in a line of two traces. Its name stands in
clientgo-differences.txt with the reason."""

import json
import pathlib
import re
import urllib.parse

FILE = pathlib.Path(__file__).with_name("clientgo-differences.txt")
RECOGNISERS = {}  # by kind of script: [(name, function)]
ENDS = set()      # after these the two have different contents


class Line:
    """A line of a script, with what the two made of it and of those before."""

    def __init__(self, script, at, theirs, ours, all_theirs, all_ours):
        self.script = script
        self.at = at
        self.theirs = theirs
        self.ours = ours
        self.all_theirs = all_theirs
        self.all_ours = all_ours
        self.options = script[0].split(" ")[2:]
        self.operation, *self.words = script[at].split(" ")

    def before(self):
        """(operation, words, theirs, ours) of the lines before."""
        for i in range(1, self.at):
            operation, *words = self.script[i].split(" ")
            yield operation, words, self.all_theirs[i], self.all_ours[i]


def difference(name, *kinds, ends=False):
    def register(function):
        for kind in kinds:
            RECOGNISERS.setdefault(kind, []).append((name, function))
        if ends:
            ENDS.add(name)
        return function
    return register


def listed(script, at, theirs, ours, all_theirs, all_ours):
    """The name of the listed difference that this line is, or None."""
    kind = script[0].split(" ")[1]
    line = Line(script, at, theirs, ours, all_theirs, all_ours)
    for name, function in RECOGNISERS.get(kind, []):
        if function(line):
            return name
    return None


def read_reasons():
    """{name: reason} of the file."""
    reasons = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split("|", 1)
            reasons[name.strip()] = reason.strip()
    return reasons


def decode(word):
    return "" if word == "%" else urllib.parse.unquote(word)


def _key(word):
    return decode(word).split("@")[0]


def _version(word):
    return int(decode(word).split("@")[1] or 0)


# ------------------------------------------------------------ stores, caches

@difference("delete of an absent key", "store", "expiring", "push", "mutation")
def _absent(line):
    return (line.operation == "deletekey" and line.ours == "absent"
            and line.theirs.split(" ")[0] == "ok")


@difference("version of an expiring store", "expiring")
def _expiring_version(line):
    """Theirs is that of the last list, bookmark or delete, ours may be that of
    the last put."""
    last = "%"
    put = None
    for operation, words, _, _ in line.before():
        if operation in ("replace", "bookmark"):
            last, put = words[0], None
        elif operation == "delete":
            last, put = decode(words[0]).split("@")[1], None
        elif operation == "put":
            put = decode(words[0]).split("@")[1]
    return (line.operation, line.theirs, line.ours) == ("version", last, put)


def _stored(line):
    """What the store of a mutation cache has, {key: object}."""
    stored = {}
    for operation, words, _, _ in line.before():
        if operation == "put":
            stored[_key(words[0])] = words[0]
        elif operation == "delete":
            stored.pop(_key(words[0]), None)
        elif operation == "deletekey":
            stored.pop(decode(words[0]), None)
    return stored


@difference("deleted object that the store still has", "mutation")
def _tombstone_shown(line):
    return ("*cache.tombstone" in line.theirs and
            sorted(w for w in line.theirs.split(" ") if w != "*cache.tombstone")
            == [w for w in line.ours.split(" ") if w not in ("none", "")])


def _uid(word):
    return decode(word).split("@")[2]


@difference("deleted object that the store has", "mutation", ends=True)
def _deleted_in_store(line):
    ours = line.ours.split(" ")
    extra = [w for w in line.theirs.split(" ") if w and w not in ours]
    stored = _stored(line).values()
    deleted = [words[0] for operation, words, _, _ in line.before()
               if operation == "ondelete"]
    return (line.operation in ("get", "index") and extra
            and all(w in stored and any(
                _key(w) == _key(d) and
                (_uid(w) == _uid(d) or _version(w) < _version(d))
                for d in deleted) for w in extra))


@difference("write that the store has overtaken", "mutation", ends=True)
def _overtaken(line):
    ours = line.ours.split(" ")
    extra = [w for w in line.theirs.split(" ") if w and w not in ours]
    stored = _stored(line)
    return (line.operation == "index" and extra and "adds" in line.options
            and set(filter(None, ours)) <= set(line.theirs.split(" "))
            and all(_key(w) in stored
                    and _version(w) <= _version(stored[_key(w)])
                    for w in extra))


@difference("write that was read once", "mutation", ends=True)
def _own_add(line):
    """Reading a write that the store does not have forgets it."""
    if "adds" not in line.options or line.operation not in ("get", "index"):
        return False
    for i in range(1, line.at):
        operation, *words = line.script[i].split(" ")
        if operation == "get" and line.all_theirs[i] != "none":
            until = Line(line.script, i, "", "", line.all_theirs, line.all_ours)
            if decode(words[0]) not in _stored(until):
                return True
    return False


@difference("use of a write by what changes nothing", "mutation", ends=True)
def _ignored_is_no_use(line):
    """Which write goes first, where only one to three are remembered, after one
    has been looked at and has stayed as it was."""
    if not any(f"max={n}" in line.options for n in (1, 2, 3)):
        return False
    known = {}  # key: (version, uid, whether it is a deletion)
    for operation, words, _, _ in line.before():
        if operation not in ("mutation", "onput", "ondelete"):
            continue
        key, version, uid = decode(words[0]).split("@")[:3]
        version = int(version)
        old = known.get(key)
        if operation == "onput":
            if old and (version < old[0] or old[2] and uid == old[1]):
                return True
            known.pop(key, None)
            continue
        if old and operation == "ondelete":
            is_ignored = version < old[0] and uid != old[1]
        else:
            is_ignored = old and (version < old[0] or old[2] and (
                version == old[0] or uid == old[1]))
        if is_ignored:
            return True
        known[key] = (version, uid, operation == "ondelete")
    return False


@difference("heap tells that a key is there", "heap")
def _heap_exists(line):
    return (line.operation, line.theirs, line.ours) == (
        "putnew", "ok", "exists")


@difference("count below zero", "track")
def _below_zero(line):
    return (line.operation in ("uncount", "countersynced") and
            any(o == "uncount" and theirs == "error"
                for o, _, theirs, _ in line.before()))


# ------------------------------------------------------------ keys, objects

@difference("key that finds nothing", "keys")
def _strict_keys(line):
    texts = [decode(w) for w in line.words]
    if line.ours != "error":
        return False
    if line.operation == "make":
        return texts[1] == "" or "/" in texts[0] + texts[1]
    return texts[0].count("/") < 2 and "" in texts[0].split("/")[-1:] + (
        texts[0].split("/")[:1])


class _Twice(Exception):
    pass


def _no_member_twice(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise _Twice
    return dict(pairs)


@difference("object without a name", "object")
def _nameless(line):
    return line.ours == "error" and line.theirs.split(" ")[1:2] == ["%"]


@difference("half of a surrogate pair", "object")
def _lone_surrogate(line):
    return line.ours == "error" and re.search(
        r"\\ud[89a-f]..", decode(line.words[0]))


@difference("member given twice", "object")
def _member_twice(line):
    try:
        json.loads(decode(line.words[0]), object_pairs_hook=_no_member_twice,
                   strict=False)
    except _Twice:
        return True
    except ValueError:
        pass
    return False


def _parsed(line):
    try:
        return json.loads(decode(line.words[0]), strict=False)
    except ValueError:
        return None


@difference("label that is no string", "object")
def _odd_label(line):
    parsed = _parsed(line)
    metadata = parsed.get("metadata") if isinstance(parsed, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and not all(
        isinstance(v, str) for v in labels.values()) and (
            line.theirs.split(" ")[:4] == line.ours.split(" ")[:4])


@difference("object without a kind", "object")
def _kindless(line):
    parsed = _parsed(line)
    return (line.theirs == "error" and isinstance(parsed, dict)
            and not parsed.get("kind"))


@difference("number that no float holds", "object")
def _huge_number(line):
    return line.theirs == "error" and "e999" in line.words[0]


# ------------------------------------------------------------ queues

@difference("stale place in a FIFO", "fifo", ends=True)
def _stale_place(line):
    """A key that was deleted while it was queued has been added again."""
    queued = set()
    stale = set()
    for operation, words, _, ours in line.before():
        if operation in ("add", "update"):
            if _key(words[0]) in stale:
                return True
            queued.add(_key(words[0]))
        elif operation == "delete" and _key(words[0]) in queued:
            queued.discard(_key(words[0]))
            stale.add(_key(words[0]))
        elif operation == "replace":
            queued = {_key(w) for w in words[1:]}
            stale.clear()
        elif operation in ("pop", "popbatch", "drain"):
            for word in re.findall(r"\S+@\S*", ours):
                queued.discard(_key(word))
    return False


@difference("object of a second tombstone", "delta")
def _second_tombstone(line):
    theirs, ours = line.theirs.split(" "), line.ours.split(" ")
    return (line.operation in ("pop", "popbatch") and len(theirs) == len(ours)
            and all(a == b or (a.endswith(":-)") and
                               b.startswith(a.removesuffix("-)")))
                    for a, b in zip(theirs, ours)))


@difference("list that fails part way", "inorder", ends=True)
def _part_of_a_list(line):
    return "known" in line.options and any(
        o == "replace" and theirs == ours == "error"
        for o, _, theirs, ours in line.before())


# ------------------------------------------------------------ informers

FAULTS = ("drop", "error", "refuse", "compact")


def _notes(text):
    """What a handler was told, {key: [entry]}; ["="] last where a resync, or
    something like it, came."""
    return {word.split("|")[0]: [e for e in word.split("|")[1:] if e]
            for word in text.split(" ") if word}


def _since_last_log(line):
    """The operations since this handler's notes were taken last."""
    since = []
    for operation, words, _, _ in line.before():
        if operation == "log" and words == line.words:
            since = []
        else:
            since.append((operation, words))
    return since


def _has_fault(line):
    return any(o in FAULTS for o, _ in _since_last_log(line))


def _without_marks(notes):
    changes = {k: [e for e in entries if e != "="]
               for k, entries in notes.items()}
    return {k: entries for k, entries in changes.items() if entries}


@difference("relist instead of a resumption", "informer")
def _extra_marks(line):
    """Theirs lists anew, and tells of unchanged objects. The changes are the
    same."""
    return (line.operation == "log" and _has_fault(line) and
            _without_marks(_notes(line.theirs))
            == _without_marks(_notes(line.ours)))


@difference("phase of a resync", "informer")
def _resync_phase(line):
    """A resync has come to one of the two only, while the object was not there
    all the time."""
    theirs, ours = _notes(line.theirs), _notes(line.ours)
    return (line.operation == "log"
            and any(o.startswith("resync=") for o in line.options)
            and _without_marks(theirs) == _without_marks(ours)
            and all(any(e[0] in "+-" for e in theirs.get(k, []))
                    for k in {*theirs, *ours}
                    if theirs.get(k) != ours.get(k)))


def _uid(entry):
    return entry.split("@")[2]


def _joined(entries):
    """With a delete and an add of another uid as one update."""
    joined = []
    for entry in entries:
        if (joined and entry[0] == "+" and joined[-1][0] == "-"
                and joined[-1][-1] == "?" and _uid(joined[-1]) != _uid(entry)):
            entry = f"~{joined.pop()[1:-1]}>{entry[1:]}"
        joined.append(entry)
    return joined


@difference("object made again between two lists", "informer")
def _recreated(line):
    if line.operation != "log":
        return False
    ours = _without_marks(_notes(line.ours))
    joined = {k: _joined(entries) for k, entries in ours.items()}
    return joined != ours and _without_marks(_notes(line.theirs)) == joined


def _fold(entries):
    """(whether it was there, what is there now or None)"""
    first, last = entries[0], entries[-1]
    now = None if last[0] == "-" else re.split("[+>]", last.rstrip("!"), 1)
    return first[0] != "+", now and last.rstrip("!")[1:].split(">")[-1]


@difference("states between two lists", "informer")
def _passed_over(line):
    """Theirs passes over the states between two lists; ours has resumed, and
    tells of them. Both begin and end with the same."""
    if line.operation != "log" or not _has_fault(line):
        return False
    theirs = _without_marks(_notes(line.theirs))
    ours = _without_marks(_notes(line.ours))
    nothing = (False, None)
    return all(
        (_fold(theirs[k]) if k in theirs else nothing)
        == (_fold(ours[k]) if k in ours else nothing)
        for k in {*theirs, *ours})


@difference("DELETED of an unknown object", "informer")
def _unknown_deleted(line):
    if line.operation != "log":
        return False
    deleted = {_key(words[1]) for o, words in _since_last_log(line)
               if o == "event" and words[0] == "DELETED"}
    theirs = _without_marks(_notes(line.theirs))
    ours = _without_marks(_notes(line.ours))
    return deleted and all(
        theirs.get(k, []) == ours.get(k, []) or
        (decode(k) in deleted and _legal(theirs.get(k, [])) == ours.get(k, []))
        for k in {*theirs, *ours})


def _legal(entries):
    """Without the ends of objects that nobody has told of: their uid is u0."""
    return [e for e in entries if e[0] != "-" or _uid(e) != "u0"]


@difference("ADDED of an unchanged object", "informer")
def _added_again(line):
    return (line.operation == "log"
            and any(o == "event" and words[0] == "ADDED"
                    for o, words in _since_last_log(line))
            and _without_marks(_notes(line.theirs))
            == _without_marks(_notes(line.ours)))
