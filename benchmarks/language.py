"""What parsing and evaluating an expression costs, beside others in the same run.

    python -m benchmarks.language [--expressions N]

Expressions are conjunctions of five predicates over 100 integer attributes. Parsing stands beside an LALR parser of the
same grammar (docs/language.lark, by Lark); evaluating beside what people use in Python today. Best of three each.
"""

# The peers are there when the benchmark runs, and have no types.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lark

from benchmarks.report import Report
from benchmarks.timing import per_second
from tamis.indexes.columnar import parse_many
from tamis.indexes.expressions import parse
from tamis.indexes.printing import Predicate

Evaluate = Callable[[dict[str, int]], object]

_GRAMMAR = Path(__file__).parents[1] / "docs" / "language.lark"
_SLOW_EXPRESSIONS = 300
_EVENTS = 20


def conjunction(chance: random.Random) -> str:
    predicates: list[str] = []
    for dimension in chance.sample(range(100), 5):
        value = chance.randrange(100)
        operator = chance.choice(["=", "<", "<=", ">", ">=", "between"])
        operand = f"{value} and {value + chance.randrange(20)}" if operator == "between" else str(value)
        predicates.append(f"attr{dimension} {operator} {operand}")
    return " and ".join(predicates)


def in_python(predicate: Predicate, name: Callable[[str], str], equals: str) -> str:
    """A predicate as Python, CEL and rule-engine write it."""
    attribute = name(predicate.attribute)
    if predicate.operator == "between":
        low, high = predicate.operands
        return f"({attribute} >= {low} and {attribute} <= {high})"
    operator = equals if predicate.operator == "=" else predicate.operator
    return f"{attribute} {operator} {predicate.operands[0]}"


def json_logic(predicate: Predicate) -> dict[str, Any]:
    variable = {"var": predicate.attribute}
    if predicate.operator == "between":
        return {"<=": [predicate.operands[0], variable, predicate.operands[1]]}
    return {"==" if predicate.operator == "=" else predicate.operator: [variable, predicate.operands[0]]}


def peers(texts: list[str]) -> dict[str, list[Evaluate]]:
    """By name: for each expression a function from event to answer."""
    import cel
    import celpy
    import rule_engine
    from json_logic import jsonLogic

    predicates = [parse(text).predicates for text in texts]
    plain = [" and ".join(in_python(p, str, "==") for p in some) for some in predicates]
    subscripts = [" and ".join(in_python(p, lambda a: f"e[{a!r}]", "==") for p in some) for some in predicates]
    c_like = [text.replace(" and ", " && ") for text in plain]
    environment = celpy.Environment()
    programs = [environment.program(environment.compile(text)) for text in c_like]

    def with_json_logic(some: tuple[Predicate, ...]) -> Evaluate:
        rule = {"and": [json_logic(predicate) for predicate in some]}
        return lambda event: jsonLogic(rule, event)

    def with_celpy(program: Any) -> Evaluate:
        return lambda event: program.evaluate({key: celpy.celtypes.IntType(value) for key, value in event.items()})

    return {
        "compiled Python lambda": [eval(f"lambda e: {text}") for text in subscripts],
        "rule-engine": [rule_engine.Rule(text).matches for text in plain],
        "json-logic-qubit": [with_json_logic(some) for some in predicates],
        "common-expression-language (Rust)": [cel.compile(text).execute for text in c_like],
        "cel-python": [with_celpy(program) for program in programs],
    }


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--expressions", type=int, default=300_000)
    count = parser.parse_args().expressions
    report = Report("language")
    chance = random.Random(1)
    texts = [conjunction(chance) for _ in range(count)]
    measure_parsing(report, texts)
    measure_evaluating(report, texts[:_SLOW_EXPRESSIONS], chance)
    report.show()
    print(f"\nKept in {report.keep()}")


def measure_parsing(report: Report, texts: list[str]) -> None:
    few = texts[:_SLOW_EXPRESSIONS]
    grammar = lark.Lark(_GRAMMAR.read_text(), parser="lalr", lexer="basic")
    rates = {
        "parse_many": per_second(len(texts), lambda: parse_many(texts)),
        "parse": per_second(len(texts), lambda: [parse(text) for text in texts]),
        "LALR parser (Lark)": per_second(len(few), lambda: [grammar.parse(text) for text in few]),
    }
    slowest = min(rates.values())
    for name, rate in rates.items():
        report.row("Parsing", what=name, expressions_a_second=rate, times_the_slowest=rate / slowest)
    expressions, _errors = parse_many(texts)
    for part, size in expressions.memory_bytes().items():
        report.row("Bytes an expression, in columns", part=part, bytes=size / len(texts))


def measure_evaluating(report: Report, texts: list[str], chance: random.Random) -> None:
    events = [{f"attr{number}": chance.randrange(100) for number in range(100)} for _ in range(_EVENTS)]
    ours = [parse(text) for text in texts]
    contenders: dict[str, list[Evaluate]] = {
        "Expression.evaluate": [expression.evaluate for expression in ours],
        **peers(texts),
    }
    expected = [[function(event) for event in events] for function in contenders["Expression.evaluate"]]
    for name, functions in contenders.items():
        answers = [[bool(function(event)) for event in events] for function in functions]

        def evaluate(functions: list[Evaluate] = functions) -> None:
            for function in functions:
                for event in events:
                    function(event)

        rate = per_second(len(functions) * len(events), evaluate)
        same = "yes" if answers == expected else "no"
        report.row("Evaluating one on an event", what=name, microseconds=1e6 / rate, same_answers=same)


if __name__ == "__main__":
    main()
