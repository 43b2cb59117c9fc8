#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every allocation of a whole process fails once while an informer syncs over
TLS: ours, OpenSSL's, libuv's and the C library's, by a preloaded malloc. No
round may crash, hang, or end without having synced or refused to open.

Usage: test_oom.py KIN_APISIM OOM_PROBE LIBFAIL_MALLOC. Every eleventh, to save
time; all of them with KIN_TEST_ALL=1 in the environment.
"""

import os
import pathlib
import subprocess
import sys
import tempfile


def make_certificate(directory):
    cert, key = directory / "cert.pem", directory / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=sim",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key),
         "-out", str(cert)], check=True, capture_output=True)
    return cert, key


def main():
    apisim, probe, library = sys.argv[1:4]
    step = "1" if os.environ.get("KIN_TEST_ALL") else "11"
    with tempfile.TemporaryDirectory() as name:
        cert, key = make_certificate(pathlib.Path(name))
        with subprocess.Popen(
                [apisim, "--port", "0", "--pods", "3", "--tls-cert", str(cert),
                 "--tls-key", str(key)], stdout=subprocess.PIPE,
                text=True) as server:
            url = server.stdout.readline().split()[-1]
            try:
                run = subprocess.run(
                    [probe, url, str(cert), step],
                    env={**os.environ, "LD_PRELOAD": library},
                    capture_output=True, text=True, check=False)
            finally:
                server.terminate()
    print(run.stdout.strip(), run.stderr.strip())
    reached = run.stdout.split()[0] if run.returncode == 0 else "0"
    holds = run.returncode == 0 and int(reached) > 1000
    print(f"{int(holds)} passed, {int(not holds)} failed")
    return not holds


if __name__ == "__main__":
    sys.exit(main())
