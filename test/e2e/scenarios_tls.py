# SPDX-License-Identifier: MIT
"""What is accepted over TLS, and what is taken up without a word."""

import time

from api import CONFIG_MAPS
from apiserver import NAMES
from cluster import MASTERS
from objects import config_map
from pki import Authority
from relay import Relay
from scenario import scenario


def follow(context, access, *arguments, environment=None):
    """From the first list to a last object, without an error; returns what
    was said on standard error."""
    space = context.namespace()
    collection = CONFIG_MAPS.format(space)
    context.api.create(collection, config_map("m"))
    with context.informer("configmaps", "-n", space, *arguments, at=access,
                          environment=environment) as kin:
        kin.wait_synced()
        context.sentinel(kin, space)
        context.finish(kin, collection)
        context.expect(not kin.fold.errors, f"{kin.fold.errors}")
        return kin.standard_error().decode()


@scenario(ways=())
def token_on_the_command_line(context):
    """Nobody can read it there once the program runs."""
    port = context.cluster.apiserver.port
    follow(context, context.direct_access(port, "--token",
                                          context.cluster.token))


@scenario(ways=())
def client_certificate(context):
    """In place of a token."""
    authority = context.cluster.authority
    certificate = authority.issue("e2e-admin", groups=[MASTERS])
    follow(context, context.direct_access(
        context.cluster.apiserver.port, "--client-certificate", certificate,
        "--client-key", authority.issued_key))


@scenario(ways=())
def server_found_by_its_name(context):
    """SNI and verification by a name that is looked up."""
    follow(context, context.direct_access(
        context.cluster.apiserver.port, "--token-file",
        context.cluster.token_file, host="localhost"))


@scenario(ways=())
def server_name_overridden(context):
    """The certificate has no name but this one."""
    certificate = context.cluster.authority.issue("named",
                                                  "DNS:api.e2e.test")
    with context.spare_apiserver() as server:
        server.present(certificate)
        follow(context, context.direct_access(
            server.port, "--token-file", context.cluster.token_file,
            "--tls-server-name", "api.e2e.test"))


@scenario(ways=())
def authorities_of_the_system(context):
    """None is named: those that OpenSSL's environment variable names."""
    cluster = context.cluster
    follow(context, context.direct_access(
        cluster.apiserver.port, "--token-file", cluster.token_file,
        authority=""),
        environment={"SSL_CERT_FILE": str(cluster.authority.certificate)})


@scenario(ways=())
def verification_skipped(context):
    """Whoever it is, and whatever its certificate says; not without saying so.
    """
    other = Authority(context.cluster.directory, "untrusted-authority")
    certificate = other.issue("other", "DNS:other.e2e.test", days=-1)
    with context.spare_apiserver() as server:
        server.present(certificate, other)
        said = follow(context, context.direct_access(
            server.port, "--token-file", context.cluster.token_file,
            "--insecure-skip-tls-verify", authority=""))
    context.expect("WARNING: --insecure-skip-tls-verify" in said, f"{said!r}")


@scenario(ways=())
def certificate_renewed(context):
    """While it watches, as every few months: the next connection gets the new
    one, and nothing is wrong."""
    authority = context.cluster.authority
    space = context.namespace()
    with context.spare_apiserver() as server, Relay(server.port) as relay:
        access = context.direct_access(relay.port, "--token-file",
                                       context.cluster.token_file)
        with context.informer("configmaps", "-n", space, at=access) as kin:
            kin.wait_synced()
            server.present(authority.issue("renewed", NAMES))
            before = time.monotonic()
            relay.cut()
            kin.wait_errors(1, before)
            context.sentinel(kin, space)
            context.finish(kin, CONFIG_MAPS.format(space))
            context.expect([e["class"] for e in kin.fold.errors] == ["connect"],
                           f"{kin.fold.errors}")
