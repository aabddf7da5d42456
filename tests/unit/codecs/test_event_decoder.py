"""What a decoder promises beside the events themselves: order, ids, times, what was given, memory, schemas."""

import gc
import json
import threading
from typing import Any

import numpy as np
import pytest

from decoding import EVENT_SCHEMA, TIMESTAMP_MS, avro_bytes, decoded, messages, own, raw
from tamis.codecs.decoded_events import DecodedEvents
from tamis.codecs.errors import SchemaError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.event_schema import EVENT_FORM, EVENT_HEADER
from tamis.codecs.fingerprint import single_object_header
from tamis.codecs.limits import DecodingLimits, SchemaLimits
from tamis.codecs.messages import EventFormat, Framing, TimeUnit
from tamis.codecs.reasons import Reason
from tamis.codecs.registry import RegisteredSchema
from tamis.indexes import EventBatch, create, parse_many

USER = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": ["null", "int"]}],
}
JSON_EVENTS = EventFormat(Framing.JSON)


def event_bytes(attributes: dict[str, Any], weights: dict[str, float] | None = None, time: int = 5) -> bytes:
    event = {"id": "e", "time": time, "attributes": attributes, "weights": weights or {}}
    return EVENT_HEADER + avro_bytes(EVENT_SCHEMA, event)


class Registry:
    """A dict that counts how often it is asked."""

    def __init__(self, schemas: dict[int, RegisteredSchema]) -> None:
        self.schemas = schemas
        self.asked: list[int] = []

    def schema(self, schema_id: int) -> RegisteredSchema | None:
        self.asked.append(schema_id)
        return self.schemas.get(schema_id)


def registered(schema_id: int, body: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + body


def test_an_event_has_its_own_id_and_time_and_what_its_topic_gives() -> None:
    result = EventDecoder().decode(
        messages([event_bytes({"a": 1})], topic="orders", partition=3, offsets=[9], keys=["schlüssel".encode()])
    )
    assert result.batch[0] == {
        "a": 1, "$topic": "orders", "$partition": 3, "$key": "schlüssel", "$id": "e", "$time": 5,
    }  # fmt: skip
    assert (result.id(0), result.times.tolist(), result.positions.tolist()) == ("e", [5], [0])


def test_other_messages_have_their_place_for_an_id_and_kafka_s_time() -> None:
    result = EventDecoder().decode(messages([b"{}", b"{}"], topic="t.é", partition=12, offsets=[2**63 - 1, 0]))
    assert [result.id(0), result.id(1)] == [f"t.é/12/{2**63 - 1}", "t.é/12/0"]
    assert result.times.tolist() == [TIMESTAMP_MS * 1000] * 2
    assert result.batch[1]["$time"] == TIMESTAMP_MS * 1000


def test_a_time_that_kafka_does_not_know_is_missing() -> None:
    result = EventDecoder().decode(messages([b"{}", b"{}", b"{}"], timestamps=[-1, 2**63 - 1, 0]))
    assert ["$time" in event for event in result.batch] == [False, False, True]
    assert result.times.tolist() == [0, 0, 0]


def test_a_key_that_is_no_utf8_or_none_is_missing() -> None:
    result = EventDecoder().decode(messages([b"{}"] * 4, keys=[b"k", None, b"\xff", b""]))
    assert [event.get("$key") for event in result.batch] == ["k", None, None, ""]


def test_each_message_may_have_its_own_partition() -> None:
    result = EventDecoder().decode(messages([b"{}", b"{}"], partition=np.array([4, 5], dtype=np.int32)))
    assert [event["$partition"] for event in result.batch] == [4, 5]
    assert result.id(1) == "t/5/1"


@pytest.mark.parametrize(
    ("unit", "micros"), [(TimeUnit.SECONDS, 7_000_000), (TimeUnit.MILLISECONDS, 7_000), (TimeUnit.MICROSECONDS, 7)]
)
def test_a_topic_may_name_the_fields_that_are_id_and_time(unit: TimeUnit, micros: int) -> None:
    named = EventFormat(Framing.JSON, id="meta.key", time="at", time_unit=unit)
    decoder = EventDecoder()
    result = decoder.decode(
        [
            messages([b'{"meta":{"key":"x"},"at":7}', b'{"meta":{"key":-12},"at":7.0}'], named),
            messages([b'{"meta":{"key":"x"},"at":7}'], JSON_EVENTS),
        ]
    )
    assert [result.id(event) for event in range(3)] == ["x", "-12", "t/0/0"]
    assert result.times.tolist() == [micros, micros, TIMESTAMP_MS * 1000]
    assert own(result.batch[0]) == {"meta.key": "x", "at": 7}


def test_id_and_time_are_found_where_no_subscription_asks_for_them() -> None:
    named = EventFormat(Framing.JSON, id="i", time="t")
    result = EventDecoder().decode(messages([b'{"t":7,"i":"x"}'], named), create("scan").vocabulary)
    assert (result.id(0), result.times.tolist(), list(result.batch)) == ("x", [7], [{}])


def test_groups_of_messages_make_one_batch_in_their_order() -> None:
    result = EventDecoder().decode(
        [
            messages([b'{"n":0}', b"no", b'{"n":2}'], topic="a"),
            messages([avro_bytes(USER, {"name": "x", "age": 3}), b""], raw(USER), topic="b"),
            messages([event_bytes({"n": 5})], topic="c"),
        ]
    )
    assert [own(event) for event in result.batch] == [{"n": 0}, {"n": 2}, {"name": "x", "age": 3}, {"n": 5}]
    assert [event["$topic"] for event in result.batch] == ["a", "a", "b", "c"]
    assert result.positions.tolist() == [0, 2, 3, 5]
    assert [(refusal.position, refusal.reason) for refusal in result.refusals] == [
        (1, Reason.UNKNOWN_FRAMING),
        (4, Reason.TRUNCATED),
    ]


def test_with_an_index_s_vocabulary_a_batch_has_only_what_the_index_asks_about() -> None:
    index = create("scan")
    index.insert(1, 'a = 1 and s = "x" and $topic = "t"')
    index.insert(2, "missing a")
    values = [event_bytes({"a": 1, "s": "x", "other": 2}), b'{"s":"y","other":[1]}', event_bytes({"a": 1, "s": "z"})]
    result = EventDecoder().decode(messages(values), index.vocabulary)
    assert result.batch.bound
    assert result.batch[0] == {"a": 1, "s": "x", "$topic": "t"}
    assert [ids.tolist() for ids in index.match_batch(result.batch)] == [[1], [2], []]
    plain = EventDecoder().decode(messages(values))
    assert index.match_batch(plain.batch).ids.tolist() == index.match_batch(result.batch).ids.tolist()


def test_weights_are_the_event_s() -> None:
    index = create("scan")
    index.insert(1, "a = 1 weight 2 and b = 1")
    values = [event_bytes({"a": 1, "b": 1}), event_bytes({"a": 1, "b": 1}, {"a": 0.5, "c": 3.0}), b'{"a":1,"b":1}']
    for vocabulary in (None, index.vocabulary):
        batch = EventDecoder().decode(messages(values), vocabulary).batch
        expected = EventBatch.from_events([{"a": 1, "b": 1}] * 3, [None, {"a": 0.5, "c": 3.0}, None])
        scores = index.match_batch(batch, scores=True).scores
        assert scores is not None
        assert scores.tolist() == index.match_batch(expected, scores=True).scores.tolist()  # type: ignore[union-attr]


def test_a_refused_message_leaves_no_weights() -> None:
    broken = event_bytes({"a": 1}, {"a": 9.0})[:-1]
    index = create("scan")
    index.insert(1, "a = 1")
    batch = EventDecoder().decode(messages([broken, event_bytes({"a": 1}), broken, event_bytes({"a": 1})])).batch
    scores = index.match_batch(batch, scores=True).scores
    assert scores is not None
    assert scores.tolist() == [1.0, 1.0]


def test_memory_is_used_again_once_nobody_has_the_batch() -> None:
    decoder = EventDecoder()
    values = [event_bytes({"a": number, "s": f"text {number}"}, {"a": 0.5}) for number in range(100)]
    first = decoder.decode(messages(values))
    kept, address = first.batch, id(first.batch)
    del first
    assert id(decoder.decode(messages(values)).batch) != address, "someone has the first one"
    assert own(kept[99]) == {"a": 99, "s": "text 99"}
    del kept
    gc.collect()
    again = decoder.decode(messages([b'{"b":1}']))
    assert id(again.batch) == address
    assert [own(event) for event in again.batch] == [{"b": 1}]
    assert again.batch.vocabulary.find("a") is None
    bound = decoder.decode(messages([b'{"b":1}']), create("scan").vocabulary)
    assert bound.batch.bound


def test_memory_is_bounded_by_a_multiple_of_the_bytes() -> None:
    """Room is made for all messages at once, by what the first ones took: these mislead."""
    dense = json.dumps({f"{number:x}": number % 10 for number in range(4000)}).encode()
    sparse = [b'{"s":"%s"}' % (b"x" * 900_000)] * 8
    for values in ([dense, *sparse], [*sparse, dense], [dense] * 20, [b"{" + b" " * 10**6] * 8):
        batch = decoded(values).batch
        assert batch.memory_bytes() <= 100_000 + 25 * sum(map(len, values))


def test_many_threads_may_share_a_decoder() -> None:
    decoder = EventDecoder()
    wrong: list[int] = []

    def work(thread: int) -> None:
        for turn in range(50):
            values = [event_bytes({"n": thread * 1000 + turn, "s": f"{thread}"}) for _ in range(20)]
            events = decoder.decode(messages(values)).batch
            if any(own(event) != {"n": thread * 1000 + turn, "s": f"{thread}"} for event in events):
                wrong.append(thread)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_names_of_any_length_and_order_are_told_apart() -> None:
    """Keys are guessed from the message before, sixteen bytes at once: so all that a guess could mistake."""
    names = [
        "",
        "a",
        "b",
        "ab",
        "a\0",
        "a" * 15,
        "a" * 16,
        "a" * 17,
        "a" * 16 + "b",
        "a" * 32,
        "b" * 17,
        "é",
        "e\u0301",
    ]
    events = [{name: place + turn for place, name in enumerate(names)} for turn in range(2)]
    events += [dict(reversed(events[0].items())), dict.fromkeys(names[::2], 1), {names[-1]: 1}, {}, events[1]]
    for values in ([event_bytes(event) for event in events], [json.dumps(event).encode() for event in events]):
        assert [own(event) for event in decoded(values).batch] == events


def test_more_names_than_any_table_begins_with() -> None:
    events = [{f"name {place} {turn}": place for place in range(500)} for turn in range(3)]
    values = [event_bytes(event) for event in [*events, *events]]
    assert [own(event) for event in decoded(values).batch] == [*events, *events]
    assert sum(map(len, decoded(values, decoder=EventDecoder()).batch)) == 6 * 504


def test_strings_are_looked_up_as_they_are() -> None:
    texts = ["", "x", "x\0", "x" * 15, "x" * 16, "x" * 17, "y" * 16, "z" * 5000, "\U0010ffff"]
    events = [{"s": text} for text in [*texts, *reversed(texts)]]
    assert [own(event) for event in decoded([event_bytes(event) for event in events]).batch] == events
    index = create("scan")
    index.insert_many(
        np.arange(len(texts)),
        ["s = " + json.dumps(text, ensure_ascii=False) for text in texts[1:2] + texts[3:]]
        + ['s = ""', 's = "x\\u0000"'],
    )
    batch = EventDecoder().decode(messages([event_bytes(event) for event in events]), index.vocabulary).batch
    assert index.match_batch(batch).ids.size == len(events)


def test_a_schema_is_found_by_its_fingerprint() -> None:
    decoder = EventDecoder([json.dumps(USER)])
    body = avro_bytes(USER, {"name": "x", "age": None})
    result = decoder.decode(messages([single_object_header(USER) + body, event_bytes({})]))
    assert own(result.batch[0]) == {"name": "x"}
    assert len(result) == 2


def test_a_schema_is_asked_of_the_registry_once() -> None:
    registry = Registry({7: RegisteredSchema("AVRO", json.dumps(USER)), 8: RegisteredSchema("AVRO", EVENT_FORM)})
    decoder = EventDecoder(registry=registry)
    user = registered(7, avro_bytes(USER, {"name": "x", "age": 3}))
    event = registered(8, event_bytes({"a": 1})[10:])
    result = decoder.decode(messages([user, registered(9, b""), event, user, registered(9, b"")]))
    assert [own(event) for event in result.batch] == [{"name": "x", "age": 3}, {"a": 1}, {"name": "x", "age": 3}]
    assert result.id(1) == "e"
    assert [refusal.reason for refusal in result.refusals] == [Reason.UNKNOWN_SCHEMA] * 2
    decoder.decode(messages([user, event]))
    assert registry.asked == [7, 9, 8]
    registry.schemas[9] = registry.schemas[7]
    assert len(decoder.decode(messages([registered(9, user[5:])]))) == 1, "an unknown id is asked for again"


def test_a_registry_may_say_that_messages_are_json() -> None:
    decoder = EventDecoder(registry=Registry({1: RegisteredSchema("JSON", "{}")}))
    assert own(decoder.decode(messages([registered(1, b'{"a":1}')])).batch[0]) == {"a": 1}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (RegisteredSchema("PROTOBUF", "x"), "PROTOBUF"),
        (RegisteredSchema("AVRO", "{"), "not JSON"),
        (RegisteredSchema("AVRO", '"string"'), "an event is a record"),
    ],
)
def test_a_schema_that_cannot_be_used_refuses_its_messages(schema: RegisteredSchema, told: str) -> None:
    result = EventDecoder(registry=Registry({1: schema})).decode(messages([b"{}", registered(1, b"x")]))
    (refusal,) = result.refusals
    assert (refusal.position, refusal.reason) == (1, Reason.UNUSABLE_SCHEMA)
    assert told in str(refusal)


def test_a_registry_that_does_not_answer_refuses_nothing() -> None:
    class Silent:
        def schema(self, schema_id: int) -> RegisteredSchema | None:
            raise TimeoutError(schema_id)

    with pytest.raises(TimeoutError):
        EventDecoder(registry=Silent()).decode(messages([registered(1, b"")]))


def test_a_wrong_schema_of_one_s_own_is_refused_at_once() -> None:
    with pytest.raises(SchemaError):
        EventDecoder(["{"])
    with pytest.raises(SchemaError):
        decoded([b""], raw("string"))
    with pytest.raises(SchemaError, match="deep"):
        EventDecoder([json.dumps(USER)], schema_limits=SchemaLimits(depth=1))


def test_what_is_no_message_is_a_mistake_and_no_refusal() -> None:
    for values in ([1], ["text"], [bytearray(b"{}")]):
        with pytest.raises(TypeError, match="bytes or None"):
            decoded(values)  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [{"offsets": [1]}, {"timestamps": []}, {"keys": [None]}]
    for columns in [*wrong, {"partition": np.zeros(3, np.int32)}]:
        with pytest.raises(ValueError, match="2 messages"):
            EventDecoder().decode(messages([b"{}", b"{}"], **columns))
    with pytest.raises(ValueError, match="'raw'"):
        EventFormat(schema="{}")
    with pytest.raises(ValueError, match="'raw'"):
        EventFormat(Framing.RAW)
    with pytest.raises(TypeError, match="EventDecoder"):
        DecodedEvents()
    with pytest.raises(IndexError):
        decoded([b"{}"]).id(1)


@pytest.mark.parametrize("name", ["depth", "items", "attributes", "string_bytes", "message_bytes", "name_bytes"])
def test_a_limit_is_at_least_one_and_has_a_bound(name: str) -> None:
    for value in (0, 2**31):
        with pytest.raises(ValueError, match=name):
            DecodingLimits(**{name: value})


def test_no_messages_are_no_events() -> None:
    for result in (decoded([]), EventDecoder().decode([])):
        assert (len(result), len(result.batch), result.refusals) == (0, 0, [])


def test_parsing_needs_no_gil() -> None:
    """Another thread counts on while one message after the other is parsed."""
    values = [json.dumps({f"a{place}": place for place in range(3000)}).encode()] * 300
    counted = [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    decoded(values)
    after = counted[0]
    done.set()
    thread.join()
    assert after > before


def test_expressions_that_are_parsed_meet_events_that_were_decoded() -> None:
    expressions, errors = parse_many(["price < 5 and brand = 'x'"])
    assert not errors
    index = create("scan")
    index.insert_many(np.zeros(1, np.uint32), expressions)
    batch = EventDecoder().decode(messages([event_bytes({"price": 4.5, "brand": "x"})]), index.vocabulary).batch
    assert index.match_batch(batch).ids.tolist() == [0]
