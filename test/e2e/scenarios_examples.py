# SPDX-License-Identifier: MIT
"""Examples against a real API server."""

import contextlib
import signal

from process import Process
from ready import await_true
from scenario import scenario

SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"


def endpoint(address, pod, **conditions):
    return {"addresses": [address], "conditions": conditions,
            "targetRef": {"kind": "Pod", "name": pod}}


def slice_of(service, name, *endpoints, family="IPv4"):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": name,
                         "labels": {"kubernetes.io/service-name": service}},
            "addressType": family, "endpoints": list(endpoints),
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}


def block(*servers):
    lines = "".join(f"  server {server}\n" for server in servers)
    return (f"upstream web-http {{\n{lines}}}\n" if servers else
            "upstream web-http {\n  server 127.0.0.1:1 down;\n}\n")


@contextlib.contextmanager
def endpoints(context, space):
    """The example, and the file that it writes."""
    file = context.cluster.directory / f"{space}.conf"
    program = Process(f"endpoints-{space}",
                      [context.example("endpoints"), context.way.access.url,
                       space, file, "web:http"], context.cluster.directory)
    try:
        yield program, file
        status = program.stop(signal.SIGTERM, 30)
        context.expect(status == -signal.SIGTERM,
                       f"status {status}\n{program.log_tail()}")
        context.expect("Sanitizer" not in program.log_tail(1000),
                       program.log_tail())
    finally:
        program.kill()


@scenario(ways=("proxy",), severed=True)
def endpoints_of_a_service(context):
    """Slices as the server stores them; the file stays while it is away."""
    api, space = context.api, context.namespace()
    collection = SLICES.format(space)
    api.create(collection, slice_of("web", "web-1", endpoint("10.1.0.2", "b"),
                                    endpoint("10.1.0.1", "a", ready=True)))
    api.create(collection, slice_of("other", "other-1",
                                    endpoint("10.1.9.9", "z")))
    a, b, c = (f"10.1.0.{i}:8080; # {name}" for i, name in
               enumerate("abc", start=1))
    with endpoints(context, space) as (_, file):

        def expect(*servers):
            await_true(f"{servers} in {file}",
                       lambda: file.exists() and
                       file.read_text() == block(*servers))

        expect(a, b)
        api.create(collection, slice_of("web", "web-2", endpoint("10.1.0.3", "c"),
                                        endpoint("10.1.0.2", "b")))
        api.create(collection, slice_of("web", "web-6", endpoint(
            "2001:db8::1", "a"), family="IPv6"))
        expect(a, b, c, "[2001:db8::1]:8080; # a")
        api.patch(f"{collection}/web-1", {"endpoints": [
            endpoint("10.1.0.2", "b", ready=False),
            endpoint("10.1.0.1", "a", ready=False, serving=True,
                     terminating=True)]})
        expect(b, c, "[2001:db8::1]:8080; # a")
        # The server is away, and things happen meanwhile.
        before = file.read_text()
        context.way.sever()
        api.delete(f"{collection}/web-2")
        api.delete(f"{collection}/web-6")
        context.expect(file.read_text() == before, "changed without a server")
        context.way.restore()
        expect("10.1.0.1:8080; # a")
        api.patch(f"{collection}/web-1", {"endpoints": None, "ports": None})
        expect()
        api.delete(f"{collection}/web-1")
        api.create(collection, slice_of("web", "web-3", endpoint("10.1.0.3", "c")))
        expect(c)
