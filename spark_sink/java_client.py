"""The configuration of Kafka's clients, for the Java client inside of Spark: its names are not librdkafka's.

What decides who we are and whom we trust is translated, or refused by its name: a client that is less secure than it
was configured must not start. Of the rest, what is called alike goes along, and what is librdkafka's own stays behind.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import ConfigurationError

_ALIKE = frozenset(
    {
        *("client.dns.lookup", "client.id", "client.rack", "metadata.max.age.ms", "reconnect.backoff.max.ms"),
        *("receive.message.max.bytes", "ssl.cipher.suites", "sasl.kerberos.service.name"),
        *("fetch.max.bytes", "fetch.min.bytes", "max.partition.fetch.bytes", "socket.connection.setup.timeout.ms"),
    }
)
_MECHANISM = ("sasl.mechanism", "sasl.mechanisms")
_SECURITY = ("security.", "ssl.", "sasl.", "enable.ssl.", "enable.sasl.", "oauthbearer", "https.")
_FOR_LIBRDKAFKA_ONLY = frozenset({"ssl.provider", "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin"})
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule",
}
_OAUTH_CALLBACK = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"


def java_properties(settings: KafkaSettings) -> dict[str, str]:
    """For a consumer of Spark's. The values hold passwords and keys. ConfigurationError names what cannot be said."""
    left = dict(settings.extra)
    found = {"bootstrap.servers": settings.bootstrap_servers}
    found |= {key: left.pop(key) for key in _ALIKE & left.keys()}
    if "security.protocol" in left:
        found["security.protocol"] = left.pop("security.protocol").upper()
    found |= _tls(left)
    if found.get("security.protocol", "").startswith("SASL"):
        found |= _sasl(left, found)
    else:
        for key in [key for key in left if key.startswith("sasl.")]:
            del left[key]  # as librdkafka does: without SASL in the protocol they are of no effect
    for key in left:
        if key.startswith(_SECURITY) and key not in _FOR_LIBRDKAFKA_ONLY:
            raise ConfigurationError(
                f"kafka.extra has {key}, which Kafka's Java client, that Spark reads with, has no counterpart of. "
                f"Leave it out for the archive. What it takes is in docs/archive.md."
            )
    return found


def _tls(left: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    authorities = _pem(left, "ssl.ca.pem", "ssl.ca.location")
    if authorities is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authorities}
    chain = _pem(left, "ssl.certificate.pem", "ssl.certificate.location")
    key = _pem(left, "ssl.key.pem", "ssl.key.location")
    if (chain is None) != (key is None):
        raise ConfigurationError("kafka.extra has one of the client's certificate and its key, and both are needed.")
    if chain is not None and key is not None:
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
        if "ssl.key.password" in left:
            found["ssl.key.password"] = left.pop("ssl.key.password")
    checked = left.pop("ssl.endpoint.identification.algorithm", None)
    if checked is not None:
        found["ssl.endpoint.identification.algorithm"] = "" if checked == "none" else checked
    if left.pop("enable.ssl.certificate.verification", "true").lower() not in ("true", "1"):
        raise ConfigurationError(
            "kafka.extra turns off enable.ssl.certificate.verification, and Kafka's Java client always verifies. Give "
            "it the certificate to trust: ssl.ca.location."
        )
    return found


def _pem(left: dict[str, str], inline: str, location: str) -> str | None:
    """The text itself, so that executors on other machines need no file."""
    path = left.pop(location, None)
    text = left.pop(inline, None)
    if text is not None or path is None:
        return text
    try:
        return Path(path).expanduser().read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no PEM"
        raise ConfigurationError(f"kafka.extra: {location} = {path} cannot be read: {reason}.") from error


def _sasl(left: dict[str, str], found: Mapping[str, str]) -> dict[str, str]:
    given = [left.pop(key) for key in _MECHANISM if key in left]
    mechanism = (given[-1] if given else "GSSAPI").upper()
    if mechanism not in _MODULES:
        raise ConfigurationError(f"kafka.extra: sasl.mechanism is {mechanism}; Spark can use {', '.join(_MODULES)}.")
    options, more = _LOGINS[mechanism](left, found)
    told = " ".join(f"{name}={_quoted(value)}" for name, value in options.items())
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{_MODULES[mechanism]} required {told};", **more}


_Login = tuple[dict[str, str], dict[str, str]]
"""Options of the login, and further properties of the client."""


def _password(left: dict[str, str], _found: Mapping[str, str]) -> _Login:
    return {"username": _needed(left, "sasl.username"), "password": _needed(left, "sasl.password")}, {}


def _oauth(left: dict[str, str], _found: Mapping[str, str]) -> _Login:
    method = left.pop("sasl.oauthbearer.method", "default").lower()
    if method != "oidc":
        raise ConfigurationError(
            "kafka.extra: of sasl.oauthbearer.method, Spark can use oidc: a client's id and secret at a token endpoint."
        )
    options = {
        "clientId": _needed(left, "sasl.oauthbearer.client.id"),
        "clientSecret": _needed(left, "sasl.oauthbearer.client.secret"),
    }
    if "sasl.oauthbearer.scope" in left:
        options["scope"] = left.pop("sasl.oauthbearer.scope")
    return options, {
        "sasl.login.callback.handler.class": _OAUTH_CALLBACK,
        "sasl.oauthbearer.token.endpoint.url": _needed(left, "sasl.oauthbearer.token.endpoint.url"),
    }


def _kerberos(left: dict[str, str], found: Mapping[str, str]) -> _Login:
    options = {"useKeyTab": "true", "storeKey": "true", "keyTab": _needed(left, "sasl.kerberos.keytab")}
    options["principal"] = _needed(left, "sasl.kerberos.principal")
    return options, {"sasl.kerberos.service.name": found.get("sasl.kerberos.service.name", "kafka")}


_LOGINS: Mapping[str, Callable[[dict[str, str], Mapping[str, str]], _Login]] = {
    "PLAIN": _password,
    "SCRAM-SHA-256": _password,
    "SCRAM-SHA-512": _password,
    "OAUTHBEARER": _oauth,
    "GSSAPI": _kerberos,
}


def _needed(left: dict[str, str], key: str) -> str:
    if key not in left:
        raise ConfigurationError(f"kafka.extra has no {key}, which its sasl.mechanism needs.")
    return left.pop(key)


def _quoted(value: str) -> str:
    """As Java's parser of logins reads it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
