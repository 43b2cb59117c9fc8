# SPDX-License-Identifier: MIT
"""Starting servers: on a free port, until they answer."""

import random
import socket
import ssl
import time
import urllib.error
import urllib.request

START_TIMEOUT_S = 90
PORT_ATTEMPTS = 5
# Below what Linux and macOS give for port 0.
PORTS = range(20000, 32768)
# Between two looks at what tells nobody when it changes.
LOOK_EVERY_S = 0.05


class StartError(Exception):
    pass


def on_free_ports(count, start):
    """Runs start(ports); again with others if somebody else was quicker."""
    for attempt in range(PORT_ATTEMPTS):
        try:
            return start(free_ports(count))
        except StartError as error:
            if (attempt + 1 == PORT_ATTEMPTS
                    or "address already in use" not in str(error)):
                raise
    raise AssertionError("unreachable")


def free_ports(count):
    """Distinct loopback ports that are free now.

    They are none of those that the system gives to whoever asks for any: a
    server that is ended finds its port free when it is started again.
    """
    sockets = []
    try:
        for port in random.sample(PORTS, len(PORTS)):
            if len(sockets) == count:
                break
            s = socket.socket()
            try:
                s.bind(("127.0.0.1", port))
                sockets.append(s)
            except OSError:
                s.close()
        if len(sockets) < count:
            raise StartError("no free port")
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def await_answer(process, url, token=""):
    """Returns when the process answers 200; StartError if it ends first."""
    insecure = ssl._create_unverified_context()
    request = urllib.request.Request(
        url, headers={"Authorization": f"Bearer {token}"} if token else {})
    deadline = time.monotonic() + START_TIMEOUT_S
    answer = "nothing"
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(request, timeout=5,
                                        context=insecure) as response:
                response.read()
                return
        except (urllib.error.URLError, OSError) as error:
            answer = error
        # Until the next try, watch for the early end that a taken port or a
        # bad flag causes.
        if process.wait(LOOK_EVERY_S) is not None:
            process.kill()
            raise StartError(f"{process.name} ended with status "
                             f"{process.exit_status()}:\n{process.log_tail()}")
    process.kill()
    raise StartError(f"{process.name} not ready in {START_TIMEOUT_S} s; "
                     f"{url}: {answer}\n{process.log_tail()}")


def await_true(what, condition, timeout_s=30):
    """Returns the time at which condition() was first seen to hold.

    For what a server does on its own time and tells nobody.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise StartError(f"no {what} within {timeout_s} s")
        time.sleep(LOOK_EVERY_S)
    return time.monotonic()
