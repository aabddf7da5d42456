"""What a service answers by HTTP, beside its work: `/metrics`, `/livez`, `/readyz`."""

import logging
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from tamis.broker.configuration import MetricsSettings, Settings
from tamis.broker.errors import ConflictError
from tamis.broker.health import Check, Health
from tamis.broker.health_facts import HealthFacts
from tamis.broker.metrics import Meters
from tamis.broker.metrics_families import families
from tamis.broker.metrics_text import CONTENT_TYPE, Family, text_of

_LOG = logging.getLogger(__name__)
_TURN_SECONDS = 0.2
_REQUEST_SECONDS = 10.0
_TEXT = "text/plain; charset=utf-8"


class Pages(Protocol):
    """What there is to be had, by its path."""

    def page(self, path: str, query: str) -> tuple[HTTPStatus, str, str]:
        """Status, type and text."""
        ...


class MetricsServer:
    """Answers until it is closed; does nothing where the configuration has no address for it."""

    def __init__(self, settings: MetricsSettings, pages: Pages) -> None:
        """ConflictError if the address cannot be had."""
        self._server: _Server | None = None
        address = settings.address
        if address is None:
            return
        try:
            self._server = _Server(address, pages)
        except OSError as error:
            raise ConflictError(
                f"metrics.listen = {settings.listen}: this address cannot be had ({error.strerror}). Give each "
                "process of a machine one of its own; port 0 is any that is free."
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_TURN_SECONDS,), name="metrics", daemon=True
        )
        self._thread.start()
        _LOG.info("metrics and health are served", extra={"url": self.url})

    @property
    def url(self) -> str:
        """Where it answers, empty if it does not."""
        if self._server is None:
            return ""
        host, port = self._server.server_address[:2]
        return f"http://[{host!s}]:{port}" if ":" in str(host) else f"http://{host!s}:{port}"

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BrokerPages:
    """Of a broker process."""

    def __init__(self, settings: Settings, meters: Meters) -> None:
        self._meters = meters
        self._facts = HealthFacts(settings, meters)
        self._health = Health(meters, self._facts, settings.broker.stall_seconds)

    def page(self, path: str, query: str) -> tuple[HTTPStatus, str, str]:
        """Readiness asks Kafka for what stands in the way, if whoever asks wants to know all."""
        verbose = is_verbose(query)
        match path:
            case "/metrics":
                return metrics_page(self._families())
            case "/livez":
                return verdict_page(self._health.life(), verbose=verbose)
            case "/readyz":
                return verdict_page(self._health.readiness(verbose=verbose), verbose=verbose)
        return other_page(path)

    def _families(self) -> Iterator[Family]:
        ends, is_ready = self._facts.ends(), self._health.is_ready()
        return families(self._meters, ends, is_ready=is_ready, scrape_errors=self._facts.errors)


def is_verbose(query: str) -> bool:
    return "verbose" in query.split("&") or "verbose=" in query


def metrics_page(found: Iterable[Family]) -> tuple[HTTPStatus, str, str]:
    return HTTPStatus.OK, CONTENT_TYPE, text_of(found)


def verdict_page(checks: Sequence[Check], *, verbose: bool) -> tuple[HTTPStatus, str, str]:
    """Of what is not good each reason is told, of what is good only to those who ask."""
    is_good = all(check.is_good for check in checks)
    lines = [
        f"[{'+' if check.is_good else '-'}] {check.name}: {check.told}"
        for check in checks
        if verbose or not check.is_good
    ]
    status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
    return status, _TEXT, "\n".join([*lines, "yes" if is_good else "no", ""])


def other_page(path: str) -> tuple[HTTPStatus, str, str]:
    if path == "/":
        return HTTPStatus.OK, _TEXT, "/metrics\n/livez\n/readyz?verbose\n"
    return HTTPStatus.NOT_FOUND, _TEXT, "there are /metrics, /livez and /readyz\n"


class _Server(ThreadingHTTPServer):
    """A thread for each request, since one may have to wait for Kafka and another must not."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], pages: Pages) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, partial(_Handler, pages))

    def server_bind(self) -> None:
        """Without asking for this host's name, which may take long."""
        TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked may have gone."""
        del request
        _LOG.debug("a request of %s failed", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    timeout = _REQUEST_SECONDS

    def __init__(self, pages: Pages, *arguments: Any) -> None:
        self._pages = pages  # before the base class, which answers in here
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        url = urlsplit(self.path)
        status, kind, text = self._pages.page(url.path, url.query)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def version_string(self) -> str:
        return "tamis"

    def log_message(self, format: str, *args: Any) -> None:
        _LOG.debug(format, *args)
