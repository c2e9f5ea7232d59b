"""The command line: reads options, calls the library, writes files whole or not at all.

Results go to stdout, everything else to stderr. An error is one line, `error: ...`. Exit codes: 0 done; 1 bad data,
model, field or value; 2 what the option parser rejects; 130 interrupted. Nothing heavy is imported before the data are
read and the options checked.
"""

from __future__ import annotations

import atexit
import gc
import io
import logging
import re
import sys
import warnings
from typing import Annotated, Any

import typer

from bayesanno._core.files import OF_DISKS
from bayesanno._core.messages import BayesannoError, on_command_line
from bayesanno._core.running import keep_keyboard_interrupt
from bayesanno.cli.agreement import agreement
from bayesanno.cli.ask import ask_next, simulate
from bayesanno.cli.compare import compare, sensitivity
from bayesanno.cli.fit import fit, modes, recalibrate, report
from bayesanno.cli.labels import export, groups
from bayesanno.cli.read import read

app = typer.Typer(
    name="bayesanno",
    help="Bayesian models of annotation: what is true, whom to trust, and how sure to be.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

UsageError: Any = typer.BadParameter.__bases__[0]  # which typer does not export
INTERRUPTED = 130
NEW_OBJECTS = 50_000  # between two searches for garbage, of which imports and compilation make little


def main() -> None:
    """Run the command line; turn errors of ours into one line and an exit code."""
    warnings.showwarning = _show_warning
    logging.basicConfig(format="%(message)s")
    logging.getLogger("bayesanno").setLevel(logging.INFO)  # says how data were read
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a code page of Windows may lack characters of a name
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # there is no last search either
    try:
        with on_command_line(), keep_keyboard_interrupt():
            code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        typer.echo(f"error: {' '.join(error.format_message().split())}{where}", err=True)
        sys.exit(2)
    except BayesannoError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except MemoryError as error:
        what = re.search(r" for an array with shape .*", str(error))
        less = "join rare labels, of which every two may count, or take fewer items, annotators or draws"
        typer.echo(f"error: the memory of this machine is too small{what[0] if what else ''}: {less}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno not in OF_DISKS:
            raise
        where = f" ({error.filename})" if error.filename else ""
        typer.echo(f"error: {error.strerror}{where}: files and the cache of compiled code need space", err=True)
        sys.exit(1)
    if code == INTERRUPTED:  # typer has turned the KeyboardInterrupt into its exit code
        typer.echo("interrupted: nothing was written", err=True)
    sys.exit(code or 0)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print our own warnings as one line each; leave out those for programmers, and findings, which commands list."""
    if category.__module__.startswith("bayesanno.") and not hasattr(message, "level"):
        typer.echo(f"warning: {message}", err=True)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"bayesanno {version('bayesanno')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def models() -> None:
    """List the models and their fields."""
    from rich.console import Console
    from rich.table import Table

    from bayesanno.modeling.registry import describe_models

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("model")
    table.add_column("fields (--set)", no_wrap=True)
    for row in describe_models():
        name = f"{row['name']}\n({row['aliases']})" if row["aliases"] else row["name"]
        table.add_row(name, row["model"], row["fields"].replace(", ", "\n"))
    Console(markup=False, highlight=False, emoji=False).print(table)


OF_FITS = (fit, recalibrate, modes, ask_next, groups, export, report)
OF_DATA = (read, simulate, agreement, compare, sensitivity)
for command in (*OF_FITS, *OF_DATA):
    app.command("next" if command is ask_next else None)(command)
