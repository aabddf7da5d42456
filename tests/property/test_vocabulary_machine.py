"""A vocabulary beside a dict, through any sequence of writes."""

from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tamis.indexes.vocabulary import Vocabulary, keyed_hash

KEY = bytes(range(16))

# Under KEY all of them fall into one sub-table, at its end or at its beginning: their runs of slots meet.
CROWD = [
    text
    for text in map(str, range(150_000))
    if (word := keyed_hash(text.encode(), KEY)) >> 56 == 7 and ((word & 0xFFFFFFFF) * 16 >> 32) in {0, 15}
]
# Of each pair, the sub-table and all stored hash bits are equal.
TWINS = ["s1867502", "s12027883", "s4326050", "s8501821", "s698222", "s7210766"]

texts = st.one_of(
    st.sampled_from(CROWD),
    st.sampled_from(CROWD[:12]),
    st.sampled_from(TWINS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.builds(str.__mul__, st.sampled_from("aé€😀"), st.integers(0, 6_000)),
)


class VocabularyMachine(RuleBasedStateMachine):
    """`held` maps each string to its id and its references; `gone` remembers what was forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.vocabulary = Vocabulary(hash_key=KEY)
        self.base = self.vocabulary.memory_bytes()
        self.held: dict[str, tuple[int, int]] = {}
        self.gone: set[str] = set()
        self.changes = 0

    def intern_one(self, text: str) -> None:
        given = self.vocabulary.intern(text)
        if text in self.held:
            number, references = self.held[text]
            assert given == number
            self.held[text] = number, references + 1
        else:
            in_use = {number for number, _ in self.held.values()}
            assert given == next(number for number in range(len(in_use) + 1) if number not in in_use)
            self.held[text] = given, 1
            self.gone.discard(text)
            self.changes += 1

    def release_one(self, text: str) -> None:
        number, references = self.held[text]
        self.vocabulary.release(number)
        if references > 1:
            self.held[text] = number, references - 1
        else:
            del self.held[text]
            self.gone.add(text)
            self.changes += 1

    @rule(text=texts)
    def intern(self, text: str) -> None:
        self.intern_one(text)

    @rule(some=st.lists(texts, max_size=30))
    def intern_some(self, some: list[str]) -> None:
        for text in some:
            self.intern_one(text)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.release_one(data.draw(st.sampled_from(sorted(self.held))))

    @precondition(lambda self: self.held)
    @rule(chance=st.randoms(use_true_random=False), share=st.floats(0, 1))
    def release_some(self, chance: Random, share: float) -> None:
        for text in chance.sample(sorted(self.held), int(share * len(self.held))):
            self.release_one(text)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), count=st.integers(1, 3))
    def retain(self, data: st.DataObject, count: int) -> None:
        text = data.draw(st.sampled_from(sorted(self.held)))
        number, references = self.held[text]
        self.vocabulary.retain(number, count)
        self.held[text] = number, references + count

    @rule(first=st.integers(0, 10**6), count=st.integers(1, 1_500))
    def wave(self, first: int, count: int) -> None:
        """Strings that come and go at once, past the border of a chunk of ids."""
        passing = [f"wave {number}" for number in range(first, first + count)]
        for text in passing:
            self.vocabulary.intern(text)
        for text in passing:
            number = self.vocabulary.find(text)
            assert number is not None
            self.vocabulary.release(number)
        self.gone.update(passing[:3])
        self.changes += 2 * count

    @rule(text=texts)
    def find(self, text: str) -> None:
        number, _ = self.held.get(text, (None, 0))
        assert self.vocabulary.find(text) == number
        assert (text in self.vocabulary) == (text in self.held)

    @invariant()
    def what_is_held_is_found(self) -> None:
        for text, (number, references) in self.held.items():
            assert self.vocabulary.find(text) == number
            assert self.vocabulary.text(number) == text
            assert self.vocabulary.references(number) == references

    @invariant()
    def what_is_gone_is_not_found(self) -> None:
        assert not any(text in self.vocabulary for text in self.gone)

    @invariant()
    def the_counts_agree(self) -> None:
        assert len(self.vocabulary) == len(self.held)
        assert self.vocabulary.generation == self.changes
        assert self.vocabulary.id_bound == max((number + 1 for number, _ in self.held.values()), default=0)

    @invariant()
    def memory_is_bounded_by_what_is_held(self) -> None:
        own = sum(len(text.encode()) + 8 for text in self.held)
        chunks = len({number // 1_024 for number, _ in self.held.values()})
        bound = self.base + 8 * own / 3 + 100 * len(self.held) + 8_500 * chunks + 70_000
        assert self.vocabulary.memory_bytes() <= bound
        if not self.held:
            assert self.vocabulary.memory_bytes() == self.base


TestVocabulary = VocabularyMachine.TestCase
TestVocabulary.settings = settings(stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
