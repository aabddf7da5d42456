"""A process answers by HTTP, also while there is no Kafka."""

import http.client
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from metrics_text import parsed
from tamis.broker.configuration import KafkaSettings, MetricsSettings, Settings
from tamis.broker.errors import ConfigurationError, ConflictError
from tamis.broker.metrics import Meters
from tamis.broker.metrics_server import BrokerPages, MetricsServer


def serving(listen: str) -> MetricsServer:
    settings = Settings(kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))
    return MetricsServer(MetricsSettings(listen=listen), BrokerPages(settings, Meters("scan")))


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with serving("127.0.0.1:0") as server:
        yield server


def asked(server: MetricsServer, path: str, method: str = "GET") -> tuple[int, str, str]:
    client = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    client.request(method, path)
    answer = client.getresponse()
    body = answer.read().decode()
    client.close()
    return answer.status, answer.headers["Content-Type"], body


def test_metrics_are_there_before_anything_else_is(server: MetricsServer) -> None:
    status, kind, text = asked(server, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = parsed(text)
    assert found["tamis_ready"].value() == 0
    assert list(found["tamis_build_info"].samples.values()) == [1]


def test_health_is_a_status_and_its_reasons(server: MetricsServer) -> None:
    assert asked(server, "/livez")[::2] == (200, "yes\n")
    status, _, text = asked(server, "/readyz")
    assert (status, text) == (503, "[-] subscriptions: reading them\n[-] group: it is in none\nno\n")
    assert "[+] loop: turned " in asked(server, "/readyz?verbose")[2]


def test_what_there_is_not_is_not_found(server: MetricsServer) -> None:
    assert asked(server, "/metrics/../secrets")[0] == 404
    assert asked(server, "/")[0] == 200
    assert asked(server, "/metrics", "POST")[0] == 501


def test_a_head_is_an_answer_without_its_text(server: MetricsServer) -> None:
    assert asked(server, "/livez", "HEAD")[::2] == (200, "")


def test_who_sends_nothing_holds_nobody_up(server: MetricsServer) -> None:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname or "", address.port or 0)):
        assert asked(server, "/livez")[0] == 200


def test_without_an_address_nothing_is_served() -> None:
    with serving("") as server:
        assert server.url == ""


def test_an_address_that_somebody_has_is_told(server: MetricsServer) -> None:
    with pytest.raises(ConflictError, match=r"cannot be had.*one of its own"):
        serving(urlsplit(server.url).netloc)


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:0", ("::1", 0)),
        ("broker-1.example.org:65535", ("broker-1.example.org", 65535)),
        ("", None),
    ],
)
def test_an_address_is_a_host_and_a_port(listen: str, address: tuple[str, int] | None) -> None:
    assert MetricsSettings(listen=listen).address == address


@pytest.mark.parametrize("listen", ["9464", ":9464", "host:", "host:65536", "::1:80", "host:80/x", "a b:80", ""])
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(ConfigurationError, match=r"flag --metrics.*HOST:PORT"):
        MetricsSettings.at(listen, "flag --metrics")
