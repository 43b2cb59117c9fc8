# SPDX-License-Identifier: MIT
"""Judges when things are said, and what never may be.

Everything here is a pure function of what was seen, so that test_harness.py can
prove that it notices. A Seen is a line with the times between which it was
printed; errors are Seen lines in their order. Each function returns problems in
words.

A machine that other work shares stands still now and then, or does not let one
process run. So a line is late only if it was printed late, whenever the harness
read it, and each time that a program takes has PAUSE_S on top. Waits that the
program announces need no allowance: they are compared as numbers.
"""

import dataclasses

# Clocks are no more exact than this, nor is the moment at which a wait begins.
CLOCK_S = 0.2
# A process, or the machine, may stand still for so long.
PAUSE_S = 2.0
# From the beginning of what fails to the line that says so. With PAUSE_S this is
# far below the 10 s of the shortest time limit that might say it in its place.
REFUSAL_S = 1.0
# From the end of the last wait to what was missing: a connection, a handshake
# and a list, by a program with sanitizers next to busy servers.
ATTEMPT_S = 2.0
# 30 s without a byte, 10 s for an answer, an error line, and PAUSE_S.
SILENCE_S = 45.0
# The longest wait while a server gives no answer.
UNREACHED_RETRY_MS = 4000
# That wait, and a second for the attempt.
RECOVERY_S = 5.0
# The longest wait: 30 s, and as much again by chance.
LONGEST_RETRY_MS = 60000
# As many characters of a token in a row are no accident.
LEAK_LENGTH = 12


@dataclasses.dataclass(frozen=True)
class Seen:
    at: float  # when it was read
    line: dict
    unseen_at: float | None = None  # when it was not there yet, if that is known

    @property
    def earliest(self):
        """It was not printed before."""
        return self.at if self.unseen_at is None else self.unseen_at


@dataclasses.dataclass(frozen=True)
class Refusal:
    """What an error line has to say."""
    error_class: str
    words: tuple  # each has to be in the message
    status: int = 0

    def matches(self, line):
        return line["class"] == self.error_class


def attempts_of(first_at, errors):
    """When at the latest what each error tells of began: the first as given,
    each other one when the wait announced by the error before it was over."""
    return [first_at, *(e.at + e.line["retryInMs"] / 1000 for e in errors[:-1])]


def is_late(error, attempt_at):
    return error.earliest - attempt_at > REFUSAL_S + PAUSE_S


def judge_refusal(error, attempt_at, expected):
    """One line about an attempt that was refused."""
    problems = []
    line = error.line
    if is_late(error, attempt_at):
        problems.append(f"said {error.earliest - attempt_at:.2f} s after the "
                        f"attempt, more than {REFUSAL_S + PAUSE_S} s: {line}")
    if (line["class"], line["status"]) != (expected.error_class,
                                           expected.status):
        problems.append(f"class {line['class']!r} and status {line['status']}, "
                        f"expected {expected}: {line}")
    problems += [f"no {word!r} in {line}" for word in expected.words
                 if word not in line["message"]]
    if not 0 < line["retryInMs"] <= LONGEST_RETRY_MS:
        problems.append(f"retried in {line['retryInMs']} ms: {line}")
    return problems


def judge_retries(errors):
    """Each error is followed by the next no sooner than announced."""
    return [f"failed again {after.at - before.at:.2f} s after {before.line}"
            for before, after in zip(errors, errors[1:])
            if after.at - before.earliest
            < before.line["retryInMs"] / 1000 - CLOCK_S]


def judge_unreached(errors):
    """The waits while no answer comes. A server that answers may name others."""
    return [f"waits for more than {UNREACHED_RETRY_MS} ms: {error.line}"
            for error in errors
            if error.line["class"] in ("connect", "protocol")
            and error.line["retryInMs"] > UNREACHED_RETRY_MS]


def recovery_due(errors, mended_at, recovered_at=float("inf")):
    """When the first attempt that can succeed begins, by what was announced.

    An attempt that began before the mending may still fail after it. Returns
    the time at the latest, and the errors of attempts that began later: there
    may be none. Scenarios beside this one make the server forget its history
    (410).
    """
    due = began_at = None
    late = []
    for error in errors:
        if error.at > recovered_at:
            break
        if (began_at is not None and began_at > mended_at
                and error.line.get("status") != 410):
            late.append(error)
        wait_s = error.line["retryInMs"] / 1000
        due, began_at = error.at + wait_s, error.earliest + wait_s
    return max(due or mended_at, mended_at), late


def judge_recovery(errors, mended_at, recovered_at, bound_s=None,
                   written_at=0.0):
    """After the mending the next attempt succeeds; and within bound_s. Both
    begin later if what has to be seen was only written at written_at."""
    if recovered_at is None:
        return ["has not recovered"]
    due, late = recovery_due(errors, mended_at, recovered_at)
    due, begun_at = max(due, written_at), max(mended_at, written_at)
    problems = [f"failed again {error.at - mended_at:.2f} s after what was "
                f"wrong was mended: {error.line}" for error in late]
    if recovered_at > due + ATTEMPT_S + PAUSE_S:
        problems.append(f"recovered {recovered_at - due:.2f} s after the next "
                        f"attempt was due, more than {ATTEMPT_S + PAUSE_S} s")
    if bound_s is not None and recovered_at - begun_at > bound_s + PAUSE_S:
        problems.append(f"recovered after {recovered_at - begun_at:.2f} s, "
                        f"more than {bound_s + PAUSE_S} s")
    return problems


def judge_notice(error, cause_at):
    """The first error line after everything went silent."""
    if error is None:
        return ["nothing was noticed"]
    if error.earliest - cause_at > SILENCE_S:
        return [f"noticed after {error.earliest - cause_at:.2f} s, more than "
                f"{SILENCE_S} s: {error.line}"]
    return []


def leaks(what, text, secrets, first=0):
    """Whether bytes contain a secret, or any part of it worth the name.

    first: the number of the first secret to search for.
    """
    return [f"{what} contains token {number}"
            for number, secret in enumerate(secrets[first:], first)
            if any(secret[i:i + LEAK_LENGTH].encode() in text
                   for i in range(len(secret) - LEAK_LENGTH + 1))]
