"""What a state of subscriptions holds, to be compared with another one."""

from itertools import pairwise
from typing import Any

from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.match_texts import told_by

Content = dict[str, tuple[str, str, tuple[str, dict[str, str]], bool]]


def content(state: SubscriptionState) -> Content:
    """By key all that is known of it, whatever ids it has."""
    frozen = state.freeze()
    ids = frozen.table.ids()
    assert ids.tolist() == state.index.ids().tolist()
    keys = texts_of(frozen.keys.columns(ids))
    owners, scores, texts = frozen.table.columns(ids)
    names = state.subscriber_names(owners.tolist())
    told = texts_of(frozen.table.texts.columns(texts))
    found: Content = {}
    for number, key, owner, score, text in zip(ids.tolist(), keys, owners.tolist(), scores.tolist(), told, strict=True):
        name, tags = told_by(state.table.format, text)
        found[key.decode()] = names[owner].decode(), state.index[number].text, (name, dict(tags)), score
    return found


def texts_of(columns: tuple[Any, Any]) -> list[bytes]:
    starts, data = columns
    return [data[start:end].tobytes() for start, end in pairwise(starts.tolist())]
