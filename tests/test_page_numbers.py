"""The pages on models, and the guide: numbers in prose are those of tables, and tables with a common number agree."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "notebooks" / f"{name}.md" for name in ("which-model", "benchmarks", "guide")]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
PROSE = re.sub(r"\s+", " ", re.sub(r"^\|.*$", "", TEXT, flags=re.MULTILINE))
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
ITEMS = {"@crowd": 300, "RTE": 800, "temporal order": 462, "word senses": 177, "LLMBar": 419, "DICES": 350}


def read_table(start):
    """The table whose header starts so, as rows of text; an empty leading cell is filled from above."""
    lines = re.search(rf"^{re.escape(start)}.*\n(?:\|.*\n)+", TEXT, re.MULTILINE)[0].splitlines()
    rows = [[re.sub("[`*]", "", cell).strip() for cell in line[1:-1].split("|")] for line in [lines[0], *lines[2:]]]
    for above, row in pairwise(rows[1:]):
        for place in (0, 1):
            if row[place]:
                break
            row[place] = above[place]
    return rows


TOP = read_table("| by NUTS, labels")
SAME = read_table("| | RTE, 2 labels")
SURE = read_table("| table, answers per item")
PAIRS = read_table("| known | way")
GRADES = read_table("| | right | log score | distance")
GROUPS = read_table("| true labels of each system")
RANKED = read_table("| simulated | rankings")
TIMES = read_table("| | a gradient of 50,000")
REPLAYS = read_table("| | `suggest_annotations`")


def number_in(text, place=0):
    """A number of a cell, by its place."""
    return float(re.findall(r"-?[\d.]*\d", text.replace("−", "-").replace(",", ""))[place])


def top(table, column):
    return next(number_in(row[column]) for row in TOP if row[0].startswith(table))


def same(model, table):
    return next(number_in(row[{"RTE": 2, "temporal order": 4}[table]]) for row in SAME if row[0] == model)


def sure(table, model, column, method="NUTS"):
    rows = (row for row in SURE if row[0].startswith(table) and row[1:3] == [model, method])
    return number_in(next(rows)[SURE[0].index(column)])


def share_right(table, model):
    return 1 - sure(table, model, "made") / ITEMS[table]


def spread_of(numbers):
    return [min(numbers), max(numbers)]


def ratios(model, method):
    """The smallest and the largest ratio of the temperature by a method to that by NUTS."""
    tables = ("RTE", "temporal order", "word senses")
    return spread_of([sure(table, model, "T", method) / sure(table, model, "T") for table in tables])


def gains_of_pairs(column):
    """What pairs add to a column, by the number of known outcomes."""
    gains, alone = {}, {}
    for known, way, *cells in PAIRS[1:]:
        cell = cells[column - 2]
        if way.endswith(" / with pairs"):
            gains.setdefault(known, []).append(number_in(cell, 1) - number_in(cell))
        elif way.endswith(", pairs"):
            gains.setdefault(known, []).append(number_in(cell) - alone[way.removesuffix(", pairs")])
        elif cell:
            alone[way] = number_in(cell)
    return gains


CLAIMS = {  # a number is "#"
    r"# of the labels are right on RTE \(# with the fixed prior\), and # on temporal order \(#\)": lambda: [
        same(model, table) for table in ("RTE", "temporal order") for model in ("mace, competence learnt", "mace")
    ],
    r"Without habits only # of the labels .* the default, # are right": lambda: [
        same(model, "temporal order") for model in ("item_difficulty, without habits", "item_difficulty")
    ],
    r"true labels is # on RTE \(# with `hierar\w+`\) and # on temporal order \(# with `model_b`, # with": lambda: [
        *(sure("RTE", model, "log score") for model in ("item_difficulty", "hierarchical_dawid_skene")),
        *(
            sure("temporal order", model, "log score")
            for model in ("item_difficulty", "model_b", "hierarchical_dawid_skene")
        ),
    ],
    r"among the six best: by # on RTE and by # on temporal order": lambda: [
        max(best) - min(best) for best in ([number_in(row[column]) for row in SAME[1:7]] for column in (2, 4))
    ],
    r"`item_difficulty` comes nearest [^.]* with # on RTE and # on temporal order": lambda: [
        sure(table, "item_difficulty", "T") for table in ("RTE", "temporal order")
    ],
    r"an error rate of #% is taken for #%\. [^.]* base model, #% is taken for #%": lambda: [
        100 * sure(table, model, column) / ITEMS[table]
        for table, model in (("RTE", "mace"), ("LLMBar", "model_b"))
        for column in ("made", "errors expected")
    ],
    r"T by EM is # to # times that by NUTS for `model_b`": lambda: ratios("model_b", "EM"),
    r"T by VB is # to # times that by NUTS for `model_b`": lambda: ratios("model_b", "VB"),
    r"for `model_b`, and # to # times for `mace`": lambda: ratios("mace", "VB"),
    r"vote gets # right, # of its labels are right without any known label \(`model_b` #\)": lambda: [
        top("LLMBar", 2),
        *(share_right("LLMBar", model) for model in ("shared_errors", "model_b")),
    ],
    r"three models become worse by # to #, .* becomes better by #\.": lambda: [
        *sorted(-gain for gain in gains_of_pairs(3)["0"])[1::2],
        max(gains_of_pairs(3)["0"]),
    ],
    r"one might hope: `model_b` gets # in place of #\.": lambda: [
        next(number_in(row[2], 1) for row in PAIRS if row[:2] == ["200", "model_b / with pairs"]),
        next(number_in(row[2]) for row in PAIRS if row[:2] == ["0", "model_b, pairs"]),
    ],
    r"`mace` wins: # of its labels are right, and # of those of the ordinal model": lambda: [
        next(number_in(row[1]) for row in GRADES if row[0] == model) for model in ("mace", "ordinal_dawid_skene")
    ],
    r"takes # to # s for `ordinal_dawid_skene`, and # to # min for `shared_errors`": lambda: [
        number_in(row[3], place) for row in TIMES[1:] for place in (0, 1)
    ],
    r"intervals of `model` covered # to # of the true differences, those of `ppi` # to #\.": lambda: [
        number
        for kind in ("model", "ppi")
        for number in spread_of([number_in(row[3]) for row in GROUPS if row[1] == kind])
    ],
    r"89% intervals then cover # to # of the true strengths": lambda: spread_of(
        [number_in(row[4]) for row in RANKED[1:]]
    ),
}


@pytest.mark.parametrize("sentence", CLAIMS)
def test_prose_has_the_numbers_of_the_tables(sentence):
    printed = re.search(sentence.replace("#", r"(−?\d*\.?\d+)"), PROSE).groups()
    for number, value in zip(printed, CLAIMS[sentence](), strict=True):
        digits = len(number.partition(".")[2])
        assert abs(value - number_in(number)) <= 0.51 * 10**-digits, (number, value)


def test_the_mean_of_the_real_tables_is_that_of_its_rows():
    for column in range(2, 8):
        *rows, mean = [number_in(row[column]) for row in TOP[1:]]
        assert sum(rows) / len(rows) == pytest.approx(mean, abs=0.001)


def test_the_tables_on_which_a_model_is_better_are_counted():
    vote, mace, model_b, vote_score, mace_score, model_b_score = (
        [number_in(row[column]) for row in TOP[1:-1]] for column in range(2, 8)
    )
    counts = re.search(
        r"On (\w+) real tables .* at least as many labels right as `model_b` .* on (\w+), and has the better log score "
        r"on (\w+)\. Both models beat the vote in log score on (\w+) .* and in accuracy on (\w+)\.",
        PROSE,
    )

    def beaten(ours, theirs):
        return sum(one > other for one, other in zip(ours, theirs, strict=True))

    assert [WORDS.index(word) for word in counts.groups()] == [
        len(vote),
        len(vote) - beaten(model_b, mace),
        beaten(mace_score, model_b_score),
        beaten(mace_score, vote_score),
        beaten(mace, vote),
    ]
    assert beaten(mace_score, vote_score) == beaten(model_b_score, vote_score)
    assert beaten(mace, vote) == beaten(model_b, vote)


@pytest.mark.parametrize("table", ["RTE", "temporal order"])
def test_shares_right_are_those_of_the_errors_made(table):
    for model in ("model_b", "mace", "hierarchical_dawid_skene", "item_difficulty", "shared_errors"):
        assert same(model, table) == pytest.approx(share_right(table, model), abs=0.0006)
    votes = sure(table, "vote", "made", "") / ITEMS[table]
    assert [same("vote", table), top(table, 2)] == pytest.approx([1 - votes] * 2, abs=0.0006)


def test_errors_made_are_those_of_the_shares_right():
    for row in TOP[1:-1]:
        items = number_in(row[1])
        for right, errors in ((3, 8), (4, 9)):
            assert number_in(row[right]) == pytest.approx(1 - number_in(row[errors], 1) / items, abs=0.0006), row


def test_replays_with_half_the_answers_are_those_that_the_guide_names():
    halves = {row[0]: number_in(row[1]) for row in REPLAYS[1:] if row[0] in ("RTE, mace", "temporal order, mace")}
    assert "about half as many answers as random choice on RTE and temporal order" in PROSE
    assert list(halves.values()) == pytest.approx([0.5, 0.5], abs=0.06)


def test_what_pairs_add_to_right_labels_is_as_said():
    low, high = re.search(r"Pairs add (\w+) to (\w+) points of right labels", PROSE).groups()
    gains = [100 * gain for each in gains_of_pairs(2).values() for gain in each]
    assert [WORDS.index(low), WORDS.index(high)] == [round(min(gains)), round(max(gains))]
    less = number_in(re.search(r"With known outcomes, pairs change log scores by less than (\.\d+)", PROSE)[1])
    assert max(abs(gain) for known in ("50", "200") for gain in gains_of_pairs(3)[known]) < less


def test_the_crowd_of_the_readme_is_that_of_the_table():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    vote, ours = re.search(r"is right for (\.\d+) of\s+them, bayesanno for (\.\d+)", readme).groups()
    errors = [
        number_in(row[SURE[0].index("made")])
        for row in SURE
        if row[:2] in (["@crowd (simulated), 5.3", m] for m in ("vote", "mace"))
    ]
    assert [number_in(vote), number_in(ours)] == pytest.approx([1 - error / 300 for error in errors], abs=0.0006)
