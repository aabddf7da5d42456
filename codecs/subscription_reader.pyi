from collections.abc import Iterable
from typing import final

from tamis.codecs.subscription_columns import SubscriptionColumns

@final
class Reading: ...

def read_subscriptions(keys: Iterable[bytes | None], values: Iterable[bytes | None]) -> SubscriptionColumns: ...
