from typing import Self, final

from tamis.indexes.lexer import Lexer
from tamis.indexes.limits import Limits
from tamis.indexes.vocabulary import Vocabulary

@final
class Parser(Lexer):
    def __new__(cls, vocabulary: Vocabulary, limits: Limits) -> Self: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
