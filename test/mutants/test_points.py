#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What points.py finds in a small file, and what it leaves alone."""

import unittest

import points

SOURCE = '''\
#define LIMIT 3
struct a {
  int b;
};
static const int table[2] = {1, 2};

/* if (x) y = 1; */
static int count(struct a *a, int n) {
  assert(n > 0);
  int sum = 0;
  if (n == 2 && a != NULL) {
    sum += 5; // sum = 1;
    clear(a, "if (1) x = 2;");
  }
  if (is_empty(a)) {
    return -1;
  }
  kin__log(a, "%d", 7);
  for (int i = 0; i < n; i++) {
    a->b = sum;
  }
  return sum;
}
'''


class Points(unittest.TestCase):
    def found(self, kind):
        return [(p.line, p.before, p.after)
                for p in points.find("a.c", SOURCE) if p.kind == kind]

    def test_operators(self):
        self.assertEqual(self.found("operator"), [
            (11, "==", "!="), (11, "&&", "||"), (11, "!=", "=="),
            (12, "+=", "-="), (19, "<", "<="), (19, "++", "--")])

    def test_constants(self):
        self.assertEqual(self.found("constant"), [
            (10, "0", "1"), (11, "2", "3"), (12, "5", "6"), (16, "1", "2"),
            (19, "0", "1")])

    def test_conditions(self):
        self.assertEqual(self.found("condition"), [
            (11, "(n == 2 && a != NULL)", "(0)"),
            (11, "(n == 2 && a != NULL)", "(1)"),
            (15, "(is_empty(a))", "(0)"), (15, "(is_empty(a))", "(1)")])

    def test_statements(self):
        self.assertEqual(self.found("statement"), [
            (12, "sum += 5;", ";"), (13, 'clear(a, "if (1) x = 2;");', ";"),
            (20, "a->b = sum;", ";")])

    def test_every_point_changes_the_text_at_its_place(self):
        for point in points.find("a.c", SOURCE):
            mutant = point.apply(SOURCE)
            self.assertNotEqual(mutant, SOURCE)
            self.assertEqual(point.function, "count")
            changed = [i + 1 for i, (a, b) in enumerate(
                zip(SOURCE.split("\n"), mutant.split("\n"))) if a != b]
            self.assertEqual(changed, [point.line])


if __name__ == "__main__":
    unittest.main()
