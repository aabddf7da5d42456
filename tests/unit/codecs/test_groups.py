"""Some of the groups of a batch, which keep what is theirs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.codecs.groups import Groups

Plain = list[tuple[int, int, list[int], list[float]]]


def plain(groups: Groups) -> Plain:
    scores = groups.scores
    assert scores is not None
    bounds = groups.starts.tolist()
    return [
        (event, subscriber, groups.ids[first:end].tolist(), scores[first:end].tolist())
        for event, subscriber, first, end in zip(
            groups.events.tolist(), groups.subscribers.tolist(), bounds[:-1], bounds[1:], strict=True
        )
    ]


def groups_of(sizes: list[int]) -> Groups:
    starts = np.cumsum([0, *sizes]).astype(np.uint64)
    ids = np.arange(starts[-1], dtype=np.uint32)
    events = np.arange(len(sizes), dtype=np.uint32) // 2
    return Groups(events, np.arange(len(sizes), dtype=np.uint32) + 100, starts, ids, ids.astype(np.float64) / 2)


@given(st.lists(st.integers(1, 4), max_size=8), st.data())
def test_a_part_and_a_choice_are_those_groups(sizes: list[int], data: st.DataObject) -> None:
    groups = groups_of(sizes)
    whole = plain(groups)
    first = data.draw(st.integers(0, len(sizes)))
    end = data.draw(st.integers(first, len(sizes)))
    assert plain(groups.part(first, end)) == whole[first:end]
    order = data.draw(st.permutations(range(len(sizes))))[: data.draw(st.integers(0, len(sizes)))]
    assert plain(groups.taken(np.array(order, np.intp))) == [whole[place] for place in order]


def test_there_may_be_no_scores() -> None:
    groups = groups_of([2, 1])
    without = Groups(groups.events, groups.subscribers, groups.starts, groups.ids, None)
    assert without.part(0, 1).scores is None
    assert without.taken(np.array([1])).ids.tolist() == [2]
