"""What records promise beside their bytes: keys, names, checks, texts."""

import hashlib
import json
import math
import struct
from types import MappingProxyType
from typing import Any

import pytest

from tamis.codecs import rules
from tamis.codecs.errors import RecordError
from tamis.codecs.event import SCHEMA as EVENT
from tamis.codecs.event import Event
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.event_schema import EVENT_FORM, EVENT_HEADER
from tamis.codecs.fingerprint import canonical_form, single_object_header
from tamis.codecs.headers import REASON, SETTLED, SOURCE, NotificationId, Rejection, WaitingPlace
from tamis.codecs.layout import Layout, Start
from tamis.codecs.messages import EventFormat, Framing, Messages
from tamis.codecs.rendering import rendered
from tamis.codecs.subscription import Subscription, default_name, parsed_key
from tamis.codecs.view import Position, Progress, View, ViewRecord
from tamis.indexes.errors import EventError
from tamis.indexes.limits import Limits

OWN = (
    '{"type": "record", "name": "Own", "fields": [{"name": "a", "type": "long"}, '
    '{"name": "b", "type": {"type": "record", "name": "B", "fields": [{"name": "c", "type": "string"}]}}]}'
)


class TestSubscription:
    def test_its_key_says_whose_it_is(self) -> None:
        subscription = Subscription("ann.b-1", "cheap_1", "price < 5")
        assert subscription.key == b"ann.b-1/cheap_1"
        assert parsed_key(subscription.key) == ("ann.b-1", "cheap_1")

    def test_key_and_record_agree(self) -> None:
        subscription = Subscription("ann", "cheap", "price < 5")
        assert Subscription.decode(subscription.encode(), b"ann/cheap") == subscription
        with pytest.raises(RecordError, match="bob/cheap") as raised:
            Subscription.decode(subscription.encode(), b"bob/cheap")
        assert raised.value.reason == "key_mismatch"

    @pytest.mark.parametrize(
        "key", [b"", b"ann", b"/", b"ann/", b"/cheap", b"a_b/n", b"a/n/m", b"\xff/n", b"a/n\n", b"a" * 201 + b"/n"]
    )
    def test_a_key_that_no_subscription_can_have_is_refused(self, key: bytes) -> None:
        with pytest.raises(RecordError) as raised:
            parsed_key(key)
        assert raised.value.reason == "bad_key"

    @pytest.mark.parametrize(
        ("subscriber", "name"), [("a_b", "n"), ("é", "n"), ("", "n"), ("a", ""), ("a", "n m"), ("a" * 201, "n")]
    )
    def test_names_are_such_as_topics_may_have(self, subscriber: str, name: str) -> None:
        with pytest.raises(RecordError, match="1 to 200"):
            Subscription(subscriber, name, "price < 5")

    def test_the_same_expression_has_the_same_name(self) -> None:
        """The first 16 characters of SHA-256 in base32: other clients find the same."""
        assert default_name("price < 5") == "MII4XR37RK6QJKGA"
        assert default_name("price < 5") != default_name("price < 6")
        Subscription("ann", default_name("price < 5"), "price < 5")

    def test_any_mapping_has_tags(self) -> None:
        tags = MappingProxyType({"a": "b"})
        assert Subscription.decode(Subscription("ann", "n", "", tags).encode()).tags == tags


class TestRules:
    def test_any_limit_and_the_language_decide(self) -> None:
        digests = {
            rules.digest(Limits()),
            rules.digest(Limits(), rules.SEMANTICS + 1),
            *(rules.digest(Limits(**{name: 17})) for name in Limits.__dataclass_fields__),
        }
        assert len(digests) == 2 + len(Limits.__dataclass_fields__)

    def test_a_digest_is_what_it_was(self) -> None:
        """It is in layouts and views for ever."""
        told = (
            "semantics=1 depth=64 pattern_bytes=1048576 pattern_characters=256 predicates=4096 set_members=10000 "
            "text_bytes=65536"
        )
        assert rules.digest(Limits(), 1) == hashlib.sha256(told.encode()).hexdigest()[:32]


class TestLayout:
    def layout(self, **changes: Any) -> Layout:
        fields: dict[str, Any] = {"number": 1, "shards": 2, "partitions": 16, "topics": {"t": "id"}, "limits": Limits()}
        return Layout(**fields | changes)

    def test_it_says_by_which_rules_it_was_written(self) -> None:
        assert self.layout().rules == rules.digest(Limits())
        assert Layout.decode(self.layout(rules="of another version").encode()).rules == "of another version"

    def test_starts_are_kept_in_order(self) -> None:
        starts = [Start("b", 1, 5), Start("a", 0, 0)]
        assert Layout.decode(self.layout(starts=starts).encode()).starts == tuple(starts)

    @pytest.mark.parametrize(
        "changes", [{"number": 0}, {"shards": 0}, {"partitions": 0}, {"shards": 17}, {"shards": -1}]
    )
    def test_what_cannot_be_is_refused(self, changes: dict[str, int]) -> None:
        with pytest.raises(RecordError) as raised:
            self.layout(**changes)
        assert raised.value.reason == "bad_value"

    def test_limits_out_of_range_are_refused(self) -> None:
        data = self.layout().encode()
        before = data.index(b"\x80\x80\x08")  # 65536
        with pytest.raises(RecordError, match="text_bytes"):
            Layout.decode(data[:before] + b"\x80\x80\x00" + data[before + 3 :])


class TestView:
    def test_its_text_is_what_it_was(self) -> None:
        view = View(3, [Position(0, 120, 4), Position(8, 0)])
        assert view.text == "1;3;0:120:4,8:0:-1"
        assert View.parse(view.text) == view
        assert View.parse(view.header) == view
        assert View.parse("1;3;") == View(3, [])

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "unknown_version"),
            ("2;3;0:1:1", "unknown_version"),
            ("11;3;", "unknown_version"),
            ("1;", "bad_syntax"),
            ("1;331", "bad_syntax"),
            ("1;3;0:1", "bad_syntax"),
            ("1;3;0:1:1,", "bad_syntax"),
            ("1;3;0:1:-2", "bad_syntax"),
            ("1;03;0:1:1", "bad_syntax"),
            ("1;3;0:+1:1", "bad_syntax"),
            ("1;3;0:1:1\n", "bad_syntax"),
            ("1;3;0:99999999999999999999:1", "bad_syntax"),
            ("1;3;1:1:1,0:1:1", "bad_value"),
            ("1;3;1:1:1,1:1:1", "bad_value"),
        ],
    )
    def test_a_text_that_is_none_is_refused(self, text: str, reason: str) -> None:
        with pytest.raises(RecordError) as raised:
            View.parse(text)
        assert raised.value.reason == reason

    def test_bytes_that_are_no_text_are_refused(self) -> None:
        with pytest.raises(RecordError):
            View.parse(b"\xff\xfe")

    def test_its_record_is_kept_by_shard_and_event_partition(self) -> None:
        record = ViewRecord(1, "events", "id", 7, 99, "rules", "other id", View(3, [Position(1, 2, 3)]))
        assert record.key == b"1/events/7"
        assert ViewRecord.decode(record.encode()) == record


class TestProgress:
    @pytest.mark.parametrize(
        ("progress", "text"),
        [
            (Progress(), ""),
            (Progress(View(3, [Position(1, 2, 3)])), "1;3;1:2:3"),
            (Progress(View(3, [Position(1, 2, 3)]), "ann.b-1"), "1;3;1:2:3|ann.b-1"),
            (Progress(None, "ann"), "|ann"),
        ],
    )
    def test_it_is_text_beside_an_offset(self, progress: Progress, text: str) -> None:
        assert progress.text == text
        assert Progress.parse(text) == progress

    def test_a_view_without_room_is_left_out_and_the_subscriber_is_not(self) -> None:
        """Forgetting the view costs a check, forgetting the subscriber would send twice."""
        long = View(3, [Position(number, 1 << 40, 3) for number in range(1000)])
        assert Progress(long).text == ""
        assert Progress.parse(Progress(long, "ann").text) == Progress(None, "ann")

    @pytest.mark.parametrize("text", ["2;3;1:2:3", "1;x|ann", "anything"])
    def test_what_is_no_progress_is_refused(self, text: str) -> None:
        with pytest.raises(RecordError):
            Progress.parse(text)


class TestHeaders:
    def test_an_id_is_what_it_was(self) -> None:
        """Readers compare it with those they kept."""
        found = NotificationId("Zm9vYmFyYmF6cXV4cXV1eA", 3, 1 << 40, "ann.b-1")
        assert found.header == b"1/Zm9vYmFyYmF6cXV4cXV1eA/3/1099511627776/ann.b-1"
        assert NotificationId.parse(found.header) == found

    @pytest.mark.parametrize(
        "header", [b"", b"1", b"1/a/0/0", b"1/a/-1/0/b", b"1/a/0/0/b/c", b"1/a/0/0/b\n", b"1/a/00/0/b"]
    )
    def test_an_id_of_another_form_is_refused(self, header: bytes) -> None:
        with pytest.raises(RecordError):
            NotificationId.parse(header)

    def test_a_later_version_says_so(self) -> None:
        with pytest.raises(RecordError) as raised:
            NotificationId.parse(b"2/whatever")
        assert raised.value.reason == "unknown_version"

    def test_a_rejection_says_where_and_why(self) -> None:
        rejection = Rejection("events", 1, 20, "bad_utf8", "attribute a/b: \ud800")
        headers = dict(rejection.headers)
        assert headers[SOURCE] == b"1/events/1/20"
        assert headers[REASON] == b"1/bad_utf8/attribute a/b: \\ud800"
        assert Rejection.parse(rejection.headers) == Rejection("events", 1, 20, "bad_utf8", "attribute a/b: \\ud800")
        assert Rejection.parse([*rejection.headers, ("other", b"")]).offset == 20

    def test_a_place_among_the_undelivered_reads_as_it_is_written(self) -> None:
        place = WaitingPlace(3, 2**40)
        assert place.header == b"1/3/1099511627776"
        assert WaitingPlace.parse(SETTLED, place.header) == place

    @pytest.mark.parametrize("header", [b"", b"1/3", b"1/3/-1", b"1/03/1", b"1/3/1/2", b"2/3/1"])
    def test_no_other_text_is_such_a_place(self, header: bytes) -> None:
        with pytest.raises(RecordError, match="tamis-settled"):
            WaitingPlace.parse(SETTLED, header)

    def test_what_was_not_rejected_has_no_reason(self) -> None:
        with pytest.raises(RecordError, match=REASON):
            Rejection.parse([(SOURCE, b"1/events/1/20")])


class TestEvent:
    def test_what_is_missing_is_not_written(self) -> None:
        event = Event("e", 1, {"a": None, "b": math.nan, "c": 0})
        assert Event.decode(event.encode()) == Event("e", 1, {"c": 0})

    def test_types_stay(self) -> None:
        values: dict[str, Any] = {"a": True, "b": 1, "c": 1.0, "d": "1", "e": -math.inf}
        read = Event.decode(Event("e", 1, values).encode()).attributes
        assert [(name, type(value), value) for name, value in read.items()] == [
            (name, type(value), value) for name, value in values.items()
        ]

    @pytest.mark.parametrize(
        ("attributes", "message"),
        [
            ({"a": 1 << 63}, "'a'.*long"),
            ({"a": b"x"}, "'a'.*bytes"),
            ({"a": [1]}, "'a'.*list"),
            ({1: 1}, "name is a str"),
            ({"a": "\ud800"}, "surrogate"),
            ({"\ud800": 1}, "surrogate"),
        ],
    )
    def test_an_attribute_that_cannot_be_is_named(self, attributes: Any, message: str) -> None:
        with pytest.raises(EventError, match=message):
            Event("e", 1, attributes).encode()

    @pytest.mark.parametrize("weight", [-1, math.inf, math.nan, "1", True, None])
    def test_a_weight_that_cannot_be_is_refused(self, weight: Any) -> None:
        with pytest.raises(EventError, match=r"'a'.*weight"):
            Event("e", 1, {}, {"a": weight}).encode()

    def test_a_weight_that_cannot_be_is_not_read(self) -> None:
        data = Event("e", 1, {}, {"a": 0.5}).encode()
        for weight in (-1.0, math.inf, math.nan):
            with pytest.raises(RecordError) as raised:
                Event.decode(data.replace(struct.pack("<d", 0.5), struct.pack("<d", weight)))
            assert raised.value.reason == "bad_weight"

    def test_a_time_beyond_all_times_is_refused(self) -> None:
        with pytest.raises(EventError, match=r"'e'.*64 bits"):
            Event("e", 1 << 63, {}).encode()

    def test_decoders_know_its_schema(self) -> None:
        assert canonical_form(EVENT.source) == EVENT_FORM
        assert EVENT.header == EVENT_HEADER


class TestRendering:
    def rendered(self, *values: bytes, **options: Any) -> list[bytes]:
        count = len(values)
        decoder = EventDecoder(schemas=[] if options else [OWN])
        return rendered(decoder, Messages("t", 3, [*range(count)], [0] * count, values, format=EventFormat(**options)))

    def test_json_stays_as_it_came(self) -> None:
        assert self.rendered(b' {"a" : 1e3}\n', b"{}") == [b' {"a" : 1e3}\n', b"{}"]

    def test_an_avro_event_is_an_object_of_its_attributes(self) -> None:
        values: dict[str, Any] = {"a": 1, "b": 2.5, 'c"': 'x\n"\\é', "d": True}
        assert json.loads(self.rendered(Event("e", 1, values).encode())[0]) == values
        event = Event("e", 1, values | {"e": math.inf, "f": -math.inf})
        assert (
            self.rendered(event.encode())[0].decode()
            == '{"a":1,"b":2.5,"c\\"":"x\\n\\"\\\\é","d":true,"e":1e999,"f":-1e999}'
        )
        assert self.rendered(Event("e", 1, {}).encode()) == [b"{}"]

    def test_a_record_of_one_s_own_is_an_object_too(self) -> None:
        header = single_object_header(json.loads(OWN))
        assert self.rendered(b"{}", header + b"\x02\x04hi") == [b"{}", b'{"a":1,"b.c":"hi"}']

    def test_raw_avro_is_no_json_whatever_it_begins_with(self) -> None:
        assert self.rendered(b"{\x00", framing=Framing.RAW, schema=OWN) == [b'{"a":-62,"b.c":""}']

    def test_what_is_no_event_is_refused(self) -> None:
        with pytest.raises(RecordError) as raised:
            self.rendered(b"\xc3\x01 something else")
        assert raised.value.reason == "unknown_schema"
