#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An exec plugin: prints a credential that is good for some seconds.

usage: exec_plugin.py SETTINGS

SETTINGS is a JSON file. A token is that of a service account, and is signed
here, so that the API server refuses the token a little later than the plugin
says. A certificate is one of those that the settings list, in turn.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import uuid

ISSUER = "https://kubernetes.default.svc"
# A request that begins in time may come so much later, from a process that stood
# still and to a server that did.
ON_THE_WAY_S = 5
# The API server forgives clocks that differ by a minute.
LEEWAY_S = 60


def main():
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    cluster = info["spec"].get("cluster", {})
    if cluster.get("server") != settings["server"]:
        sys.exit(f"this is for {settings['server']}, asked for {cluster}")
    if os.environ.get("E2E_PLUGIN") != "exec":
        sys.exit("the environment of the kubeconfig is missing")
    now = int(time.time())
    expires = now + settings["seconds"]
    status, run = (certify if "certificates" in settings else sign)(
        settings, expires)
    # Before it is used: the harness searches for all that was issued.
    with open(settings["issued"], "a", encoding="ascii") as issued:
        issued.write(json.dumps({**run, "at": now, "expires": expires}) + "\n")
    status["expirationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                                  time.gmtime(expires))
    print(json.dumps({"apiVersion": info["apiVersion"],
                      "kind": "ExecCredential", "status": status}))


def sign(settings, expires):
    identity = str(uuid.uuid4())
    token = make_token(settings, expires, identity)
    return {"token": token}, {"token": token, "id": identity}


def certify(settings, _):
    issued = pathlib.Path(settings["issued"])
    runs = issued.read_text("ascii").count("\n") if issued.exists() else 0
    chosen = settings["certificates"][runs % len(settings["certificates"])]
    return {"clientCertificateData": pathlib.Path(chosen).read_text("ascii"),
            "clientKeyData": pathlib.Path(settings["key"]).read_text("ascii")
            }, {"id": chosen}


def make_token(settings, expires, identity):
    account = {"name": settings["name"], "uid": settings["uid"]}
    space = settings["namespace"]
    end = expires + ON_THE_WAY_S - LEEWAY_S
    unsigned = ".".join(_base64(json.dumps(part).encode()) for part in (
        {"alg": "ES256", "typ": "JWT"},
        {"iss": ISSUER, "aud": [ISSUER], "jti": identity,
         "sub": f"system:serviceaccount:{space}:{account['name']}",
         "iat": end - LEEWAY_S, "nbf": end - LEEWAY_S, "exp": end,
         "kubernetes.io": {"namespace": space, "serviceaccount": account}}))
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", settings["key"]],
        input=unsigned.encode(), capture_output=True, check=True).stdout
    return f"{unsigned}.{_base64(_as_two_numbers(signature))}"


def _as_two_numbers(der):
    """Of ASN.1's sequence of two integers, 32 bytes each."""
    numbers, at = b"", 2
    for _ in range(2):
        end = at + 2 + der[at + 1]
        numbers += int.from_bytes(der[at + 2:end], "big").to_bytes(32, "big")
        at = end
    return numbers


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
