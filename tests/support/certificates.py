"""TLS on this machine: an authority of its own, servers it vouches for, and what speaks TLS for one that cannot."""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tamis.admin.local.stack import StackOptions

_DAY = dt.timedelta(days=1)
_CHUNK = 1 << 16


class Authority:
    """Who trusts it trusts a server on 127.0.0.1, whose certificate and key are in files."""

    def __init__(self, folder: Path) -> None:
        key, own = ec.generate_private_key(ec.SECP256R1()), _name("Tamis's tests")
        authority = x509.BasicConstraints(ca=True, path_length=0)
        root = _certificate(own, own, key).add_extension(authority, critical=True).sign(key, hashes.SHA256())
        server_key = ec.generate_private_key(ec.SECP256R1())
        places = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        server = _certificate(_name("a server"), own, server_key).add_extension(places, critical=False)
        self.trusted, self.certificate, self.key = folder / "ca.pem", folder / "server.pem", folder / "server.key"
        self.trusted.write_bytes(root.public_bytes(Encoding.PEM))
        self.certificate.write_bytes(server.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
        self.key.write_bytes(server_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    def secured(self, options: StackOptions) -> StackOptions:
        """A stack whose Kafka takes logins over TLS only, as its clients know."""
        return replace(
            options,
            secured=True,
            properties={
                **options.properties,
                "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT",
                "listener.name.client.ssl.keystore.type": "PEM",
                "listener.name.client.ssl.keystore.certificate.chain": self.certificate.read_text(),
                "listener.name.client.ssl.keystore.key": self.key.read_text(),
            },
            client={**options.client, "security.protocol": "SASL_SSL", "ssl.ca.location": str(self.trusted)},
        )

    @contextlib.contextmanager
    def in_front_of(self, host: str, port: int) -> Iterator[int]:
        """The port on 127.0.0.1 on which a server that knows no TLS is reached by it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        async def begin() -> asyncio.Server:
            return await asyncio.start_server(partial(_joined, host, port), "127.0.0.1", 0, ssl=context)

        async def end() -> None:
            server.close()
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

        server = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            asyncio.run_coroutine_threadsafe(end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _joined(host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A connection, and another one to this place: what comes from either goes to the other."""
    with contextlib.suppress(OSError):
        their_reader, their_writer = await asyncio.open_connection(host, port)
        try:
            await asyncio.gather(_passed_on(reader, their_writer), _passed_on(their_reader, writer))
        finally:
            their_writer.close()
            writer.close()


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while some := await reader.read(_CHUNK):
        writer.write(some)
        await writer.drain()
    writer.close()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )
