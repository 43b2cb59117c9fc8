# SPDX-License-Identifier: MIT
"""Does the chaos harness notice? Runs without any server, on made-up lines."""

import random
import time
import types
import unittest

import chaos_faults
from chaos_fleet import ControllerFold, Fleet, Member
from fold import Fold, exact
from kin import Failure

ADD = (b'{"event":"add","initial":%s,"key":"n/a","uid":"u",'
       b'"resourceVersion":"%d"}')
UPDATE = (b'{"event":"update","initial":false,"key":"n/a","uid":"u",'
          b'"resourceVersion":"%d","oldResourceVersion":"%d"}')
SYNCED = b'{"event":"synced","resourceVersion":"9","objects":1}'
ERROR = (b'{"event":"error","class":"server","status":410,"reason":"Expired",'
         b'"message":"","retryInMs":0}')


class Informer:
    """In the place of a Kinformer that has printed its lines."""

    def __init__(self, fold, *lines):
        self.fold = fold
        self.leaks = []
        self.seen = []
        for line in lines:
            fold.feed(line)
            self.seen.append(types.SimpleNamespace(at=time.monotonic()))

    def wait_for(self, what, predicate, _timeout_s):
        if not predicate(self.fold):
            raise Failure(f"no {what}")


class Api:
    @staticmethod
    def list(_collection):
        return {"n/a": exact('{"metadata":{"name":"a","namespace":"n",'
                             '"uid":"u","resourceVersion":"5"}}')}


class Fleets(unittest.TestCase):
    def fleet(self, informer):
        world = types.SimpleNamespace(cluster=types.SimpleNamespace(api=Api()))
        fleet = Fleet(world, None)
        fleet._members.append(Member("one", informer, ("/a",), {}))
        return fleet

    def test_equal(self):
        fleet = self.fleet(Informer(Fold(), ADD % (b"true", 5), SYNCED))
        self.assertEqual(fleet.wait_equal(time.monotonic(), 1)[1], "one")
        fleet.expect_legal()

    def test_an_old_version(self):
        fleet = self.fleet(Informer(Fold(), ADD % (b"true", 4), SYNCED))
        with self.assertRaisesRegex(Failure, "one: not right within 1 s"):
            fleet.wait_equal(time.monotonic(), 1)

    def test_an_object_too_few(self):
        fleet = self.fleet(Informer(Fold(), SYNCED))
        with self.assertRaises(Failure):
            fleet.wait_equal(time.monotonic(), 1)

    def test_not_synced(self):
        fleet = self.fleet(Informer(Fold(), ADD % (b"true", 5)))
        with self.assertRaises(Failure):
            fleet.wait_equal(time.monotonic(), 1)

    def test_told_twice(self):
        fleet = self.fleet(Informer(Fold(), ADD % (b"true", 5), SYNCED,
                                    UPDATE % (5, 5)))
        with self.assertRaisesRegex(Failure, "phantom"):
            fleet.expect_legal()


class Controllers(unittest.TestCase):
    def violations(self, *lines):
        fold = ControllerFold()
        for line in (ADD % (b"true", 5), SYNCED, *lines):
            fold.feed(line)
        return fold.violations

    def test_a_list_tells_what_is_known(self):
        self.assertEqual(self.violations(ERROR, UPDATE % (5, 5)), [])

    def test_nothing_else_does(self):
        self.assertIn("phantom", self.violations(UPDATE % (5, 5))[0])

    def test_a_step_back(self):
        self.assertIn("back from", self.violations(ERROR, UPDATE % (4, 5))[0])


class Faults(unittest.TestCase):
    def test_a_number_determines_what_happens(self):
        def told(seed):
            happened = []
            rng = random.Random(seed)
            for _ in range(20):
                fault = rng.choice(chaos_faults.FAULTS)
                made = chaos_faults.Fault(
                    lambda world, seconds: happened.append(seconds),
                    fault.longest_s)
                made.happen(None, rng)
                happened.append(fault.run.__name__)
            return happened

        slept = chaos_faults.last
        chaos_faults.last = lambda _seconds: None
        try:
            self.assertEqual(told(1), told(1))
            self.assertNotEqual(told(1), told(2))
        finally:
            chaos_faults.last = slept
