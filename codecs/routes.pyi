from typing import final

from tamis.codecs.catalogue import SchemaCatalogue

@final
class Routes:
    def __new__(cls, catalogue: SchemaCatalogue) -> Routes: ...
