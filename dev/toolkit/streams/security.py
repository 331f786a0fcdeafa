"""Users and certificates of a broker, made on the fly; they guard only throw-away data on this machine."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = dt.timedelta(days=30)
_USAGES = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


@dataclass(frozen=True)
class User:
    """An account with a password, valid for every mechanism."""

    name: str
    password: str


@dataclass(frozen=True)
class Identity:
    """A certificate with its key, as two files and as a combined one for Java."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str = "streams") -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(f"{name} authority")
        # Java recognises an authority by its name and its key's identifier.
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = (
            _unsigned(self._name, self._key.public_key(), self._name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(self._identifier, critical=False)
        )
        self.certificate = folder / f"{name}-authority.crt"
        self.certificate.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def identity(self, name: str, *addresses: str) -> Identity:
        """Create a client's certificate, or a server's with the addresses that clients check."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _unsigned(_named(name), key.public_key(), self._name)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(_USAGES), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier), critical=False
            )
        )
        if addresses:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_alternative(address) for address in addresses]), critical=False
            )
        certificate = _pem(builder.sign(self._key, hashes.SHA256()))
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        paths = [self._folder / f"{name}.{suffix}" for suffix in ("crt", "key", "pem")]
        for path, content in zip(paths, (certificate, secret, secret + certificate), strict=True):
            path.touch(mode=0o600)
            path.write_bytes(content)
        return Identity(*paths)


def _unsigned(name: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Also valid for clients with a clock that is behind.
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
