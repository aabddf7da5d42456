from tamis.codecs.groups import Groups
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes.matches import Matches

def grouped(matches: Matches, table: SubscriptionTable, first: int = 0) -> Groups: ...
