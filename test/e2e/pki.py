# SPDX-License-Identifier: MIT
"""Authorities and certificates, made with the openssl command."""

import os
import pathlib
import subprocess
import tempfile


class Authority:
    """A certificate authority with one key for all that it issues.

    One key, so that a server's certificate is replaced by one rename.
    """

    def __init__(self, directory, name):
        self._directory = pathlib.Path(directory) / name
        self._directory.mkdir()
        self.certificate = self._directory / "ca.crt"
        self._key = self._directory / "ca.key"
        self.issued_key = self._directory / "issued.key"
        for key in (self._key, self.issued_key):
            make_key(key)
        _openssl("req", "-x509", "-new", "-key", self._key,
                 "-subj", f"/CN=e2e {name}", "-days", "2",
                 "-addext", "keyUsage=critical,keyCertSign",
                 "-out", self.certificate)

    def issue(self, name, alternative_names="", groups=(), days=2):
        """Returns the path of a certificate for issued_key.

        alternative_names as in "DNS:localhost,IP:127.0.0.1". To the API server
        a client's name is a user, its groups those of the user. With -1 days
        the certificate has expired a day ago.
        """
        certificate = self._directory / f"{name}.crt"
        usage = "serverAuth" if alternative_names else "clientAuth"
        extensions = [f"extendedKeyUsage={usage}", "basicConstraints=CA:FALSE",
                      "authorityKeyIdentifier=keyid"]
        if alternative_names:
            extensions.append(f"subjectAltName={alternative_names}")
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        with tempfile.NamedTemporaryFile("w", suffix=".ext") as file:
            file.write("\n".join(extensions) + "\n")
            file.flush()
            request = _openssl("req", "-new", "-key", self.issued_key,
                               "-subj", subject)
            _openssl("x509", "-req", "-CA", self.certificate,
                     "-CAkey", self._key, "-days", str(days),
                     "-extfile", file.name, "-out", certificate, data=request)
        return certificate


def make_key(path):
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout",
             "-out", path)


def _openssl(*arguments, data=b""):
    run = subprocess.run(["openssl", *map(str, arguments)], input=data,
                         capture_output=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: "
                           + run.stderr.decode(errors="replace"))
    return run.stdout


def replace(path, content):
    """Writes a file so that a reader sees the old one or the new one."""
    new = path.with_name(path.name + ".new")
    if isinstance(content, pathlib.Path):
        content = content.read_bytes()
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.replace(new, path)
