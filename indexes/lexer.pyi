from typing_extensions import disjoint_base

KEYWORDS: tuple[str, ...]
RESERVED_WORDS: tuple[str, ...]
SYMBOLS: tuple[str, ...]
FAILURES: tuple[str, ...]

@disjoint_base
class Lexer: ...
