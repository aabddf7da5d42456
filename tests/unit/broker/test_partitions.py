import pytest

from tamis.broker.partitions import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "value"),  # as Kafka's own tests have them
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafkas_partitioner(key: bytes, value: int) -> None:
    assert murmur2(key) == value % 2**32


def test_every_partition_has_subscribers() -> None:
    assert {partition_of(f"subscriber-{number}", 16) for number in range(1000)} == set(range(16))
