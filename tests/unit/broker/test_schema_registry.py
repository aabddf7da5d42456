"""The real client against a small registry over HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from decoding import avro_bytes, messages, own
from tamis.broker.configuration import RegistrySettings
from tamis.broker.schema_registry import ConfluentRegistry
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.reasons import Reason
from tamis.codecs.registry import RegisteredSchema

USER = {"type": "record", "name": "User", "fields": [{"name": "age", "type": "int"}]}
ANSWERS: dict[int, tuple[int, dict[str, Any]]] = {
    1: (200, {"schema": json.dumps(USER)}),
    2: (200, {"schema": "{}", "schemaType": "JSON"}),
    3: (200, {"schema": "syntax = 'proto3';", "schemaType": "PROTOBUF"}),
    4: (200, {"schema": json.dumps(USER), "references": [{"name": "x", "subject": "x", "version": 1}]}),
    5: (500, {"error_code": 50001, "message": "the store is down"}),
}
MISSING = (404, {"error_code": 40403, "message": "Schema not found"})

STRANGE = (404, {"error_code": 404, "message": "HTTP 404 Not Found"})
"""What a registry says to a number that is no 32-bit one, as to any wrong address."""


class Handler(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        schema_id = int(self.path.partition("?")[0].rpartition("/")[2])
        status, body = ANSWERS.get(schema_id, MISSING) if schema_id < 2**31 else STRANGE
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def registry(asked: list[str]) -> Iterator[ConfluentRegistry]:
    Handler.asked = asked
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield ConfluentRegistry(
        RegistrySettings(url=f"http://127.0.0.1:{server.server_port}", extra={"max.retries": 0, "timeout": 5})
    )
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_schema_is_told_with_its_kind(registry: ConfluentRegistry) -> None:
    assert registry.schema(1) == RegisteredSchema("AVRO", json.dumps(USER))
    assert registry.schema(2) == RegisteredSchema("JSON", "{}")
    assert registry.schema(9) is None
    assert registry.schema(2**31) is None


def test_messages_are_decoded_with_the_registry_s_schemas(registry: ConfluentRegistry, asked: list[str]) -> None:
    decoder = EventDecoder(registry=registry)
    body = avro_bytes(USER, {"age": 33})
    framed = [b"\0" + schema_id.to_bytes(4, "big") + body for schema_id in (1, 9, 3, 4, 1)]
    for _ in range(2):
        result = decoder.decode(messages([*framed, b"\0\0\0\0\2" + b'{"a":1}']))
        assert [own(event) for event in result.batch] == [{"age": 33}, {"age": 33}, {"a": 1}]
        assert [refusal.reason for refusal in result.refusals] == [
            Reason.UNKNOWN_SCHEMA,
            Reason.UNUSABLE_SCHEMA,
            Reason.UNUSABLE_SCHEMA,
        ]
        assert "references" in result.refusals[2].detail
    assert len([path for path in asked if "/ids/1" in path]) == 1


def test_a_registry_that_fails_refuses_nothing(registry: ConfluentRegistry) -> None:
    decoder = EventDecoder(registry=registry)
    with pytest.raises(Exception, match="the store is down"):
        decoder.decode(messages([b"\0\0\0\0\5"]))
