"""What a vocabulary promises, one by one."""

import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from tamis.indexes.vocabulary import Vocabulary, keyed_hash

ID_MAX = 2**32 - 2
REFERENCES_MAX = 2**32 - 1
KEY = bytes(range(16))

# Under KEY the strings of a pair have the same sub-table and the same 32 hash bits in it.
TWINS = [("s1867502", "s12027883"), ("s4326050", "s8501821"), ("s9569604", "s10233723"), ("s698222", "s7210766")]

TEXTS = [
    "",
    "\0",
    "a\0",
    "a",
    "a\0b",
    "price",
    "prix €",
    "😀",
    "\U0010ffff",
    "\ud7ff",
    "\ue000",
    "\u00e9",
    "e\u0301",
    "x" * 4_091,
    "x" * 4_092,
    "x" * 4_093,
    "y" * 32_763,
    "y" * 32_764,
    "y" * 32_765,
    "z" * 1_000_000,
]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary()


@pytest.fixture(scope="module")
def neighbours() -> list[str]:
    """Strings whose homes under KEY lie in the last hundredth of one sub-table: their run wraps around."""
    return [
        text
        for text in map(str, range(600_000))
        if (word := keyed_hash(text.encode(), KEY)) >> 56 == 7 and (word & 0xFFFFFFFF) * 100 >> 32 == 99
    ]


def siphash_1_3(data: bytes, key: bytes) -> int:
    """SipHash-1-3, written a second time, from the paper's figures and with the plainest means."""
    mask = 2**64 - 1
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    constants = (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")
    v = [k ^ int.from_bytes(c, "big") for k, c in zip((k0, k1, k0, k1), constants, strict=True)]

    def rotate(i: int, bits: int) -> None:
        v[i] = (v[i] << bits | v[i] >> (64 - bits)) & mask

    def half(pairs: Iterable[tuple[int, int, int]]) -> None:
        for i, j, bits in pairs:
            v[i] = (v[i] + v[j]) & mask
            rotate(j, bits)
            v[j] ^= v[i]

    def round_() -> None:
        half([(0, 1, 13), (2, 3, 16)])
        rotate(0, 32)
        half([(2, 1, 17), (0, 3, 21)])
        rotate(2, 32)

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        round_()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        round_()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def holds_exactly(vocabulary: Vocabulary, expected: dict[str, int]) -> bool:
    """Whether these strings, under these ids, are all that is held."""
    return len(vocabulary) == len(expected) and all(
        vocabulary.find(text) == number and vocabulary.text(number) == text for text, number in expected.items()
    )


class TestInterning:
    def test_a_string_keeps_one_id(self, vocabulary: Vocabulary) -> None:
        """Equal strings have equal ids, different strings different ones, whatever is in them."""
        ids = [vocabulary.intern(text) for text in TEXTS]
        assert ids == list(range(len(TEXTS)))
        assert [vocabulary.intern(text) for text in TEXTS] == ids
        assert [vocabulary.text(number) for number in ids] == TEXTS
        assert len(vocabulary) == len(TEXTS)

    def test_an_equal_string_is_found_though_it_is_another_object(self, vocabulary: Vocabulary) -> None:
        vocabulary.intern("price")
        assert vocabulary.find(b"price".decode()) == 0

    def test_strings_are_not_normalised(self, vocabulary: Vocabulary) -> None:
        """Strings are compared bytewise: a composed letter is not its decomposed twin, nor a capital a small one."""
        assert len({vocabulary.intern(text) for text in ("\u00e9", "e\u0301", "E\u0301")}) == 3

    def test_a_subclass_of_str_is_a_string(self, vocabulary: Vocabulary) -> None:
        class Name(str):
            __slots__ = ()

        assert vocabulary.intern(Name("price")) == vocabulary.intern("price")

    def test_find_takes_no_reference(self, vocabulary: Vocabulary) -> None:
        number = vocabulary.intern("price")
        assert vocabulary.find("price") == number
        assert "price" in vocabulary
        assert vocabulary.references(number) == 1

    def test_what_is_not_held_is_not_found(self, vocabulary: Vocabulary) -> None:
        """Neither in an empty vocabulary nor beside other strings, and looking adds nothing."""
        for _ in range(2):
            assert vocabulary.find("model") is None
            assert "model" not in vocabulary
            vocabulary.intern("price")
        assert len(vocabulary) == 1

    @pytest.mark.parametrize("first", [0, 1])
    def test_strings_with_equal_hash_bits_are_told_apart(self, first: int) -> None:
        """When all stored hash bits agree, the bytes decide."""
        for pair in TWINS:
            one, other = pair[first], pair[1 - first]
            words = [keyed_hash(text.encode(), KEY) for text in pair]
            assert words[0] >> 56 == words[1] >> 56
            assert words[0] & 0xFFFFFFFF == words[1] & 0xFFFFFFFF
            vocabulary = Vocabulary(hash_key=KEY)
            vocabulary.intern(one)
            assert other not in vocabulary
            vocabulary.intern(other)
            assert holds_exactly(vocabulary, {one: 0, other: 1})
            vocabulary.release(0)
            assert holds_exactly(vocabulary, {other: 1})

    def test_many_strings(self, vocabulary: Vocabulary) -> None:
        """Growth through many sizes of every sub-table loses nothing and confuses nothing."""
        expected = {f"attribute {number}": number for number in range(60_000)}
        assert [vocabulary.intern(text) for text in expected] == list(expected.values())
        assert holds_exactly(vocabulary, expected)
        assert not any(f"attribute {number}" in vocabulary for number in range(60_000, 120_000))


class TestReferences:
    def test_each_reference_is_counted(self, vocabulary: Vocabulary) -> None:
        number = vocabulary.intern("price")
        vocabulary.intern("price")
        vocabulary.retain(number)
        vocabulary.retain(number, count=7)
        assert vocabulary.references(number) == 10
        vocabulary.release(number)
        assert vocabulary.references(number) == 9

    def test_the_last_release_forgets_the_string(self, vocabulary: Vocabulary) -> None:
        number = vocabulary.intern("price")
        vocabulary.intern("price")
        vocabulary.release(number)
        assert vocabulary.text(number) == "price"
        vocabulary.release(number)
        assert "price" not in vocabulary
        assert len(vocabulary) == 0

    def test_a_string_that_comes_back_starts_with_one_reference(self, vocabulary: Vocabulary) -> None:
        vocabulary.retain(vocabulary.intern("price"), 5)
        for _ in range(6):
            vocabulary.release(0)
        assert vocabulary.references(vocabulary.intern("price")) == 1

    def test_a_count_never_wraps(self, vocabulary: Vocabulary) -> None:
        """At the greatest count one reference more is refused by every way to take one, and nothing changes."""
        number = vocabulary.intern("price")
        vocabulary.retain(number, REFERENCES_MAX - 1)
        generation = vocabulary.generation
        attempts: list[Callable[[], object]] = [
            lambda: vocabulary.intern("price"),
            lambda: vocabulary.retain(number),
            lambda: vocabulary.retain(number, REFERENCES_MAX),
            lambda: vocabulary.retain(number, 2**64 + 1),
        ]
        for attempt in attempts:
            with pytest.raises(OverflowError, match="references"):
                attempt()
        assert vocabulary.references(number) == REFERENCES_MAX
        assert vocabulary.generation == generation
        vocabulary.release(number)
        assert vocabulary.intern("price") == number

    @pytest.mark.parametrize("count", [0, -1, -(2**70)])
    def test_retain_takes_one_reference_or_more(self, vocabulary: Vocabulary, count: int) -> None:
        number = vocabulary.intern("price")
        with pytest.raises(ValueError, match=str(count)):
            vocabulary.retain(number, count)
        assert vocabulary.references(number) == 1


class TestIds:
    def test_a_new_string_gets_the_smallest_free_id(self, vocabulary: Vocabulary) -> None:
        """Whatever the order of releases, and however many ids are in use."""
        for number in range(150_000):
            vocabulary.intern(f"old {number}")
        freed = random.Random(5).sample(range(150_000), 3_000)
        for number in freed:
            vocabulary.release(number)
        given = [vocabulary.intern(f"new {number}") for number in range(3_002)]
        assert given == [*sorted(freed), 150_000, 150_001]

    def test_the_bound_is_one_above_the_greatest_id_in_use(self, vocabulary: Vocabulary) -> None:
        assert vocabulary.id_bound == 0
        for number in range(3_000):
            vocabulary.intern(str(number))
            assert vocabulary.id_bound == number + 1
        for number in [*range(2_998, 1_500, -1), *range(1_000)]:
            vocabulary.release(number)
            assert vocabulary.id_bound == 3_000
        vocabulary.release(2_999)
        assert vocabulary.id_bound == 1_501
        for number in range(1_500, 999, -1):
            vocabulary.release(number)
        assert vocabulary.id_bound == 0

    def test_ids_have_a_limit(self) -> None:
        """One string more than there are ids is refused; strings that are held can still be interned."""
        vocabulary = Vocabulary(ids_max=1_500)
        expected = {str(number): number for number in range(1_500)}
        for text in expected:
            vocabulary.intern(text)
        generation, size = vocabulary.generation, vocabulary.memory_bytes()
        for _ in range(2):
            with pytest.raises(OverflowError, match="full"):
                vocabulary.intern("one more")
        assert holds_exactly(vocabulary, expected)
        assert (vocabulary.generation, vocabulary.id_bound) == (generation, 1_500)
        assert vocabulary.memory_bytes() <= size + 1_024
        assert vocabulary.intern("1234") == 1_234
        vocabulary.release(77)
        assert vocabulary.intern("one more") == 77

    def test_the_bytes_have_a_limit(self) -> None:
        """When all segments are taken a string is refused and nothing has changed; a release makes room again."""
        vocabulary = Vocabulary(segments_max=3)
        texts = [letter * 20_000 for letter in "abcd"]
        for text in texts[:3]:
            vocabulary.intern(text)
        for text in (texts[3], "short"):
            with pytest.raises(OverflowError, match="segments"):
                vocabulary.intern(text)
        assert holds_exactly(vocabulary, {text: number for number, text in enumerate(texts[:3])})
        assert (vocabulary.generation, vocabulary.id_bound) == (3, 3)
        vocabulary.release(1)
        assert vocabulary.intern(texts[3]) == 1

    @pytest.mark.parametrize("options", [{"ids_max": 0}, {"ids_max": 2**32}, {"segments_max": 2**19 + 1}])
    def test_limits_have_limits(self, options: dict[str, int]) -> None:
        with pytest.raises(ValueError, match=f"{next(iter(options))} is 1 to"):
            Vocabulary(**options)  # type: ignore[arg-type]


class TestGeneration:
    def test_it_changes_when_a_string_comes_or_goes(self, vocabulary: Vocabulary) -> None:
        seen = [vocabulary.generation]
        vocabulary.intern("price")
        seen.append(vocabulary.generation)
        vocabulary.intern("model")
        seen.append(vocabulary.generation)
        vocabulary.release(0)
        seen.append(vocabulary.generation)
        vocabulary.intern("price")
        seen.append(vocabulary.generation)
        assert len(set(seen)) == 5

    def test_it_stays_while_the_same_strings_are_held(self, vocabulary: Vocabulary) -> None:
        vocabulary.intern("price")
        generation = vocabulary.generation
        vocabulary.intern("price")
        vocabulary.retain(0)
        vocabulary.find("model")
        vocabulary.release(0)
        assert vocabulary.generation == generation


class TestRefusals:
    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d \ude00"])
    @pytest.mark.parametrize("method", ["intern", "find", "__contains__"])
    def test_a_lone_surrogate_is_an_error_that_says_so(self, method: str, text: str) -> None:
        vocabulary = Vocabulary()
        with pytest.raises(ValueError, match=r"lone surrogate, U\+D[89A-F][0-9A-F]{2}, at index [01]:"):
            getattr(vocabulary, method)(text)
        assert len(vocabulary) == 0

    @pytest.mark.parametrize("text", [None, b"price", 7, ["price"]])
    @pytest.mark.parametrize("method", ["intern", "find", "__contains__"])
    def test_what_is_no_str_is_a_type_error(self, method: str, text: object) -> None:
        with pytest.raises(TypeError, match=type(text).__name__):
            getattr(Vocabulary(), method)(text)

    @pytest.mark.parametrize("number", [1, 2, 1_023, 1_024, 10**6, ID_MAX, ID_MAX + 1, 2**32, 2**64, -1, -(2**64)])
    @pytest.mark.parametrize("method", ["text", "retain", "release", "references"])
    def test_an_id_that_is_free_or_out_of_range_is_a_key_error(self, method: str, number: int) -> None:
        vocabulary = Vocabulary()
        for text in ("price", "model", "colour"):
            vocabulary.intern(text)
        vocabulary.release(1)
        vocabulary.release(2)
        with pytest.raises(KeyError, match=f"no string has the id {number}:"):
            getattr(vocabulary, method)(number)
        assert holds_exactly(vocabulary, {"price": 0})

    @pytest.mark.parametrize("number", [None, "0", 0.0])
    @pytest.mark.parametrize("method", ["text", "retain", "release", "references"])
    def test_an_id_that_is_no_integer_is_a_type_error(self, method: str, number: object) -> None:
        vocabulary = Vocabulary()
        vocabulary.intern("price")
        with pytest.raises(TypeError):
            getattr(vocabulary, method)(number)

    @pytest.mark.parametrize("key", [b"", bytes(15), bytes(17)])
    def test_a_hash_key_has_16_bytes(self, key: bytes) -> None:
        with pytest.raises(ValueError, match="16 bytes"):
            Vocabulary(hash_key=key)

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to RLIMIT_AS")
    @pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer needs the address space")
    def test_without_memory_it_stays_as_it_was(self) -> None:
        """Memory that runs out while a string is interned is a MemoryError, and the vocabulary serves on."""
        script = """
            import resource
            from tamis.indexes.vocabulary import Vocabulary

            vocabulary = Vocabulary()
            texts = [f"{number} " * 500 for number in range(8_000)]
            large = "x" * 50_000_000
            with open("/proc/self/statm") as statm:
                pages = int(statm.read().split()[0])
            limit = pages * resource.getpagesize() + 10_000_000
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            failures = 0
            held = {}
            for text in [large, *texts]:
                before = vocabulary.generation, vocabulary.id_bound
                try:
                    number = vocabulary.intern(text)
                except MemoryError:
                    failures += 1
                    assert (vocabulary.generation, vocabulary.id_bound) == before
                    assert text not in vocabulary
                else:
                    held[text] = number
            assert failures > 100, failures
            assert len(held) > 100, len(held)
            assert len(vocabulary) == len(held)
            for text, number in held.items():
                assert vocabulary.find(text) == number
                assert vocabulary.references(number) == 1
                vocabulary.release(number)
            assert vocabulary.memory_bytes() < 100_000, vocabulary.memory_bytes()
            vocabulary.intern("price")
        """
        command = [sys.executable, "-c", textwrap.dedent(script)]
        subprocess.run(command, check=True, timeout=60)


class TestMemory:
    def test_bytes_a_string(self, vocabulary: Vocabulary) -> None:
        """A string of 12 bytes costs at most 24 bytes besides its own, everything included."""
        for number in range(200_000):
            vocabulary.intern(f"{number:012}")
            if number % 5_000 == 0 and number >= 50_000:
                assert vocabulary.memory_bytes() / len(vocabulary) - 12 < 24

    def test_it_comes_back_after_a_mass_release(self, vocabulary: Vocabulary) -> None:
        """In any order of release, down to the first byte when nothing is left."""
        base = vocabulary.memory_bytes()
        numbers = [vocabulary.intern(f"value {number}") for number in range(50_000)]
        full = vocabulary.memory_bytes()
        random.Random(3).shuffle(numbers)
        for done, number in enumerate(numbers[:-100], start=1):
            vocabulary.release(number)
            if done == 25_000:
                # The half of the ids that is free lies all over the chunks, which take a fifth of the whole.
                assert vocabulary.memory_bytes() < 0.85 * full
        assert vocabulary.memory_bytes() < full / 3
        for number in numbers[-100:]:
            vocabulary.release(number)
        assert vocabulary.memory_bytes() == base

    def test_one_survivor_holds_on_to_little(self, vocabulary: Vocabulary) -> None:
        for number in range(50_000):
            vocabulary.intern(f"value {number}")
        for number in range(49_999):
            vocabulary.release(number)
        assert vocabulary.text(49_999) == "value 49999"
        assert vocabulary.memory_bytes() < 40_000

    def test_waves_leave_nothing_behind(self, vocabulary: Vocabulary) -> None:
        """A million strings that come and go in waves leave no more behind than the first wave did."""
        base = vocabulary.memory_bytes()
        peaks = []
        for wave in range(20):
            numbers = [vocabulary.intern(f"wave {wave:02} {number}") for number in range(50_000)]
            peaks.append(vocabulary.memory_bytes())
            for number in numbers:
                vocabulary.release(number)
            assert vocabulary.memory_bytes() == base
        assert max(peaks) < 1.05 * peaks[0]

    def test_churn_beside_strings_that_stay_costs_a_bounded_share(self, vocabulary: Vocabulary) -> None:
        """However long strings are exchanged at random, what is held is bounded by what is alive."""
        chance = random.Random(8)
        alive = [vocabulary.intern(f"first {number}") for number in range(10_000)]
        settled = 0
        for number in range(200_000):
            place = chance.randrange(len(alive))
            vocabulary.release(alive[place])
            alive[place] = vocabulary.intern(f"later {number}" * chance.choice((1, 1, 1, 9)))
            if number == 60_000:
                settled = vocabulary.memory_bytes()
        own = sum(len(vocabulary.text(place)) for place in alive)
        assert vocabulary.memory_bytes() < 1.05 * settled
        assert vocabulary.memory_bytes() < 8 / 3 * (own + 6 * len(alive)) + 24 * len(alive) + 50_000
        assert vocabulary.id_bound == len(alive)

    def test_strings_that_come_back_leave_nothing_behind(self, vocabulary: Vocabulary) -> None:
        """The bytes of a string that went and came back elsewhere are not mistaken for its present ones."""
        base = vocabulary.memory_bytes()
        chance = random.Random(6)
        pool = [f"attribute {number}" * 3 for number in range(4_000)]
        held: dict[str, int] = {}
        for _ in range(100_000):
            text = chance.choice(pool)
            if text in held:
                vocabulary.release(held.pop(text))
            else:
                held[text] = vocabulary.intern(text)
        assert holds_exactly(vocabulary, held)
        assert vocabulary.memory_bytes() < base + 8 / 3 * 52 * len(held) + 24 * len(held) + 80_000
        for number in held.values():
            vocabulary.release(number)
        assert vocabulary.memory_bytes() == base

    def test_long_strings_come_and_go(self, vocabulary: Vocabulary) -> None:
        base = vocabulary.memory_bytes()
        vocabulary.intern("x" * 10_000_000)
        assert 10_000_000 < vocabulary.memory_bytes() - base < 10_020_000
        vocabulary.release(0)
        assert vocabulary.memory_bytes() == base


class TestHashing:
    def test_it_is_siphash_1_3(self) -> None:
        """As a second implementation has it, for every length of the last word; one value is pinned."""
        assert keyed_hash(b"", KEY) == 0xABAC0158050FC4DC
        chance = random.Random(1)
        for length in [*range(70), 255, 256, 1_000]:
            data, key = chance.randbytes(length), chance.randbytes(16)
            assert keyed_hash(data, key) == siphash_1_3(data, key)

    def test_neighbours_in_one_run_are_told_apart(self, neighbours: list[str]) -> None:
        """In a run of slots that wraps around the end of its sub-table any order of coming and going is right."""
        assert len(neighbours) > 15
        chance = random.Random(11)
        strangers = neighbours[-3:]
        for _ in range(300):
            texts = chance.sample(neighbours[:-3], chance.randint(2, 15))
            vocabulary = Vocabulary(hash_key=KEY)
            expected = {text: vocabulary.intern(text) for text in texts}
            for text in chance.sample(texts, len(texts)):
                vocabulary.release(expected.pop(text))
                assert holds_exactly(vocabulary, expected)
                assert not any(stranger in vocabulary for stranger in (*strangers, text))

    def test_processes_hash_under_different_keys(self) -> None:
        """No input collides in every process: the order in which ids come is all that two processes share."""
        script = (
            "from tamis.indexes.vocabulary import Vocabulary\n"
            "vocabulary = Vocabulary()\n"
            "for number in range(3000):\n"
            "    vocabulary.intern(str(number))\n"
            "    print(vocabulary.memory_bytes())\n"
        )
        command = [sys.executable, "-c", script]
        one, other = (subprocess.run(command, check=True, capture_output=True, timeout=60).stdout for _ in range(2))
        assert one != other


def test_growth_and_shrinking_are_spread_out(vocabulary: Vocabulary) -> None:
    """No single write moves more than a small part: 200,000 strings take 6 MB, and no write changes that by 48 KiB.

    A table that grew at once would add a megabyte in one write; how long a write takes follows from what it moves.
    """
    sizes = [vocabulary.memory_bytes()]
    for number in range(200_000):
        vocabulary.intern(f"value {number}")
        sizes.append(vocabulary.memory_bytes())
    assert sizes[-1] > 6_000_000
    for number in random.Random(2).sample(range(200_000), 200_000):
        vocabulary.release(number)
        sizes.append(vocabulary.memory_bytes())
    assert max(abs(after - before) for before, after in pairwise(sizes)) < 48 * 1_024
