from typing import final

@final
class BatchPool:
    def __new__(cls) -> BatchPool: ...
