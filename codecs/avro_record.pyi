from typing import final

from tamis.codecs.avro_schema import AvroType

@final
class FieldPlan:
    def __new__(cls, record: AvroType, *, is_event: bool = False) -> FieldPlan: ...
    @property
    def is_event(self) -> bool: ...
    def __len__(self) -> int: ...
