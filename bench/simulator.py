# SPDX-License-Identifier: MIT
"""kin-apisim --replay as the benchmarks need it."""

import re
import subprocess
import tempfile
import urllib.request


class Certificate:
    """A throw-away certificate for 127.0.0.1, in a folder of its own."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="kinformer-bench-")
        self.certificate = f"{self._folder.name}/tls.crt"
        self.key = f"{self._folder.name}/tls.key"
        # EC, as kubeadm and most others make them by now.
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key, "-out",
             self.certificate, "-days", "2", "-subj", "/CN=kin-apisim",
             "-addext", "subjectAltName=IP:127.0.0.1"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    def close(self):
        self._folder.cleanup()


def program(build):
    return str(build / "tools/apisim/kin-apisim")


def has_tls(build):
    """Whether this kin-apisim can speak TLS."""
    result = subprocess.run([program(build), "--help"], check=False,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return b"--tls-cert" in result.stdout


class Simulator:
    def __init__(self, build, o, *arguments, certificate=None):
        self._argv = [program(build), "--port", "0", "--replay", "--pods",
                      str(o.pods), "--object-bytes", str(o.object_bytes),
                      *arguments]
        if certificate:
            self._argv += ["--tls-cert", certificate.certificate, "--tls-key",
                           certificate.key]

    def __enter__(self):
        self._process = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE)
        line = self._process.stdout.readline().decode()
        found = re.search(r"listening on (https?://\S+:(\d+))", line)
        if not found:
            self.__exit__()
            raise SystemExit(f"run.py: kin-apisim did not start: {line!r}")
        self.url, self.port = found.group(1), found.group(2)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    def control(self, what):
        """A request under /sim/; of a server without TLS."""
        request = urllib.request.Request(f"{self.url}/sim/{what}",
                                         method="POST")
        with urllib.request.urlopen(request) as response:
            response.read()
