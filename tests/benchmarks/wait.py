"""How long a user waits for a command: the CPU seconds of it, of its sampling and of its imports.

    uv run python tests/benchmarks/wait.py --beside ../old-checkout

Each command runs in a process of its own, with the package of this checkout, and perhaps of another one in turn. The
first run of each is not counted: it compiles modules, unless PYTHONDONTWRITEBYTECODE is set, which is removed here.
Sampling is nutpie's, with its threads and without imports; imports are those of the main thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "--help": ["--help"],
    "read @crowd": ["read", "@crowd"],
    "fit mace @crowd": ["fit", "mace", "@crowd", "--seed", "1", "--overwrite", "--out", "out"],
    "fit model_b @crowd --method vb": [
        *("fit", "model_b", "@crowd", "--method", "vb", "--seed", "1", "--overwrite", "--out", "out")
    ],
}
MEASURED = """
import importlib._bootstrap as importing, sys, threading, time

seconds = {"imports": 0.0, "sampling": 0.0}
depth, find, nuts = 0, importing._find_and_load, "bayesanno.inference.sampling.nuts"

def find_in_time(name, import_):
    global depth
    if threading.current_thread() is not threading.main_thread():
        return find(name, import_)
    begin, depth = time.thread_time(), depth + 1
    try:
        return find(name, import_)
    finally:
        depth -= 1
        if not depth:
            seconds["imports"] += time.thread_time() - begin
        if name == nuts:
            sys.modules[nuts]._run_nutpie = in_time(sys.modules[nuts]._run_nutpie)

def in_time(sample):
    def call(*given, **named):
        begin, before = time.process_time(), seconds["imports"]
        try:
            return sample(*given, **named)
        finally:
            seconds["sampling"] += time.process_time() - begin - seconds["imports"] + before
    return call

importing._find_and_load = find_in_time
from bayesanno.cli.app import main
try:
    main()
finally:
    print("seconds", time.process_time(), seconds["sampling"], seconds["imports"], file=sys.stderr)
"""


def run(checkout: Path, folder: str, arguments: list[str]) -> list[float]:
    """Return the CPU seconds of a command in all, of sampling and of imports."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(checkout)
    command = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stderr.splitlines()[-1].split()[1:]]


def main() -> None:
    """Print the table as Markdown: the least of the counted runs in all, with its parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    checkouts = [ROOT, *([options.beside.resolve()] if options.beside else [])]
    print("| CPU seconds | checkout | in all | sampling | imports | the rest |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in COMMANDS.items():
            rounds = [[run(one, folder, arguments) for one in checkouts] for _ in range(1 + options.rounds)][1:]
            for at, checkout in enumerate(checkouts):
                whole, sampling, imports = min(each[at] for each in rounds)
                parts = (whole, sampling, imports, whole - sampling - imports)
                print(f"| {name} | {checkout.name} | {' | '.join(f'{part:.1f}' for part in parts)} |", flush=True)


if __name__ == "__main__":
    main()
