KEYWORDS: tuple[str, ...]
RESERVED_WORDS: tuple[str, ...]
SYMBOLS: tuple[str, ...]
FAILURES: tuple[str, ...]

class Lexer: ...
