"""What it costs to decode events of 30 attributes, beside fastavro and orjson.

    python -m benchmarks.codecs [--events N] [--rounds N]

Ten longs, ten doubles, ten strings of few values; one core, processor time, in rounds that take turns, of which the
best counts. Ours gives an `EventBatch` that is ready to be matched; fastavro and orjson give dicts, and no batch.
Batches are of 512 messages unless the row says otherwise.
"""

# pyright: reportMissingImports=false

import argparse
import gc
import io
import json
import random
import time
from collections.abc import Callable
from typing import Any

import fastavro
import numpy as np
import orjson  # pyright: ignore[reportMissingImports]

from benchmarks.report import Report
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.event_schema import EVENT_FORM, EVENT_HEADER
from tamis.codecs.messages import DETECT, EventFormat, Framing, Messages
from tamis.indexes import create

_NAMES = [f"attribute{place}" for place in range(30)]
_TYPES = ["long", "double", "string"]
_COLOURS = ["red", "green", "blue", "yellow"]
_BATCH = 512
_EVENT = fastavro.parse_schema(json.loads(EVENT_FORM))
_OWN = {
    "type": "record",
    "name": "Measurement",
    "fields": [{"name": name, "type": _TYPES[place % 3]} for place, name in enumerate(_NAMES)],
}
_NESTED = {
    "type": "record",
    "name": "Nested",
    "fields": [
        {
            "name": f"group{group}",
            "type": {
                "type": "record",
                "name": f"Group{group}",
                "fields": [{"name": name, "type": ["null", _TYPES[group]]} for name in _NAMES[group::3]],
            },
        }
        for group in range(3)
    ],
}
Work = Callable[[], object]


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description="Measure decoding.")
    parser.add_argument("--events", type=int, default=16 * _BATCH)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    report = Report("codecs")
    chance = random.Random(1)
    events = [attributes(chance) for _ in range(options.events)]
    measure(report, events, options.rounds)
    report.show()
    print(f"\nKept in {report.keep()}")


def attributes(chance: random.Random) -> dict[str, Any]:
    kinds: list[Callable[[], Any]] = [
        lambda: chance.randrange(1000),
        lambda: chance.random() * 100,
        lambda: f"{chance.choice(_COLOURS)}{chance.randrange(20)}",
    ]
    return {name: kinds[place % 3]() for place, name in enumerate(_NAMES)}


def measure(report: Report, events: list[dict[str, Any]], rounds: int) -> None:
    avro = [EVENT_HEADER + written(_EVENT, in_envelope(event, place)) for place, event in enumerate(events)]
    own = [written(fastavro.parse_schema(_OWN), event) for event in events]
    nested = [written(fastavro.parse_schema(_NESTED), in_groups(event)) for event in events]
    texts = [json.dumps(event).encode() for event in events]
    raw, raw_nested = (EventFormat(Framing.RAW, schema=json.dumps(schema)) for schema in (_OWN, _NESTED))
    asked = index_of(_NAMES)
    nested_names = index_of([f"group{place % 3}.{name}" for place, name in enumerate(_NAMES)])
    few = index_of(_NAMES[::10])
    table = f"Avro `Event`, {len(avro[0])} bytes"
    compare(
        report,
        table,
        rounds,
        len(events),
        [
            ("fastavro, to dicts", lambda: read_all(_EVENT, avro, len(EVENT_HEADER))),
            ("all attributes asked about", decoding(avro, DETECT, asked)),
            ("3 of 30 asked about", decoding(avro, DETECT, few)),
            ("for any index", decoding(avro, DETECT, None)),
            ("all, batches of 64", decoding(avro, DETECT, asked, 64)),
            ("all, one at a time", decoding(avro, DETECT, asked, 1)),
        ],
    )
    table = f"a flat record of its own, {len(own[0])} bytes"
    compare(
        report,
        table,
        rounds,
        len(events),
        [
            ("fastavro, to dicts", lambda: read_all(_OWN, own, 0)),
            ("all attributes asked about", decoding(own, raw, asked)),
            ("3 of 30 asked about", decoding(own, raw, few)),
            ("for any index", decoding(own, raw, None)),
        ],
    )
    table = f"three records in a record, unions with null, {len(nested[0])} bytes"
    compare(
        report,
        table,
        rounds,
        len(events),
        [
            ("fastavro, to dicts", lambda: read_all(_NESTED, nested, 0)),
            ("all attributes asked about", decoding(nested, raw_nested, nested_names)),
        ],
    )
    table = f"JSON, {len(texts[0])} bytes"
    compare(
        report,
        table,
        rounds,
        len(events),
        [
            ("orjson.loads, to dicts", lambda: load_all(orjson.loads, texts)),
            ("json.loads, to dicts", lambda: load_all(json.loads, texts)),
            ("all attributes asked about", decoding(texts, DETECT, asked)),
            ("3 of 30 asked about", decoding(texts, DETECT, few)),
            ("for any index", decoding(texts, DETECT, None)),
        ],
    )


def in_envelope(event: dict[str, Any], place: int) -> dict[str, Any]:
    return {"id": f"event-{place}", "time": 1_700_000_000_000_000 + place, "attributes": event, "weights": {}}


def in_groups(event: dict[str, Any]) -> dict[str, Any]:
    return {f"group{group}": {name: event[name] for name in _NAMES[group::3]} for group in range(3)}


def written(schema: Any, value: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, schema, value)
    return target.getvalue()


def index_of(names: list[str]) -> Any:
    """The vocabulary of subscriptions that ask about these attributes, and what they compare them with."""
    index = create("scan")
    index.insert_many(np.arange(len(names)), [f"{name} = 7 or {name} = 'red1' or {name} < 50.5" for name in names])
    return index


def decoding(values: list[bytes], format: EventFormat, index: Any, size: int = _BATCH) -> Work:
    decoder = EventDecoder()
    vocabulary = None if index is None else index.vocabulary
    batches = []
    for start in range(0, len(values), size):
        some = values[start : start + size]
        count = np.arange(start, start + len(some))
        batches.append(Messages("events", 0, count, np.full(len(some), 1_700_000_000_000), some, format=format))

    def work() -> None:
        for batch in batches:
            decoded = decoder.decode(batch, vocabulary)
            assert not decoded.refusals

    return work


def read_all(schema: Any, values: list[bytes], header: int) -> None:
    parsed = fastavro.parse_schema(schema)
    for value in values:
        fastavro.schemaless_reader(io.BytesIO(value[header:]), parsed, None)


def load_all(loads: Callable[[bytes], object], values: list[bytes]) -> None:
    for value in values:
        loads(value)


def compare(report: Report, table: str, rounds: int, count: int, works: list[tuple[str, Work]]) -> None:
    """The first is what the others stand beside."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, (_, work) in enumerate(works):
            gc.collect()
            began = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - began)
    for (name, _), taken in zip(works, best, strict=True):
        report.row(
            table, what=name, events_a_second=count / taken, ns_an_event=taken / count * 1e9, times=best[0] / taken
        )


if __name__ == "__main__":
    main()
