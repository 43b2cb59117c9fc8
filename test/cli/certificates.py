# SPDX-License-Identifier: MIT
"""Throw-away certificates, made by the openssl command."""

import pathlib
import ssl
import subprocess
import tempfile

CA_CONFIG = """
[ca]
default_ca = it
[it]
new_certs_dir = {folder}
database = {folder}/index.txt
unique_subject = no
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
NAMES = "IP:127.0.0.1,DNS:localhost"


class Certificates:
    """Two authorities, `authority` and `stranger`, in a folder of its own, and
    what they sign. All paths are strings."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="kinformer-cli-")
        self.folder = pathlib.Path(self._folder.name)
        (self.folder / "index.txt").touch()
        (self.folder / "ca.conf").write_text(
            CA_CONFIG.format(folder=self.folder))
        self.authority = self.self_signed("authority", None)
        self.stranger = self.self_signed("stranger", None)

    def close(self):
        self._folder.cleanup()

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, content):
        """A file that appears or changes at once, as the kubelet's do."""
        new = self.folder / (name + ".new")
        new.write_bytes(content)
        new.rename(self.folder / name)
        return self.path(name)

    def key_of(self, certificate):
        return certificate.removesuffix(".crt") + ".key"

    def self_signed(self, name, names=NAMES):
        """An authority if `names` is None, else a server's."""
        extensions = ["-addext", f"subjectAltName={names}"] if names else []
        certificate = self.path(f"{name}.crt")
        self._openssl("req", "-x509", *KEY, "-keyout", self.key_of(certificate),
                      "-out", certificate, "-days", "3650", "-subj",
                      f"/CN={name}", *extensions)
        return certificate

    def signed(self, name, names=NAMES, start=None, end=None,
               authority="authority"):
        """With the times as YYYYMMDDHHMMSSZ."""
        certificate = self.path(f"{name}.crt")
        request = self.path(f"{name}.csr")
        signer = self.path(f"{authority}.crt")
        times = (["-startdate", start] if start else []) + \
            (["-enddate", end] if end else ["-days", "3650"])
        extensions = ["-addext", f"subjectAltName={names}"] if names else []
        self._openssl("req", "-new", *KEY, "-keyout", self.key_of(certificate),
                      "-out", request, "-subj", f"/CN={name}", *extensions)
        self._openssl("ca", "-batch", "-notext", "-config",
                      self.path("ca.conf"), "-cert", signer, "-keyfile",
                      self.key_of(signer), "-in", request, "-out", certificate,
                      *times)
        return certificate

    def server(self, certificate):
        """An SSLContext for a server that has it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, self.key_of(certificate))
        return context

    @staticmethod
    def _openssl(*arguments):
        result = subprocess.run(["openssl", *arguments],
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        if result.returncode != 0:
            raise AssertionError(f"openssl {' '.join(arguments)}: "
                                 f"{result.stdout.decode()}")
