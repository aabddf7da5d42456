from typing import final

@final
class Validation: ...
