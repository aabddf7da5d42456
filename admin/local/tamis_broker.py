"""A Tamis on a local stack: its topics, and its broker process, `tamis broker`, as a child that ends with the stack.

It is told everything by a file of configuration in the stack's folder, and nothing by the environment: whatever the
user's own Tamis is set to, this one works on this stack. What it keeps of its own is in that folder too.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tamis.admin.errors import StackError
from tamis.admin.local.servers import Server
from tamis.admin.local.stack import LocalStack
from tamis.admin.local.toml import toml_of
from tamis.broker.configuration import Settings
from tamis.broker.kafka import Consumer, KafkaException, TopicPartition, admin_client, consumer, end_offsets
from tamis.broker.topics import Wanted, create

_NAME = "tamis-broker"
_READY_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05
_CALL_SECONDS = 10.0


class TamisBroker:
    """Makes the topics. It can be started, killed, and started again in the same place, as after a crash."""

    def __init__(self, stack: LocalStack, settings: Settings) -> None:
        self._stack = stack
        self._server: Server | None = None
        self._settings = settings
        self.layout = create(settings, Wanted(event_topics=tuple(settings.events))).layout
        self._places = [(start.topic, start.partition) for start in self.layout.starts]
        self._group = settings.names.group(self.layout.number, 0)
        self._admin = admin_client(settings.kafka)
        self._client: Consumer | None = None
        self.configuration = stack.folder / "tamis.toml"
        """For whoever else wants to reach this Tamis."""
        # The folder is the user's alone; a secured stack's password is in there.
        self.configuration.write_text(toml_of(_document(settings)), encoding="utf-8")

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """Start it; it reads no events yet when this returns."""
        # Safe path: what lies in the stack's folder is not to be imported.
        python = [sys.executable, "-P", "-m", "tamis.admin"]
        command = [*python, "--config", str(self.configuration), "broker", "--slot", "dev"]
        self._server = self._stack.run(_NAME, command, _environment(self._stack.folder))

    def kill(self) -> None:
        """End it as a crash would (SIGKILL)."""
        server = self._running()
        server.signal(signal.SIGKILL)
        server.wait(_STOP_SECONDS)

    def require_running(self) -> None:
        """Raise, with its last words, if it has ended by itself."""
        self._running().require_running()

    def wait_until_ready(self) -> None:
        """Return once it has events to itself, for the first time: what comes from now on is matched."""
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            silence = None
            try:
                if all(offset >= 0 for offset in self._committed().values()):
                    return
            except StackError as error:  # who coordinates the group may not be known yet
                silence = error
            self.require_running()
            if time.monotonic() > deadline:
                raise StackError(f"The broker has not taken up its work. {self._running().last_words()}") from silence
            time.sleep(_POLL_SECONDS)

    def events_waiting(self) -> int:
        """How many events nobody has matched yet, as far as is committed."""
        committed = self._committed()
        waiting = 0
        for topic in {topic for topic, _ in committed}:
            ends = end_offsets(self._admin, topic, [partition for of, partition in committed if of == topic])
            waiting += sum(end - max(committed[topic, partition], 0) for partition, end in ends.items())
        return waiting

    def close(self) -> None:
        """Let go of what asks; the process goes with the stack."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _committed(self) -> Mapping[tuple[str, int], int]:
        if self._client is None:
            self._client = consumer(self._settings.kafka, self._group)
        places = [TopicPartition(*place) for place in self._places]
        try:
            found = self._client.committed(places, _CALL_SECONDS)
        except KafkaException as error:
            raise StackError(f"The broker's progress cannot be learnt: {error.args[0].str()}.") from error
        return {(place.topic, place.partition): place.offset for place in found}

    def _running(self) -> Server:
        if self._server is None:
            raise StackError("The broker is not running.")
        return self._server


def _environment(folder: Path) -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("TAMIS_")}
    return {**own, "TAMIS_STATE_DIR": str(folder)}


def _document(settings: Settings) -> Mapping[str, Any]:
    """What differs from the defaults, with paths that hold wherever it is read."""
    document: dict[str, Any] = settings.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    for topic, section in settings.events.items():
        if section.schema_file is not None:
            document["events"][topic]["schema_file"] = str(section.schema_file.absolute())
    return document
