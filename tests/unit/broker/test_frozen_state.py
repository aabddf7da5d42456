"""What comes out of a snapshot is what went in: beside states that were made of the log alone."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots import Parts, take_apart
from subscription_content import content, texts_of
from tamis.broker.frozen_state import ABOUT
from tamis.broker.partitions import partition_of
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription
from tamis.indexes import SnapshotError
from tamis.indexes.limits import Limits
from workloads import SCALE

LAYOUT = Layout(1, 1, 2, {"tamis.subscriptions": "id"}, Limits())
FORMATS = list(NotificationFormat)

Record = tuple[int, bytes, bytes | None]


def records(seed: int, count: int) -> Iterator[Record]:
    """Subscriptions come, change, are paused and go; names and tags are any."""
    chance = random.Random(seed)
    for _ in range(count):
        subscriber = f"subscriber-{chance.randrange(12)}"
        name = f"n{chance.randrange(25)}"
        expression = chance.choice(
            [
                f"a = {chance.randrange(9)}",
                'b in ("x", "ü", "") or missing c',
                f"not a < {chance.random()} and d = true",
            ]
        )
        tags = {
            chance.choice(["team", "ü", ""]): chance.choice(["", "blau", "日本"]) for _ in range(chance.randrange(4))
        }
        paused = "for now" if chance.random() < 0.1 else None
        subscription = Subscription(subscriber, name, expression, tags, chance.random() < 0.3, paused)
        value = None if chance.random() < 0.3 else subscription.encode()
        yield partition_of(subscriber, LAYOUT.partitions), subscription.key, value


def apply(state: SubscriptionState, given: list[Record]) -> SubscriptionState:
    for partition, key, value in given:
        state.apply(partition, [key], [value])
    return state


@pytest.mark.parametrize("saved", FORMATS)
@pytest.mark.parametrize("loaded", FORMATS)
def test_long_names_and_many_tags_come_back(
    tmp_path: Path, saved: NotificationFormat, loaded: NotificationFormat
) -> None:
    """From 64 on Avro tells a length in two bytes, of which the first is no UTF-8."""
    state = SubscriptionState(LAYOUT, "scan", saved)
    for length in (1, 63, 64, 65, 128, 200):
        one = Subscription(
            "ann", "n" * length, "a = 1", {f"{'ü' * length}{number}": "t" * 99 for number in range(length)}
        )
        apply(state, [(partition_of("ann", LAYOUT.partitions), one.key, one.encode())])
    state.freeze().save(tmp_path / "file", {})
    assert len(state) == 6
    assert content(SubscriptionState(LAYOUT, "scan", loaded, tmp_path / "file")) == content(state)


@pytest.mark.parametrize("saved", FORMATS)
@pytest.mark.parametrize("loaded", FORMATS)
def test_what_is_restored_is_what_the_log_gives_and_goes_on_like_it(
    tmp_path: Path, saved: NotificationFormat, loaded: NotificationFormat
) -> None:
    for seed in range(8):
        before, after = list(records(seed, 300)), list(records(seed + 100, 200))
        state = apply(SubscriptionState(LAYOUT, "pst-hash", saved), before)
        frozen = state.freeze()
        apply(state, after)
        frozen.save(tmp_path / "file", {"view": "v"})
        restored = SubscriptionState(LAYOUT, "pst-hash", loaded, tmp_path / "file")
        assert content(restored) == content(apply(SubscriptionState(LAYOUT, "scan", loaded), before))
        assert restored.tells_scores == any(scores for *_, scores in content(restored).values())
        assert content(apply(restored, after)) == content(state)
        assert restored.tells_scores == state.tells_scores
        apply(restored, [(partition, key, None) for partition, key, _ in before + after])
        assert len(restored) == len(restored.table) == len(restored._keys) == len(restored._subscribers) == 0


def test_a_snapshot_of_nothing_is_one(tmp_path: Path) -> None:
    SubscriptionState(LAYOUT, "scan").freeze().save(tmp_path / "file", {})
    state = SubscriptionState(LAYOUT, "pst-hash", NotificationFormat.AVRO, tmp_path / "file")
    assert len(state) == 0
    apply(state, list(records(1, 50)))
    assert len(state) > 0


def test_other_readers_find_the_keys_and_what_was_said_about_it(tmp_path: Path) -> None:
    state = apply(SubscriptionState(LAYOUT, "scan"), list(records(3, 100)))
    state.freeze().save(tmp_path / "file", {"view": "1;1;0:7:0"})
    restored = SubscriptionState(LAYOUT, "scan", NotificationFormat.AVRO, tmp_path / "file")
    columns = restored.index.columns
    keys = texts_of((columns["key_starts"], columns["key_bytes"]))
    assert sorted(key.decode() for key in keys) == sorted(content(state))
    assert restored.index.metadata[ABOUT] == {"view": "1;1;0:7:0", "notifications": "avro"}


def test_a_snapshot_of_an_index_alone_is_refused(tmp_path: Path) -> None:
    SubscriptionState(LAYOUT, "scan").index.save(tmp_path / "file")
    with pytest.raises(SnapshotError, match="without"):
        SubscriptionState(LAYOUT, "scan", NotificationFormat.AVRO, tmp_path / "file")


@pytest.mark.parametrize("format", FORMATS)
def test_columns_that_do_not_fit_together_are_refused(tmp_path: Path, format: NotificationFormat) -> None:
    """With right checksums: what only the checks of the columns can find. Never a crash, and never another answer."""
    state = apply(SubscriptionState(LAYOUT, "scan", format), list(records(5, 120)))
    state.freeze().save(tmp_path / "file", {})
    truth = content(state)
    chance = random.Random(7)
    refused = 0
    rounds = int(600 * SCALE)
    for _ in range(rounds):
        parts: Parts = take_apart(tmp_path / "file")
        name = chance.choice([name for name in parts.sections if name.startswith("column.")])
        column = parts.sections[name].copy()
        match chance.randrange(3):
            case 0:
                column = column[: chance.randrange(len(column))]
            case 1:
                place = chance.randrange(len(column))
                column[place] = chance.randrange(2 if column.dtype.kind == "b" else 1 << 8 * column.dtype.itemsize)
            case _:
                first, second = chance.randrange(len(column)), chance.randrange(len(column))
                column[first], column[second] = column[second], column[first]
        parts.sections[name] = column
        try:
            found = SubscriptionState(LAYOUT, "scan", format, parts.write(tmp_path / "changed"))
        except SnapshotError:
            refused += 1
            continue
        # What was taken is a state in itself: it can be read, and taken back.
        assert len(content(found)) <= len(truth)
        for key in content(found):
            found.apply(partition_of(key.split("/")[0], LAYOUT.partitions), [key.encode()], [None])
    assert refused > rounds // 3


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_damaged_anywhere_is_refused_or_means_the_same(
    tmp_path: Path, format: NotificationFormat
) -> None:
    """By bits that are turned over, by bytes that are others, and by its end that is missing."""
    state = apply(SubscriptionState(LAYOUT, "scan", format), list(records(6, 120)))
    state.freeze().save(tmp_path / "file", {})
    good, truth = (tmp_path / "file").read_bytes(), content(state)
    chance = random.Random(8)
    refused = 0
    rounds = int(600 * SCALE)
    for _ in range(rounds):
        changed = bytearray(good)
        if chance.random() < 0.3:
            del changed[chance.randrange(len(changed)) :]
        for _ in range(chance.choice((1, 1, 2, 20)) if len(changed) == len(good) else 0):
            changed[chance.randrange(len(changed))] ^= chance.choice((1 << chance.randrange(8), chance.randrange(256)))
        (tmp_path / "changed").write_bytes(changed)
        try:
            found = SubscriptionState(LAYOUT, "scan", format, tmp_path / "changed")
        except SnapshotError:
            refused += 1
            continue
        assert content(found) == truth
    assert refused > rounds // 2
