"""Made-up words, since those of the papers' documents are not at hand."""

import numpy as np

_CONSONANTS = list("tnshrdlcmwfgypbvkjxqz")
_VOWELS = list("eaoiu")
_LENGTH_MIN, _LENGTH_MAX = 4, 12


def words(chance: np.random.Generator, count: int) -> list[str]:
    """`count` distinct words of 4 to 12 letters, sorted; as in a language some beginnings are far more common."""
    found: set[str] = set()
    consonants = 1 / np.arange(1, len(_CONSONANTS) + 1)
    vowels = 1 / np.arange(1, len(_VOWELS) + 1)
    while len(found) < count:
        shape = count, _LENGTH_MAX // 2
        odd = chance.choice(_CONSONANTS, shape, p=consonants / consonants.sum())
        even = chance.choice(_VOWELS, shape, p=vowels / vowels.sum())
        letters = np.stack([odd, even], axis=2).reshape(count, _LENGTH_MAX)
        lengths = chance.integers(_LENGTH_MIN, _LENGTH_MAX + 1, count).tolist()
        for row, length in zip(letters, lengths, strict=True):
            if len(found) < count:
                found.add("".join(row[:length]))
    return sorted(found)
