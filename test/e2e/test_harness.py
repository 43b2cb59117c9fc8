#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the harness notice? Runs without any server, on recorded lines.

recorded/lines.jsonl is what was printed while four config maps were listed,
changed, deleted, cut off from, and listed again; recorded/truth.json is the
server's own list at its end. As recorded nothing may be objected to; each test
spoils one thing, and exactly that has to be found. test_bounds.py does the same
to when things are said, and to what never may be; test_chaos.py to what a round
of chaos has to find. Both run from here.
"""

import collections
import copy
import json
import pathlib
import sys
import unittest

from asked import LIST, PAGE, STREAM, VERIFY, WATCH, asked_by_kinformer
from conformance import Answer, Normaliser, judge
from fold import Fold, difference, exact
import test_bounds
import test_chaos

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import summary  # noqa: E402  pylint: disable=wrong-import-position

RECORDED = pathlib.Path(__file__).with_name("recorded")


class Recording(unittest.TestCase):
    def setUp(self):
        self.lines = [json.loads(line) for line in (
            RECORDED / "lines.jsonl").read_text("utf-8").split("\n") if line]
        self.truth = {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}": item
            for item in exact((RECORDED / "truth.json").read_text("utf-8"))}

    def violations(self, **options):
        fold = Fold(**{"show_object": True, **options})
        for line in self.lines:
            fold.feed(line if isinstance(line, bytes)
                      else json.dumps(line, ensure_ascii=False).encode())
        fold.compare(self.truth)
        return fold.violations

    def expect(self, *texts, **options):
        """Each violation has to contain its text, and there are no others."""
        found = self.violations(**options)
        self.assertEqual(len(found), len(texts), found)
        for violation, text in zip(found, texts):
            self.assertIn(text, violation)

    def find(self, event, number=0, **members):
        """The index of the number-th line of this event with these members."""
        matching = [i for i, line in enumerate(self.lines)
                    if line["event"] == event
                    and all(line.get(k) == v for k, v in members.items())]
        return matching[number]

    # ---- as recorded

    def test_nothing_wrong(self):
        self.expect()

    # ---- events lost, doubled, out of order

    def test_add_lost(self):
        del self.lines[self.find("add", key="recorded/e")]
        self.expect("relisted 5 objects, held 4", "recorded/e: on the server")

    def test_update_lost(self):
        del self.lines[self.find("update", key="recorded/a")]
        self.expect("oldResourceVersion")

    def test_last_update_lost(self):
        del self.lines[self.find("update", 2, key="recorded/a")]
        self.expect("recorded/a: folded to")

    def test_delete_lost(self):
        del self.lines[self.find("delete", key="recorded/b")]
        self.expect("relisted 5 objects, held 6", "recorded/b: in the fold")

    def test_add_twice(self):
        at = self.find("add", key="recorded/e")
        self.lines.insert(at, self.lines[at])
        self.expect("add of a key that is present")

    def test_delete_twice(self):
        at = self.find("delete", key="recorded/b")
        self.lines.insert(at, self.lines[at])
        self.expect("delete of a key that is absent")

    def test_update_after_delete(self):
        update = copy.deepcopy(self.lines[self.find("update")])
        self.lines.insert(self.find("delete", key="recorded/b") + 1, {
            **update, "key": "recorded/b", "object": {
                "metadata": {**update["object"]["metadata"], "name": "b"}}})
        self.expect("update of a key that is absent", "relisted 5 objects",
                    "recorded/b: in the fold")

    def test_updates_swapped(self):
        first, second = self.find("update", 0), self.find("update", 1)
        lines = self.lines
        lines[first], lines[second] = lines[second], lines[first]
        self.expect("oldResourceVersion", "oldResourceVersion", "back from",
                    "oldResourceVersion")

    # ---- versions and identities

    def test_phantom_update(self):
        at = self.find("update")
        self.lines.insert(at + 1, {
            **self.lines[at],
            "oldResourceVersion": self.lines[at]["resourceVersion"]})
        self.expect("phantom update")

    def test_wrong_old_version(self):
        self.lines[self.find("update")]["oldResourceVersion"] = "1"
        self.expect("oldResourceVersion 1, last seen")

    def test_wrong_version(self):
        at = self.find("add", key="recorded/f")
        self.lines[at]["resourceVersion"] = "1"
        self.expect("shown object is", "recorded/f: folded to")

    def test_wrong_uid(self):
        at = self.find("update", 2, key="recorded/a")
        self.lines[at]["uid"] = "another"
        self.lines[at]["object"]["metadata"]["uid"] = "another"
        self.expect("update to another uid", "recorded/a: folded to another")

    def test_recreated_as_update(self):
        delete = self.find("delete", reason="recreated")
        deleted = self.lines.pop(delete)
        self.lines[delete] = {
            **self.lines[delete], "event": "update",
            "oldResourceVersion": deleted["resourceVersion"],
            "object": self.lines[delete]["object"]}
        self.lines[delete]["object"] = self.lines[delete].pop("object")
        self.expect("update to another uid")

    def test_resync_not_asked_for(self):
        at = self.find("update")
        line = dict(self.lines[at])
        shown = line.pop("object")
        self.lines.insert(at + 1, {
            **line, "oldResourceVersion": line["resourceVersion"],
            "resync": True, "object": shown})
        self.expect("not a resync")
        self.assertEqual(self.violations(resync=True), [])

    # ---- synced, relisted

    def test_synced_missing(self):
        del self.lines[self.find("synced")]
        self.assertIn("before synced", self.violations()[0])

    def test_synced_twice(self):
        at = self.find("synced")
        self.lines.insert(at, self.lines[at])
        self.expect("synced twice")

    def test_synced_with_wrong_count(self):
        self.lines[self.find("synced")]["objects"] = 5
        self.expect("synced with 5 objects, 4 were added")

    def test_initial_add_after_synced(self):
        self.lines[self.find("add", key="recorded/e")]["initial"] = True
        self.expect("initial add after synced")

    def test_initial_update(self):
        self.lines[self.find("update")]["initial"] = True
        self.expect("initial update", "initial add after synced")

    def test_change_before_synced(self):
        self.lines[self.find("add", key="recorded/a")]["initial"] = False
        self.expect("add before synced")

    def test_relist_without_reason(self):
        del self.lines[self.find("error", status=410)]
        self.expect("although no position was lost")

    def test_relist_twice_for_one_reason(self):
        at = self.find("relisted")
        self.lines.insert(at, self.lines[at])
        self.expect("although no position was lost")

    def test_relist_after_a_mere_cut(self):
        self.lines[self.find("error", status=410)].update(
            {"status": 502, "reason": "", "class": "server"})
        self.expect("although no position was lost")

    def test_relisted_with_wrong_count(self):
        self.lines[self.find("relisted")]["objects"] = 7
        self.expect("relisted 7 objects, held 5")

    # ---- the lines themselves

    def test_not_json(self):
        self.lines.insert(5, b'{"event":"add",')
        self.expect("not JSON")

    def test_not_utf8(self):
        self.lines.insert(5, b'{"event":"\xff"}')
        self.expect("not JSON")

    def test_unknown_event(self):
        self.lines.insert(5, {"event": "bookmark"})
        self.expect("unknown event")

    def test_member_missing(self):
        del self.lines[self.find("add", key="recorded/e")]["initial"]
        self.assertIn("members", self.violations()[0])

    def test_members_in_another_order(self):
        at = self.find("add", key="recorded/e")
        line = self.lines[at]
        self.lines[at] = {"key": line.pop("key"), **line}
        self.expect("members")

    def test_member_twice(self):
        at = self.find("delete", key="recorded/b")
        text = json.dumps(self.lines[at])
        self.lines[at] = (text[:-1] + ', "reason": "watch"}').encode()
        found = self.violations()
        self.assertIn("a member twice", found[0])

    def test_reason_unknown(self):
        self.lines[self.find("delete")]["reason"] = "because"
        self.expect("deleted for 'because'")

    def test_error_of_unknown_class(self):
        self.lines[self.find("error")]["class"] = "other"
        self.expect("error of class 'other'")

    def test_error_without_time_of_retry(self):
        del self.lines[self.find("error")]["retryInMs"]
        self.expect("retryInMs")

    # ---- shown objects

    def test_object_missing(self):
        del self.lines[self.find("delete")]["object"]
        self.expect("no object shown")

    def test_object_not_asked_for(self):
        self.assertEqual(
            {text.split(": ", 1)[1]
             for text in self.violations(show_object=False)}, {"object shown"})

    def test_object_of_another_key(self):
        at = self.find("add", key="recorded/e")
        self.lines[at]["object"]["metadata"]["name"] = "x"
        self.expect("shown object is recorded/x", "differs from the server's")

    def test_object_content(self):
        at = self.find("update", 2, key="recorded/a")
        self.lines[at]["object"]["data"]["odd"] = "\"}{ "
        self.expect("differs from the server's at /data/odd")

    def test_managed_fields_kept(self):
        at = self.find("add", key="recorded/f")
        self.lines[at]["object"]["metadata"]["managedFields"] = []
        self.expect("managedFields shown", "differs from the server's")

    def test_numbers_compare_by_spelling(self):
        server = {"metadata": {},
                  "n": exact("[1e300,-0.0,12345678901234567890]")}
        for text in ("[1e+300,-0.0,12345678901234567890]",
                     "[1e300,0.0,12345678901234567890]",
                     "[1e300,-0.0,12345678901234567000]"):
            self.assertTrue(difference({"metadata": {}, "n": exact(text)},
                                       server))
        self.assertIsNone(difference(server, server))

    # ---- several scopes

    def test_scopes(self):
        spaces = ["recorded", "empty"]
        self.lines[self.find("synced")] = {
            "event": "synced", "objects": 4,
            "resourceVersions": {"recorded": "75", "empty": "75"}}
        for line in self.lines:
            if line["event"] in ("error", "relisted"):
                line["namespace"] = "recorded"
        self.expect(namespaces=spaces)
        self.lines[self.find("error", status=410)]["namespace"] = "empty"
        self.expect("although no position was lost", namespaces=spaces)
        self.lines[self.find("error", status=410)]["namespace"] = "other"
        self.expect("error of namespace other",
                    "although no position was lost", namespaces=spaces)


class AuditLog(unittest.TestCase):
    BASE = "watch=true&allowWatchBookmarks=true"

    @staticmethod
    def line(query, agent="kinformer/0.1", namespace="ns"):
        reference = {"resource": "configmaps", "apiVersion": "v1"}
        if namespace:
            reference["namespace"] = namespace
        return json.dumps({
            "kind": "Event", "stage": "RequestReceived", "userAgent": agent,
            "requestURI": f"/api/v1/namespaces/ns/configmaps?{query}",
            "objectRef": reference,
            "requestReceivedTimestamp": "2026-01-02T03:04:05.678901Z"}) + "\n"

    def kinds(self, *lines, namespace="ns"):
        return [a.kind for a in
                asked_by_kinformer("".join(lines), namespace)]

    def test_kinds(self):
        stream = f"{self.BASE}&sendInitialEvents=true"
        for query, kind in ((self.BASE, WATCH), (stream, STREAM),
                            ("limit=500&resourceVersion=0", LIST),
                            ("limit=1&resourceVersion=7", VERIFY),
                            ("", LIST), ("limit=10&continue=x", PAGE)):
            self.assertEqual(self.kinds(self.line(query)), [kind])

    def test_order_and_parts(self):
        asked = asked_by_kinformer(
            self.line("limit=500&resourceVersion=")
            + self.line(f"{self.BASE}&resourceVersion=5"), "ns")
        self.assertEqual([(a.kind, a.version) for a in asked],
                         [(LIST, ""), (WATCH, "5")])
        self.assertAlmostEqual(asked[0].at % 60, 5.678901, 5)

    def test_others(self):
        self.assertEqual(self.kinds(
            self.line("", namespace="other"), self.line("", namespace=None),
            self.line("", agent="kube-apiserver/v1 kinformer/")), [])
        self.assertEqual(self.kinds(
            self.line(""), self.line("", namespace=None), namespace=None),
            [LIST])

    def test_line_that_is_being_written(self):
        whole = self.line("")
        self.assertEqual(self.kinds(whole, whole[:-20]), [LIST])
        self.assertEqual(self.kinds(whole, whole[:-1]), [LIST])


class Conformance(unittest.TestCase):
    def judge(self, real, simulated, listed=None):
        return judge({"step": real}, {"step": simulated}, listed or {})

    def test_equal(self):
        self.assertEqual(self.judge(Answer(200), Answer(200)), (1, 0, 0))

    def test_each_part_counts(self):
        for other in (Answer(404), Answer(200, {"Retry-After": "1"}),
                      Answer(200, body={}), Answer(200, frames=[{}]),
                      Answer(200, end="cut")):
            self.assertEqual(self.judge(Answer(200), other), (0, 1, 0))

    def test_listed(self):
        listed = {("step", "status"): "reason"}
        self.assertEqual(self.judge(Answer(200), Answer(404), listed),
                         (1, 0, 0))

    def test_listed_for_another_part(self):
        listed = {("step", "body"): "reason"}
        self.assertEqual(self.judge(Answer(200), Answer(404), listed),
                         (0, 2, 0))

    def test_listed_but_equal(self):
        listed = {("step", "status"): "reason"}
        self.assertEqual(self.judge(Answer(200), Answer(200), listed),
                         (1, 1, 0))

    def test_versions_keep_their_order(self):
        def frames(*versions):
            objects = [{"metadata": {"uid": "u", "resourceVersion": v}}
                       for v in versions]
            return [Normaliser(objects).value(o) for o in objects]

        self.assertEqual(frames("9", "10", "10"), frames("100", "101", "101"))
        self.assertNotEqual(frames("9", "10"), frames("10", "9"))
        self.assertNotEqual(frames("9", "9"), frames("9", "10"))

    def test_owners_in_a_message(self):
        def message(*owners, data='"x"}'):
            quoted = json.dumps({"metadata": {"name": "a", **(
                {"managedFields": owners} if owners else {})}, "data": data})
            return f"Invalid value: {json.dumps(quoted)}: unknown field"

        def normal(text):
            return Normaliser([]).value({"message": text})

        one, two = ({"manager": name} for name in ("one", "two"))
        self.assertEqual(normal(message(one, two)), normal(message(two, one)))
        self.assertNotEqual(normal(message(one)), normal(message(one, data="")))
        self.assertNotIn("managedFields", normal(message(one))["message"])
        for kept in (message(), 'Invalid value: "map[a:1]"',
                     'Invalid value: "{"', 'Invalid value: "{x}": no'):
            self.assertEqual(normal(kept), {"message": kept})


class Summary(unittest.TestCase):
    def count(self, result, stdout="", stderr=""):
        return summary.count({"result": result, "stdout": stdout,
                              "stderr": stderr})

    def test_cmocka(self):
        self.assertEqual(self.count("OK", "", "[  PASSED  ] 7 test(s).\n"),
                         (7, 0, 0))
        self.assertEqual(self.count(
            "FAIL", "", "[  PASSED  ] 7 test(s).\n[  SKIPPED ] 1 test(s)\n"
            "[  FAILED  ] 2 test(s), listed below:\n[  FAILED  ] a\n"),
            (7, 2, 1))

    def test_several_groups(self):
        self.assertEqual(self.count(
            "OK", "", "[  PASSED  ] 7 test(s).\n[  PASSED  ] 3 test(s).\n"),
            (10, 0, 0))

    def test_leak_after_all_passed(self):
        self.assertEqual(self.count("FAIL", "", "[  PASSED  ] 7 test(s).\n"),
                         (7, 1, 0))

    def test_crash(self):
        self.assertEqual(self.count("FAIL", "[       OK ] a\n[ RUN      ] b\n"),
                         (1, 1, 0))
        self.assertEqual(self.count("TIMEOUT", "[ RUN      ] a\n"), (0, 1, 0))

    def test_own_summary(self):
        self.assertEqual(self.count("OK", "3 passed, 0 failed, 2 skipped\n"),
                         (3, 0, 2))

    def test_plain(self):
        self.assertEqual(self.count("OK"), (1, 0, 0))
        self.assertEqual(self.count("ERROR"), (0, 1, 0))
        self.assertEqual(self.count("SKIP"), (0, 0, 1))


def main():
    # What judge() prints about each answer is of no interest here.
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromModule(module)
        for module in (sys.modules[__name__], test_bounds, test_chaos))
    result = unittest.TextTestRunner(stream=sys.stdout, buffer=True).run(suite)
    bad = collections.Counter(
        test for test, _ in result.failures + result.errors)
    print(f"{result.testsRun - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
