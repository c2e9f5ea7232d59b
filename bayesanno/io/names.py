"""What a column is, by its name or an option; and questions, where names do not decide.

The invariant: no cell decides what a column is. A question has commands that answer it, and each of them works.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from shlex import quote
from typing import Any

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, as_names, listed, nearest, option, spell

MOST_WAYS, LONGEST = 3, 160  # commands of a question, and letters of its first line
CONTENTS = ("image", "text", "sentence", "prompt", "document")  # what an item is, which names it as well
_WHO = ("annotator", "worker", "rater", "coder", "judge", "grader", "evaluator")
ALIASES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "task", "question", "unit", "instance_id", "doc", "example", "orig_id"),
    "annotator": (
        *_WHO, "user", "performer", "participant", "respondent", "assessor", "judge_model", "evaluated_by",
        *(f"{who}_name" for who in _WHO), "!amt_worker_ids",
    ),
    "label": ("label", "rating", "answer", "response", "annotation", "category", "winner", "verdict", "preference"),
    "gold": ("gold", "true_label", "truth", "human_label", "human"),
    "control": ("control",),
    "successes": ("successes", "positive", "positives", "x"),
    "trials": ("trials", "n", "total"),
    "count": ("count", "counts", "freq", "frequency"),
}  # fmt: skip
LAST_ALIASES = {"annotator": ("model",), "label": ("score",), "count": ("n", "weight")}  # if none above is there
_NAMED_BY_ID = {"item": (*ALIASES["item"], *CONTENTS), "annotator": ALIASES["annotator"]}  # as task_id or WorkerId
_ID = re.compile(r"(?i:(.*[\W_])?ids?)|.*[a-z]I[dD]s?|(?i:uid|uuid|guid|idx|index|nr|number|row|key)|#")
_PEOPLE = "|".join(name for name in ALIASES["annotator"] if name.isalpha())
_NUMBERED = re.compile(rf"({_PEOPLE}|ann|anno|annot|reviewer|expert|person|labell?er|lf|llm)(?:[\W_]*\d+|[\W_]+[a-z])")
_BESIDE = re.compile(
    r"(final|adjudicated|consensus|majority|aggregated?|agreed|resolved|hard|gold|reference)"
    r"([\W_]*(label|vote|answer|class|rating|annotation))?|ground[\W_]*truth|experts?"
    r"|(topic|theme|domain|genre|section|dataset|split|fold|language|country|difficulty|level|year|date|length|title|"
    r"source|url|link|file|filename|timestamp|comments?|notes?|remarks?)([\W_]*\d+)?"
)
_SIDES = re.compile(r"(.*?)(a|b|1|2|left|right|first|second)|(left|right|first|second)(_.+)")
_OTHER_SIDE = {"a": "b", "1": "2", "left": "right", "first": "second"}
_RANGE = re.compile(r"(\d*):(\d*)")
_MAYBE = {"reviewer", "expert", "person", "labeler", "labeller", "ann", "anno", "annot", "llm"}  # words of an annotator
_IDS = {"id", "ids", "no", "nr", "number", "index", "key", "uid"}  # words of a column that may name the items
FIELD = re.compile(r"\{((?:[^{}]|\{\})+)\}")  # a column, or a path, in a template

type Way = Mapping[str, Any]  # options that may answer a question


class Question(DataError):  # noqa: N818 -- what it is
    """A table that can be read in several ways, or in none that its names show.

    Parameters
    ----------
    message : str
        What is not clear, on one line.
    *ways : mapping of option to value
        What to read it with, the likeliest first; those that do not work are left out.
    """

    def __init__(self, message: str, *ways: Way) -> None:
        if len(message) > LONGEST:  # the name of a file says enough without its folder
            place, colon, rest = message.partition(": ")
            message = f"{place.rpartition('/')[2]}{colon}{rest}"
        short = message if len(message) <= LONGEST else f"{message[: LONGEST - 3]}..."
        super().__init__(short)
        self.message, self.ways = short, ways

    def with_commands(self, commands: Sequence[str]) -> Question:
        """Return the question with the commands that answer it, each on a line of its own."""
        asked = Question(self.message, *self.ways)
        asked.args = ("".join([self.message, *(f"\n  {command}" for command in commands)]),)
        return asked


def write_command(source: Any, options: Way) -> str:
    """Return what reads a source with some options, on the command line or in Python."""
    sources = source if isinstance(source, list) and source and all(map(_is_path, source)) else [source]
    shown = [str(one) if _is_path(one) else None for one in sources]
    flags = [_flag(name, value) for name, value in options.items()]
    values = ", ".join(f"{name}={value!r}" for name, value in options.items())
    given = repr(shown if len(shown) > 1 else shown[0]) if None not in shown else "source"
    in_python = f"ba.read_table({', '.join(filter(None, [given, values]))})"
    return spell(in_python, " ".join(["bayesanno read", *(quote(one or "-") for one in shown), *flags]))


def _is_path(source: Any) -> bool:
    return isinstance(source, str) or hasattr(source, "__fspath__")


def _flag(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{option(name)} {quote(f'{one}={other}')}" for one, other in value.items())
    return option(name, value if isinstance(value, bool | str) else ",".join(as_names(value)))


# ------------------------------------------------------------------------------------------------- columns by name


def strip_id(name: str) -> str:
    """Return the name of a column of ids without "id", in lower case.

    Examples
    --------
    >>> from bayesanno.io.names import strip_id
    >>> [strip_id(name) for name in ("_unit_id", "WorkerId", "rater", "id")]
    ['unit', 'worker', 'rater', '']
    """
    return re.sub(r"[\s_-]?ids?$", "", name.casefold()).strip("_ ")


def matching(header: Iterable[str], role: str) -> list[str]:
    """Return the columns whose name is an alias of a role, or of its ids, as `worker_id`; else `model` or `score`.

    An id is left out if the column that it is the id of is there.
    """
    names = {name: name.casefold() for name in header}
    found = [name for name, small in names.items() if small in ALIASES[role]]
    known = {"", *(names[name] for name in found)}
    stems = {name: "" if strip_id(name) == small or name in found else strip_id(name) for name, small in names.items()}
    by_id = [name for name, stem in stems.items() if stem in _NAMED_BY_ID.get(role, ()) and stem not in known]
    last = [name for name, small in names.items() if small in LAST_ALIASES.get(role, ())]
    return [name for name in names if name in (*found, *by_id)] or last


def matching_loosely(header: Iterable[str]) -> list[str]:
    """Return the columns that may name the items: ids of anything, and texts and images themselves."""
    others = {name for role in ("annotator", "gold") for name in (*ALIASES[role], *LAST_ALIASES.get(role, ()))}
    return [
        name for name in header if name.casefold() in CONTENTS or (_ID.fullmatch(name) and strip_id(name) not in others)
    ]


def words_of(name: str) -> set[str]:
    """Return the words in a name, in lower case."""
    return set(re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold()))


def likely(header: Iterable[str], role: str) -> list[str]:
    """Return the columns whose names have an alias of a role as a word; of items, also ids and texts."""
    more = {"item": (*CONTENTS, *_IDS), "annotator": _MAYBE}.get(role, ())
    aliases = {*ALIASES[role], *LAST_ALIASES.get(role, ()), *more}
    of_items = role == "item"
    return [
        name
        for name in header
        if words_of(name) & aliases or (of_items and len(name) < 4 and name.casefold().endswith("id"))
    ]


def find(frame: pd.DataFrame, role: str, given: str | None = None, *, loosely: bool = True) -> str | None:
    """Return the column that plays a role: the given one, else the one with the role's name or an alias.

    An item may be named `loosely`, by the only id of anything, text or image.

    Raises
    ------
    Question
        If two columns have an alias of the role and none its own name.
    DataError
        If there is no column of the given name.
    """
    if given is not None:
        return check_column(frame, str(given), role)
    header = list(frame.columns)
    found = matching(header, role)
    exact = [name for name in found if name.casefold() == role]
    if role == "annotator" and exact and len(found) > 1:  # it may name groups, and another one the people
        sizes = {name: frame[name].nunique() for name in found}
        exact = exact if sizes[exact[0]] == max(sizes.values()) else []
    found = exact if len(exact) == 1 else found
    if role == "item" and not found and loosely:
        found = matching_loosely(header)
    if len(found) > 1:
        both = " and ".join(map(repr, found[:2]))
        raise Question(f"{name_of(frame)}: the columns {both} could each be the {role}",
                       *({role: name} for name in found))  # fmt: skip
    return next(iter(found), None)


def find_item(frame: pd.DataFrame) -> str | None:
    """Return the column that names the items of a table with a row for each: an id decides before a text.

    Raises
    ------
    Question
        If two ids could.
    """
    found, loose = find(frame, "item", loosely=False), matching_loosely(frame.columns)
    ids, texts = ([one for one in loose if (one.casefold() in CONTENTS) == is_text] for is_text in (False, True))
    if found is None and ids:
        return ids[0] if len(ids) == 1 else find(frame[ids], "item")
    return texts[0] if found is None and len(texts) == 1 else found


def name_of(frame: pd.DataFrame) -> str:
    """Return what messages call a table."""
    return str(frame.attrs.get("name", "the DataFrame"))


def check_column(frame: pd.DataFrame, name: str, role: str = "column") -> str:
    """Return a name that is a column; raise a DataError if it is none."""
    if name not in frame.columns:
        header = list(map(str, frame.columns))
        raise DataError(
            f"{name_of(frame)} has no column {name!r} to use as {role}; its columns are {listed(header)}"
            f"{nearest(name, header)}"
        )
    return name


def cells_of(frame: pd.DataFrame, name: str, role: str) -> pd.Series[str]:
    """Return the cells of a column, or of a template over columns as `{system}/{segment}`, of a table of text.

    Raises
    ------
    DataError
        If there is no such column, a cell of a template is empty in a row with another one that is not, or the template
        gives one name to rows that differ.
    """
    if name in frame.columns or not FIELD.search(name):
        return frame[check_column(frame, name, role)]
    fields = [check_column(frame, field.strip(), role) for field in FIELD.findall(name)]
    if set(FIELD.sub("", name)) & {"{", "}"}:
        raise DataError(f"{name!r} is no template: write each column in its own braces, as in '{{a}}/{{b}}'")
    parts, texts = frame[fields], FIELD.split(name)
    made = pd.Series(texts[0], index=frame.index, dtype="str")
    for at, field in enumerate(fields):
        made = made + parts[field].to_numpy() + texts[2 * at + 2]
    empty = (parts == "").any(axis=1)
    if (wrong := empty & (parts != "").any(axis=1)).any():
        at = int(wrong.argmax())
        lacking = next(field for field in fields if parts[field].iloc[at] == "")
        raise DataError(f"{where(frame, at)}: {lacking!r} of the {role} {name!r} is empty: fill it in")
    distinct = parts.assign(made=made.to_numpy()).drop_duplicates()
    if distinct["made"].duplicated().any():
        raise DataError(
            f"{name_of(frame)}: {option(role, name)} gives one name to rows that differ: put another separator between "
            "its columns"
        )
    return made.where(~empty, "")


def where(frame: pd.DataFrame, row: int) -> str:
    """Return the place of a row, by position, of a table of text or of records."""
    place = frame.index[row]
    return str(place) if frame.attrs.get("unit") == "place" else f"{name_of(frame)}, {frame.attrs['unit']} {place}"


def beside(header: Iterable[str]) -> list[str]:
    """Return the columns whose names say that they are about the items, or labels that were agreed upon."""
    return [name for name in header if name.casefold() in CONTENTS or _BESIDE.fullmatch(name.casefold())]


def others_than_annotators(header: Sequence[str]) -> list[str]:
    """Return the columns that are no annotator's, by their names."""
    roles = [name for role in ("item", "label", "count", "gold", "control") for name in matching(header, role)]
    return [*roles, *matching_loosely(header), *beside(header)]


def numbered(columns: Sequence[str]) -> bool:
    """Return whether all columns have one word for annotators, each with another number."""
    found = [_NUMBERED.fullmatch(name.casefold()) for name in columns]
    return bool(columns) and None not in found and len({word[1] for word in found if word}) == 1


def sides_among(header: Iterable[str]) -> list[str]:
    """Return two columns whose names are sides, as model_a and model_b; none if there are no such columns."""
    names = {name.casefold(): name for name in header}
    for name in names:
        side = _SIDES.fullmatch(name)
        before, which, after = (side[1] or "", side[2] or side[3], side[4] or "") if side else ("", "", "")
        other = before + _OTHER_SIDE[which] + after if which in _OTHER_SIDE else None
        if other in names:
            return [names[name], names[other]]
    return []


def choose(frame: pd.DataFrame, chosen: str | Sequence[str], others: Container[str | None] = ()) -> list[str]:
    """Return the columns that names, patterns such as `rater_*`, and positions such as `2:` or `3:9` stand for.

    Patterns and positions leave out the columns of other roles.

    Raises
    ------
    DataError
        If one stands for no column.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.names import choose
    >>> table = pd.DataFrame(columns=["id", "rater_1", "rater_2", "gold"])
    >>> choose(table, "rater_*"), choose(table, ["2:"], ["gold"])
    (['rater_1', 'rater_2'], ['rater_1', 'rater_2'])
    """
    header, found = list(map(str, frame.columns)), list[str]()
    for each in split_names(chosen):
        bounds = _RANGE.fullmatch(each)
        if each in header:
            some = [each]
        elif bounds:
            first, last = int(bounds[1] or 1), int(bounds[2] or len(header))
            if first == 0:
                raise DataError(f"{option('columns', each)}: positions count from 1, as in {option('columns', '1:')}")
            some = [name for name in header[first - 1 : last] if name not in others and name]
        else:
            some = [name for name in header if fnmatchcase(name, each) and name not in others and name]
        if not some:
            check_column(frame, each, "one of the columns")
        found += [name for name in some if name not in found]
    return found


def split_names(given: Any) -> list[str]:
    """Return names, which a text has between commas."""
    several = given.split(",") if isinstance(given, str) else as_names(() if given is None else given)
    return [name.strip() for name in several if name.strip()]


def check_distinct(frame: pd.DataFrame, columns: Mapping[str, str | None]) -> None:
    """Raise a DataError if one column plays two roles."""
    role_of: dict[str, str] = {}
    for role, name in columns.items():
        if name is not None and (first := role_of.setdefault(name, role)) != role:
            raise DataError(
                f"{name_of(frame)}: column {name!r} cannot be both {first} and {role}: name another with {option(role)}"
            )
