"""What decides whether an expression is valid and what it means: the language's version, and limits.

Two processes that disagree about either could tell different matches of one view. Their digest goes where that would
show: into layouts, views and snapshots.
"""

import hashlib
from dataclasses import asdict

from tamis.indexes.limits import Limits

SEMANTICS = 1
"""Raised with any change of what an expression means, or of which texts are expressions."""


def digest(limits: Limits, semantics: int = SEMANTICS) -> str:
    told = [f"semantics={semantics}", *(f"{name}={value}" for name, value in sorted(asdict(limits).items()))]
    return hashlib.sha256(" ".join(told).encode()).hexdigest()[:32]
