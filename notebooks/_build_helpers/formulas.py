"""Plain-text formulas, as the cards of the models have them, as LaTeX that any renderer takes.

A formula is `left = right`, with names in letters (theta_j), sums (sum_k), distributions (~ Beta(1, 2)) and some words
("if", "else"); what stands apart from it by three spaces or more is a remark. Whatever does not parse raises
`FormulaError`: the page then shows the text as it stands in the card.
"""

from __future__ import annotations

import re

GREEK = {
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi"),
    *("rho", "sigma", "tau", "phi", "chi", "psi", "omega"),
    *("Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
}
BIG = {"sum": r"\sum", "prod": r"\prod", "integral": r"\int"}
FUNCTIONS = {"log": r"\log", "exp": r"\exp", "Pr": r"\Pr"}
NAMES = {
    "prevalence",
    "ability",
    "habit",
    "spread",
    "slope_spread",
    "accuracy",
}  # parameters that cards call by their names
SYMBOLS = {
    "~": r"\sim", "|": r"\mid", "!=": r"\neq", "->": r"\to", "..": r"\ldots", "...": r"\ldots", "<": "<", ">": ">",
    "=": "=", "+": "+", "-": "-", "/": "/", "*": r"\cdot", ",": ",", ";": ";", ":": ":", "'": "'",
    "(": "(", ")": ")", "[": "[", "]": "]",
}  # fmt: skip
TOKEN = re.compile(r"\s*(slope_spread|\.\.\.|\.\.|!=|->|\d+(?:\.\d+)?|[A-Za-z]+|\"[^\"]*\"|\S)")
RELATION = re.compile(r"^(~|=|proportional to|with probability)(?=\s)\s*")


class FormulaError(ValueError):
    """A formula is in a notation that is not known."""


def to_latex(text: str) -> str:
    """Give the LaTeX of one expression.

    >>> to_latex("sum_k gamma_k prod_j e_jt^X_ij")
    '\\\\sum_{k} \\\\gamma_{k} \\\\prod_{j} e_{jt}^{X_{ij}}'
    """
    return _Parser(text).whole()


def to_aligned(block: list[str]) -> str:
    """Give the lines of a block as one LaTeX environment: what is defined, what it is, and a remark."""
    rows = []
    for line in block:
        if not line.strip():
            continue
        left, relation, right, remark = _split(line)
        row = f"{to_latex(left) if left else ''} & {_relation(relation)} {to_latex(right)}"
        rows.append(row + (rf" & \quad {_remark(remark)}" if remark else ""))
    if not rows:
        raise FormulaError("no formula")
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(rows), r"\end{aligned}"])


def in_prose(text: str) -> str:
    r"""Set what is surely a formula in a line of prose, `theta_x` or `rho`, as inline math; code stays as it is.

    >>> in_prose("the prior of theta_x, as in `p_L`, is flat; alpha=1")
    'the prior of $\\theta_{x}$, as in `p_L`, is flat; alpha=1'
    """
    parts = re.split(r"(`[^`]*`|https?://\S+|doi:\S+|arXiv:\S+|[A-Za-z_]+=\S+)", text)
    return "".join(part if number % 2 else _PROSE.sub(_inline, part) for number, part in enumerate(parts))


_NAME = rf"(?:{'|'.join(sorted(GREEK, key=len, reverse=True))}|[A-Za-z])"
_INDEX = r"(?:[_^](?:[A-Za-z0-9]{1,2}\b(?!')|-1|\([^()]{1,12}\)|(?:psi|mu)\b|[a-z](?=[_^])))"
_AFTER = r"(?:\([^()]{1,12}\)|\[[^\[\]]{1,16}\])?"
_STRONG = rf"(?:(?:{_NAME}|sum|prod){_INDEX}+|(?:{'|'.join(sorted(GREEK, key=len, reverse=True))})(?![\w])){_AFTER}"
_WEAK = r"(?:[B-HJ-Zb-z]|\d+(?:\.\d+)?)(?!\w|\.\d|/|\(| [a-zA-Z]\b)"
_OP = r" (?:[-+=<>~/*]|->) "
_PROSE = re.compile(rf"(?<![\w.@-])(?:{_WEAK}{_OP})*{_STRONG}(?:{_OP}(?:{_STRONG}|{_WEAK})| {_STRONG})*(?![\w-])")
_IN_REMARKS = re.compile(
    rf"(?<![\w=])((?:{_NAME}|spread)(?:_\w+|\[\w+\])?(?: ~ [A-Z]\w+\([^)]*\)| = [^ ,;]+(?: / \w+| \w+_\w+)?)"
    rf"|{_NAME}_\w+|(?:{'|'.join(GREEK)})\b|\b[A-Zb-z]\b)(?![\w(])"
)


def _inline(match: re.Match[str]) -> str:
    try:
        return f"${to_latex(match[0])}$"
    except FormulaError:
        return match[0]


def _split(line: str) -> tuple[str, str, str, str]:
    """Split a line into what is left of its relation, the relation, what is right of it, and a remark."""
    whole, _, remark = re.sub(r"\s{3,}(?=~|=|proportional|with prob)", "  ", line.strip()).partition("   ")
    remark = remark.strip()
    if RELATION.match(whole):  # goes on from the line above
        start = RELATION.match(whole)
        return "", start[1], whole[start.end() :].strip(), remark
    found, depth = [], 0
    for place, character in enumerate(whole):
        depth += (character in "([") - (character in ")]")
        relation = RELATION.match(whole[place:]) if depth == 0 and whole[place - 1 : place] == " " else None
        if relation:
            found.append((place, relation))
    apart = [(place, relation) for place, relation in found if whole[place - 2 : place] == "  "]
    for place, relation in apart or found:
        return whole[:place].strip(), relation[1], whole[place + relation.end() :].strip(), remark
    return "", "", whole, remark


def _relation(text: str) -> str:
    """Give a relation; what is empty before ~ makes it stand between two things, with space on both sides."""
    return {"": "", "~": r"{} \sim", "=": "=", "proportional to": r"\propto"}.get(text, rf"\text{{ {text} }}")


def _remark(text: str) -> str:
    """Set words as words, and names with an index as math."""
    parts = _IN_REMARKS.split(text)
    out = []
    for number, part in enumerate(parts):
        try:
            out.append(to_latex(part) if number % 2 else _words(part))
        except FormulaError:
            out.append(_words(part))
    return " ".join(piece for piece in out if piece)


def _words(text: str) -> str:
    if not text:
        return ""
    for plain, escaped in {"\\": r"\backslash", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#"}.items():
        text = text.replace(plain, escaped)
    return rf"\text{{{text}}}"


class _Parser:
    """A walk along the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, int]] = []  # and how many spaces stand before each
        for match in TOKEN.finditer(text.strip()):
            self.tokens.append((match[1], len(match[0]) - len(match[1])))
        self.place = 0
        self.open = text.count("[") != text.count("]")  # a bracket that another line closes

    def whole(self) -> str:
        out = self.until(None)
        return re.sub(r"\\text\{([^{}]*)\} \\text\{([^{}]*)\}", r"\\text{\1 \2}", out)

    def next(self) -> str | None:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else None

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][0]

    def until(self, end: str | None) -> str:
        out, words = [], []
        while (token := self.next()) != end:
            if token is None:
                raise FormulaError(f"no {end!r}")
            if self._is_word(token):
                words.append(self.take())
                continue
            if words:
                out.append(self._text(words, first=not out, last=token == ","))
                words = []
            out.append(self.atom())
        if words:
            out.append(self._text(words, first=not out, last=True))
        if end is not None:
            self.take()
        return " ".join(out)

    @staticmethod
    def _text(words: list[str], *, first: bool, last: bool) -> str:
        return rf"\text{{{'' if first else ' '}{' '.join(words)}{'' if last else ' '}}}"

    def _is_word(self, token: str) -> bool:
        """Say whether it is English: more than one letter, no name of the field, and no index after it."""
        if not token.isalpha() or len(token) < 2 or token in GREEK or token in BIG or token in FUNCTIONS:
            return False
        after, spaces = self.tokens[self.place + 1] if self.place + 1 < len(self.tokens) else ("", 0)
        is_name = after in ("_", "^", "(") and not spaces
        return not is_name and not token[0].isupper() and token not in NAMES | {"sqrt", "dz"}

    def atom(self) -> str:
        token = self.take()
        if token == "sqrt":
            return self._scripts(rf"\sqrt{{{self._argument()}}}")
        if token in BIG:
            return self._scripts(BIG[token])
        if token in FUNCTIONS:
            return self._scripts(FUNCTIONS[token])
        if token in GREEK:
            return self._scripts(rf"\{token}")
        if token == "dz":
            return r"\, dz"
        if token.startswith('"'):
            return rf"\text{{{token[1:-1]}}}"
        if token == "slope_spread":
            return r"\text{slope spread} \,"
        if token.isalpha():
            whole = self._scripts(token if len(token) == 1 else rf"\mathrm{{{token}}}")
            return whole if len(token) == 1 or self.next() in ("(", ")", ",", None) else rf"{whole} \,"
        if token[0].isdigit():
            return self._scripts(token)
        if token in "([" and not self.open:
            inside = self.until(")" if token == "(" else "]")
            return self._scripts(f"{token}{inside}{')' if token == '(' else ']'}")
        if token in SYMBOLS:
            return SYMBOLS[token]
        raise FormulaError(f"unknown: {token!r}")

    def _argument(self) -> str:
        if self.next() != "(":
            raise FormulaError("no bracket")
        self.take()
        return self.until(")")

    def _scripts(self, base: str) -> str:
        """Add what stands below and above; `e_jt^X_ij` has an index of its own above."""
        scripts = {"_": "", "^": ""}
        while (mark := self.next()) in ("_", "^") and not scripts[mark]:
            self.take()
            scripts[mark] = self._script(nested=mark == "^")
        return base + "".join(f"{mark}{{{inside}}}" for mark, inside in scripts.items() if inside)

    def _script(self, *, nested: bool) -> str:
        if self.next() is None:
            raise FormulaError("nothing below or above")
        if self.next() == "(":
            return self._argument()
        if self.next() == "-":
            self.take()
            return f"-{self._script(nested=False)}"
        token = self.take()
        if not re.fullmatch(r"\w+", token):
            raise FormulaError(f"cannot be an index: {token!r}")
        base = rf"\{token}" if token in GREEK else token
        if token.isalpha() and len(token) > 3 and token not in GREEK:
            base = rf"\mathrm{{{token}}}"
        upcoming = "".join(word for word, _ in self.tokens[self.place : self.place + 3])
        if token.isalpha() and not nested and re.fullmatch(r"\([a-z]\)", upcoming):
            base += f"({self._argument()})"  # p_t(i): the type of i is the index
        if nested and self.next() == "_":
            self.take()
            base += f"_{{{self._script(nested=False)}}}"
        return base
