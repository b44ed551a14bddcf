"""What a command still has to run, and that each run's result is kept as soon as it is known."""

from pathlib import Path

from benchmarks import results_schema
from tests.chaos import result
from tests.chaos.audit import Outcome
from tests.chaos.command import command_of, parse, todo
from tests.chaos.run import Result

BOTH = ["sqlite", "postgresql"]
COMMAND = "python -m tests.chaos"


def _result(seed: int, database: str, lost: set[str]) -> Result:
    outcome = Outcome(submitted={"a", "b"}, final={"a", "b"} - lost, lost=lost)
    return Result(seed, database, outcome, {"kill worker": 3}, 10.0, 0.0)


def test_a_stopped_command_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "chaos.json"
    assert [databases for _, databases in todo(BOTH, 3, result.databases_by_seed(path))] == [BOTH] * 3
    result.add(path, _result(7, "sqlite", set()), COMMAND)
    result.add(path, _result(7, "postgresql", {"a"}), COMMAND)
    result.add(path, _result(8, "sqlite", set()), COMMAND)
    held = result.databases_by_seed(path)
    assert held == {7: set(BOTH), 8: {"sqlite"}}
    begun, new = todo(BOTH, 3, held)
    assert begun == (8, ["postgresql"])
    assert new[1] == BOTH
    assert todo(BOTH, 1, {}, 5) == [(5, BOTH)]
    assert todo(BOTH, 1, held) == []
    rows = {row.id: row.fields for row in results_schema.read(path).rows}
    assert [(rows[f"seed-7-{name}"]["lost"], rows[f"seed-7-{name}"]["final"]) for name in BOTH] == [
        (0, 2),
        (1, 1),
    ]
    result.add(path, _result(7, "postgresql", set()), COMMAND)
    assert len(results_schema.read(path).rows) == 3
    assert results_schema.read(path).command == COMMAND


def test_the_result_names_the_command_that_was_given() -> None:
    given = [
        "--submissions",
        "1040",
        "--seeds",
        "5",
        "--append",
        "--output",
        "/x/chaos.json",
        "--keep",
        "/x/logs",
    ]
    wanted = "--submissions 1040 --seeds 5 --output benchmarks/results/chaos.json"
    assert command_of(parse(given)) == f"{COMMAND} {wanted}"
    given = ["--seed", "7", "--database", "sqlite", "--workers", "1", "--output", "one.json"]
    wanted = "--seed 7 --database sqlite --workers 1 --output benchmarks/results/one.json"
    assert command_of(parse(given)) == f"{COMMAND} {wanted}"
