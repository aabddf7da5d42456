"""A real Kafka and a real Redis on this machine, without Docker and without root: what `tamis dev` runs.

`LocalStack` is the facade. Kafka is its own jars, fetched once (`jars`) and started by a Java of the machine (`java`,
`archive`, `kafka`); Redis is the machine's or a wheel's (`redis`). A keeper process (`keeper`, `servers`) owns the
servers and their folder, so that nothing outlives the process that wanted them. Beyond starting and stopping, brokers
can be killed, paused and cut back (`log_cut`), for tests of what must survive that. With a `TamisBroker` it is a
whole Tamis.
"""

from tamis.admin.errors import StackError
from tamis.admin.local.cache import no_report
from tamis.admin.local.stack import LocalStack, StackOptions
from tamis.admin.local.tamis_broker import TamisBroker

__all__ = ["LocalStack", "StackError", "StackOptions", "TamisBroker", "no_report"]
