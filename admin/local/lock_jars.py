"""Write `kafka_jars.txt` anew: the jars that a version of Kafka's server needs, with their digests.

For maintainers: python -m tamis.admin.local.lock_jars 4.2.2
"""

import hashlib
import sys
import tempfile
from pathlib import Path

from jgo.env import EnvironmentBuilder
from jgo.maven import MavenContext

_LOGGING = "org.slf4j:slf4j-simple:1.7.36"  # without a binding a broker logs nothing at all
_HEADER = """\
# The jars of Apache Kafka's server, in class path order: Maven coordinates and SHA-256.
# Made by: python -m tamis.admin.local.lock_jars {version}
"""


def lock(version: str) -> str:
    """The text of the lock file, resolved and downloaded into an empty repository."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "repository"
        context = MavenContext(repo_cache=repository)
        builder = EnvironmentBuilder(context=context, cache_dir=Path(folder) / "environments")
        builder.from_endpoint(f"org.apache.kafka:kafka_2.13:{version}+{_LOGGING}")
        lines = sorted(_line(repository, jar) for jar in repository.rglob("*.jar"))
    return _HEADER.format(version=version) + "".join(lines)


def _line(repository: Path, jar: Path) -> str:
    *group, artifact, version, _file_name = jar.relative_to(repository).parts
    with jar.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{'.'.join(group)}:{artifact}:{version} {digest}\n"


if __name__ == "__main__":
    Path(__file__).with_name("kafka_jars.txt").write_text(lock(sys.argv[1]))
