# SPDX-License-Identifier: MIT
"""Judges when things are said, and what never may be.

Everything here is a pure function of what was seen, so that test_harness.py can
prove that it notices. A Seen is a line with the time of its arrival; errors are
Seen lines in their order. Each function returns problems in words.
"""

import dataclasses

# A line may be read so much later than it was printed, when all is busy.
CLOCK_S = 0.2
# From the beginning of what fails to the line that says so.
REFUSAL_S = 1.0
# From the end of the last wait to what was missing: a connection, a handshake
# and a list, by a program with sanitizers next to busy servers.
ATTEMPT_S = 2.0
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
    at: float
    line: dict


@dataclasses.dataclass(frozen=True)
class Refusal:
    """What an error line has to say."""
    error_class: str
    words: tuple  # each has to be in the message
    status: int = 0

    def matches(self, line):
        return line["class"] == self.error_class


def attempts_of(first_at, errors):
    """When what each error tells of began: the first as given, each other one
    when the wait announced by the error before it was over."""
    return [first_at, *(e.at + e.line["retryInMs"] / 1000 for e in errors[:-1])]


def judge_refusal(error, attempt_at, expected):
    """One line about an attempt that was refused."""
    problems = []
    line = error.line
    delay = error.at - attempt_at
    if delay > REFUSAL_S:
        problems.append(f"said {delay:.2f} s after the attempt, more than "
                        f"{REFUSAL_S} s: {line}")
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
            if after.at - before.at
            < before.line["retryInMs"] / 1000 - CLOCK_S]


def recovery_due(errors, mended_at, recovered_at=float("inf")):
    """When the first attempt that can succeed begins, by what was announced.

    An attempt that began before the mending may still fail after it. Returns
    the time, and the errors of attempts that began later: there may be none.
    Scenarios beside this one make the server forget its history (410).
    """
    due, late = None, []
    for error in errors:
        if error.at > recovered_at:
            break
        if (error.at > mended_at and due is not None and due > mended_at
                and error.line.get("status") != 410):
            late.append(error)
        due = error.at + error.line["retryInMs"] / 1000
    return max(due or mended_at, mended_at), late


def judge_recovery(errors, mended_at, recovered_at, bound_s=None):
    """After the mending the next attempt succeeds; and within bound_s."""
    if recovered_at is None:
        return ["has not recovered"]
    due, late = recovery_due(errors, mended_at, recovered_at)
    problems = [f"failed again {error.at - mended_at:.2f} s after what was "
                f"wrong was mended: {error.line}" for error in late]
    if recovered_at > due + ATTEMPT_S:
        problems.append(f"recovered {recovered_at - due:.2f} s after the next "
                        f"attempt was due, more than {ATTEMPT_S} s")
    if bound_s is not None and recovered_at - mended_at > bound_s:
        problems.append(f"recovered after {recovered_at - mended_at:.2f} s, "
                        f"more than {bound_s} s")
    return problems


def judge_notice(error, cause_at):
    """The first error line after everything went silent."""
    if error is None:
        return ["nothing was noticed"]
    if error.at - cause_at > SILENCE_S:
        return [f"noticed after {error.at - cause_at:.2f} s, more than "
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
