"""Count lines of code, the files that a NUTS fit passes, and the modules that it loads.

    uv run python tests/benchmarks/code_size.py

A line of code has a token that is neither a comment nor part of a docstring. A file is passed when a line of one of its
functions runs during a fit by NUTS of a table in memory; a module is loaded when it is in `sys.modules` afterwards.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def count_code(path: Path) -> int:
    """Return the lines of a file that have code: no blank lines, comments or docstrings."""
    source = path.read_text(encoding="utf-8")
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def find_room(path: Path) -> str:
    """Return the room of a file, and the folder in it if there is one."""
    folders = path.relative_to(ROOT).parent.parts
    return "/".join(folders[1:3] if folders[0] == "bayesanno" else folders[:1]) or "."


def is_ours(name: str | None) -> bool:
    """Whether a module's name is one of the package."""
    return name is not None and (name == "bayesanno" or name.startswith("bayesanno."))


def follow_fit() -> tuple[list[str], list[str]]:
    """Return the files that a NUTS fit of a small table passes, and the modules of the package loaded afterwards."""
    import numpy as np

    import bayesanno as ba

    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=60)
    rows = [(f"i{i}", f"a{j}", str(truth[i] ^ (rng.random() < 0.2))) for i in range(60) for j in range(5)]
    data = ba.AnnotationData.from_records(rows)
    passed: set[str] = set()

    def note(code: object, _offset: int) -> object:
        name = code.co_filename  # type: ignore[attr-defined]
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # type: ignore[attr-defined]  # no module, no body of a class
        if is_function and name.startswith(str(ROOT / "bayesanno")):
            passed.add(name[len(str(ROOT)) + 1 :])
        return sys.monitoring.DISABLE

    watch = sys.monitoring
    watch.use_tool_id(watch.PROFILER_ID, "code_size")
    watch.register_callback(watch.PROFILER_ID, watch.events.PY_START, note)
    watch.set_events(watch.PROFILER_ID, watch.events.PY_START)
    ba.fit("model_b", data, draws=200, tune=200, chains=2, random_seed=1, progressbar=False)
    watch.set_events(watch.PROFILER_ID, 0)
    watch.free_tool_id(watch.PROFILER_ID)
    return sorted(passed), sorted(name for name in sys.modules if is_ours(name))


def main() -> None:
    """Print the counts."""
    package = [*(ROOT / "bayesanno").rglob("*.py")]
    package = [p for p in package if "models" not in p.relative_to(ROOT / "bayesanno").parts[:1]]
    models = [*(ROOT / "models").rglob("*.py")]
    counts = {path: count_code(path) for path in [*package, *models]}
    rooms: Counter[str] = Counter()
    for path, number in counts.items():
        rooms[find_room(path)] += number
    for room, number in sorted(rooms.items()):
        print(f"{room:28}{number:7,}")
    zoo = [path for path in models if not path.name.startswith("_") and path.parent.name == "models"]
    print(f"\nfiles {len(counts)}, all lines {sum(len(p.read_text().splitlines()) for p in counts):,}")
    of_package, of_models = (sum(counts[path] for path in paths) for paths in (package, models))
    print(f"code without docstrings {of_package:,}, and {of_models:,} in models")
    print(f"model files {len(zoo)}: {sum(len(p.read_text().splitlines()) for p in zoo):,} lines, all")
    passed, loaded = follow_fit()
    print(f"a NUTS fit passes {len(passed)} files and loads {len(loaded)} modules")
    if "-v" in sys.argv:
        print(*passed, "", *loaded, sep="\n")


if __name__ == "__main__":
    main()
