# SPDX-License-Identifier: MIT
"""What goes wrong in `./dev chaos`, and the world that it happens to.

A relay that keeps a connection and drops its bytes is no fault here: its kernel
goes on acknowledging, and its new connections work, so nothing tells the watch
from a quiet one before the deadline of the watch, minutes later.
"""

import contextlib
import dataclasses
import http.client
import time
import typing

from api import CONFIG_MAPS, ApiError
from kin import Failure
from objects import widgets
from ready import StartError
from relay import Relay
from ways import Direct, Proxy

READY_TIMEOUT_S = 90


class World:
    """A cluster, a relay before its API server, and namespaces of its own."""

    _serial = 0

    def __init__(self, cluster):
        self.cluster = cluster
        self.relay = Relay(cluster.apiserver.port)
        World._serial += 1
        self.busy, self.other, self.quiet = (
            f"chaos-{World._serial}-{name}"
            for name in ("busy", "other", "quiet"))
        # Those that are written to all the time.
        self.collections = [CONFIG_MAPS.format(self.busy),
                            CONFIG_MAPS.format(self.other),
                            widgets(self.busy)]

    def __enter__(self):
        self.relay.__enter__()
        self.await_ready()
        for name in (self.busy, self.other, self.quiet):
            self.cluster.api.create_namespace(name)
        return self

    def __exit__(self, *exception):
        self.relay.__exit__(*exception)

    def relayed(self):
        return Direct(self.cluster).access_at(self.relay.port)

    def proxied(self):
        return Proxy(self.cluster).access

    def mend(self):
        """Ends whatever a fault has begun."""
        for server in (self.cluster.apiserver, self.cluster.etcd):
            if server.is_running():
                server.resume()
        self.relay.release()
        self.relay.accept()
        try:
            self.cluster.repair()
        except StartError as error:
            raise Failure(str(error)) from error

    def await_ready(self):
        """Returns when everything can be listed, and the time of that."""
        self.mend()
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                for collection in ("/api/v1/configmaps", *self.collections):
                    self.cluster.api.list(collection)
                return time.monotonic()
            except (ApiError, OSError, http.client.HTTPException) as error:
                if time.monotonic() > deadline:
                    raise Failure(f"not ready after {READY_TIMEOUT_S} s: "
                                  f"{error}") from error
                self.cluster.api.close()
                time.sleep(0.2)


@dataclasses.dataclass(frozen=True)
class Fault:
    run: typing.Callable  # (world, seconds)
    longest_s: float = 0

    def happen(self, world, rng):
        """Begins it, lets it last, and ends it; returns it in words."""
        # Mostly short; now and then as long as it may be.
        seconds = self.longest_s * rng.choice((0.0, 0.05, 0.15, 0.15, 0.4, 1.0))
        self.run(world, seconds)
        last(rng.choice((0.0, 0.0, 0.5, 2.0)))
        return f"{self.run.__name__} {seconds:.1f} s"


def last(seconds):
    """An outage's length is no waiting for an event: it is the fault."""
    time.sleep(seconds)


FAULTS = []


def fault(longest_s=0):
    def register(function):
        FAULTS.append(Fault(function, longest_s))
        return function
    return register


@fault(longest_s=20)
def apiserver_killed(world, seconds):
    world.cluster.apiserver.kill()
    last(seconds)
    world.cluster.apiserver.start()


@fault()
def apiserver_restarted_twice(world, _):
    for _ in range(2):
        world.cluster.apiserver.restart()


@fault(longest_s=50)
def apiserver_paused(world, seconds):
    world.cluster.apiserver.pause()
    last(seconds)
    world.cluster.apiserver.resume()


@fault()
def history_compacted(world, _):
    with contextlib.suppress(OSError):
        world.cluster.compact()


@fault()
def compacted_and_restarted(world, _):
    with contextlib.suppress(OSError):
        world.cluster.compact()
    world.cluster.apiserver.restart()


@fault(longest_s=15)
def restarted_and_compacted(world, seconds):
    """The watch cache begins after what everybody has seen."""
    world.cluster.apiserver.kill()
    with contextlib.suppress(OSError):
        world.cluster.compact()
    last(seconds)
    world.cluster.apiserver.start()


@fault(longest_s=20)
def etcd_killed(world, seconds):
    world.cluster.etcd.kill()
    last(seconds)
    world.cluster.start_etcd()


@fault(longest_s=50)
def etcd_paused(world, seconds):
    world.cluster.etcd.pause()
    last(seconds)
    world.cluster.etcd.resume()


@fault(longest_s=20)
def proxy_killed(world, seconds):
    world.cluster.proxy.kill()
    last(seconds)
    world.cluster.proxy.start()


@fault()
def connections_cut(world, _):
    world.relay.cut()


@fault(longest_s=30)
def connections_refused(world, seconds):
    world.relay.refuse()
    last(seconds)
    world.relay.accept()


@fault(longest_s=50)
def bytes_held_back(world, seconds):
    world.relay.hold()
    last(seconds)
    world.relay.release()


@fault(longest_s=50)
def answers_held_back(world, seconds):
    world.relay.hold(to_server=False)
    last(seconds)
    world.relay.release()

