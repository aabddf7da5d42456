"""Reading the metrics of brokers that run, where they serve them."""

import http.client
import re
from urllib.parse import urlsplit

from tamis.broker.errors import InvalidError, UnreachableError

_SAMPLE = re.compile(r"(tamis_\w+)(\{.*\})? (\S+)", re.ASCII)
_SHOWN = re.compile(
    r"tamis_(?:(?:events|notifications|transactions|matches|match_candidates)\w*_total|subscriptions|subscribers_suspended"
    r"|partitions|partitions_owned|consumer_lag_records|ready|(?:delivery|transaction)_duration_seconds_(?:sum|count))",
    re.ASCII,
)
_BYTES_MAX = 16 << 20


def metrics_at(url: str, seconds: float) -> dict[str, float]:
    """Samples of what is worth telling, by name and labels. HOST:PORT will do for a URL."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidError(f"{url} is no address of a broker's metrics, such as http://localhost:9464/metrics.")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    client = kind(parts.netloc, timeout=seconds)
    try:
        client.request("GET", parts.path.rstrip("/") or "/metrics")
        answer = client.getresponse()
        text = answer.read(_BYTES_MAX).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(f"{url} does not answer: {error}. Is it what the broker's --metrics says?") from error
    finally:
        client.close()
    found = dict(_sample(match) for match in map(_SAMPLE.fullmatch, text.splitlines()) if match)
    if answer.status != http.client.OK or not found:
        raise InvalidError(f"{url} answers {answer.status}, and not with a broker's metrics.")
    return {name: value for name, value in found.items() if _SHOWN.fullmatch(name.partition("{")[0])}


def _sample(match: re.Match[str]) -> tuple[str, float]:
    return match[1] + (match[2] or ""), float(match[3])
