from pathlib import Path

import pytest

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import ConfigurationError
from tamis.spark_sink.java_client import java_properties


def properties(**extra: str) -> dict[str, str]:
    return java_properties(
        KafkaSettings(bootstrap_servers="k:1", extra={k.replace("_", "."): v for k, v in extra.items()})
    )


def test_without_anything_else_only_the_servers_are_told() -> None:
    assert properties() == {"bootstrap.servers": "k:1"}


def test_what_only_librdkafka_knows_stays_behind_and_what_is_called_alike_goes_along() -> None:
    found = properties(queue_buffering_max_ms="5", client_id="archiver")
    assert found == {"bootstrap.servers": "k:1", "client.id": "archiver"}


@pytest.mark.parametrize("key", ["sasl_mechanism", "sasl_mechanisms"])
def test_a_password_becomes_a_login_of_javas(key: str) -> None:
    found = properties(
        security_protocol="sasl_ssl", sasl_username="ann", sasl_password='a"b\\c;', **{key: "scram-sha-512"}
    )
    assert found["security.protocol"] == "SASL_SSL"
    assert found["sasl.mechanism"] == "SCRAM-SHA-512"
    assert found["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="a\\"b\\\\c;";'
    )
    assert not {"sasl.username", "sasl.password"} & found.keys()


def test_certificates_are_told_as_they_are_so_that_executors_need_no_files(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(f"PEM of {name}")
    found = properties(
        security_protocol="ssl",
        ssl_ca_location=str(tmp_path / "ca"),
        ssl_certificate_location=str(tmp_path / "cert"),
        ssl_key_location=str(tmp_path / "key"),
        ssl_key_password="secret",
        ssl_endpoint_identification_algorithm="none",
    )
    assert found["ssl.truststore.type"] == found["ssl.keystore.type"] == "PEM"
    assert found["ssl.truststore.certificates"] == "PEM of ca"
    assert found["ssl.keystore.certificate.chain"] == "PEM of cert"
    assert found["ssl.keystore.key"] == "PEM of key"
    assert found["ssl.key.password"] == "secret"
    assert found["ssl.endpoint.identification.algorithm"] == ""


def test_a_token_endpoint_is_asked_by_javas_own_handler() -> None:
    found = properties(
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_method="oidc",
        sasl_oauthbearer_client_id="me",
        sasl_oauthbearer_client_secret="hidden",
        sasl_oauthbearer_token_endpoint_url="https://tokens",
    )
    assert 'clientId="me" clientSecret="hidden"' in found["sasl.jaas.config"]
    assert found["sasl.oauthbearer.token.endpoint.url"] == "https://tokens"
    assert found["sasl.login.callback.handler.class"].endswith("OAuthBearerLoginCallbackHandler")


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"ssl_keystore_location": "x.p12"}, "ssl.keystore.location"),
        ({"enable_ssl_certificate_verification": "false"}, "enable.ssl.certificate.verification"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_username": "a"}, "sasl.password"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"}, "AWS_MSK_IAM"),
        ({"security_protocol": "ssl", "ssl_ca_location": "/not/there"}, "/not/there"),
        ({"security_protocol": "ssl", "ssl_key_pem": "secret"}, "certificate and its key"),
    ],
)
def test_what_would_be_less_secure_is_refused_by_name_and_without_secrets(extra: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        properties(**extra)
    assert named in str(refused.value)
    assert "secret" not in str(refused.value)
