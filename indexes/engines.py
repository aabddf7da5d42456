"""The engines by name."""

from os import PathLike
from typing import Any

from tamis.indexes.errors import SnapshotError
from tamis.indexes.index import Index
from tamis.indexes.pst_bloom import PstBloom
from tamis.indexes.pst_hash import PstHash
from tamis.indexes.scan import Scan
from tamis.indexes.snapshot import Snapshot, read_snapshot

ENGINES: dict[str, type[Index]] = {engine.name: engine for engine in (Scan, PstBloom, PstHash)}
DEFAULT_ENGINE = PstHash.name


def create(engine: str = DEFAULT_ENGINE, **options: Any) -> Index:
    """Make an empty index."""
    return _engine(engine)(**options)


def load(path: str | PathLike[str], engine: str | None = None, **options: Any) -> Index:
    """Make an index of a snapshot, whichever engine saved it; `engine` is the one that saved it unless given."""
    snapshot = read_snapshot(path)
    if engine is None and snapshot.engine not in ENGINES:
        raise SnapshotError(
            f"{path} was saved by an engine {snapshot.engine!r}, which this version of Tamis does not have: "
            f"name another one, of {', '.join(ENGINES)}"
        )
    return adopted(snapshot, snapshot.engine if engine is None else engine, **options)


def adopted(snapshot: Snapshot, engine: str, **options: Any) -> Index:
    """Make an index of a snapshot that was read. Other threads go on meanwhile."""
    index = create(engine, **options)
    index.adopt(snapshot)
    return index


def _engine(name: str) -> type[Index]:
    try:
        return ENGINES[name]
    except KeyError:
        raise ValueError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}") from None
