"""Which partition a subscriber's subscriptions are in: Kafka's own hash, so that any client can tell."""

from functools import lru_cache

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_WORD = 0xFFFFFFFF


@lru_cache(maxsize=65_536)
def partition_of(key: str, partitions: int) -> int:
    """As Java's default partitioner has it for this key."""
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions


def outlet_partition(source: str, number: int, partitions: int) -> int:
    """Where the notifications of an event partition go: always to the same one, so that they keep their order."""
    return 0 if partitions == 1 else partition_of(f"{source}/{number}", partitions)


def murmur2(data: bytes) -> int:
    """MurmurHash2 with Kafka's seed, as an unsigned word."""
    value = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _FACTOR & _WORD
        word = (word ^ word >> 24) * _FACTOR & _WORD
        value = (value * _FACTOR & _WORD) ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _WORD
    value = (value ^ value >> 13) * _FACTOR & _WORD
    return value ^ value >> 15
