"""Items with a difficulty a second time: NumPy, one item, class and answer at a time, over a grid of nodes.

That the sum over nodes is the integral is tested in `test_nodes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.linalg import helmert
from scipy.stats import dirichlet, halfnorm, lognorm, norm

Parameters = Mapping[str, np.ndarray]
Said = Sequence[tuple[int, int]]  # one item's (annotator, label) pairs

CENTRES = np.arange(-32, 33) / 4


def form_of(fields: Mapping) -> str:
    """How ability and difficulty meet; that of shared errors is no option."""
    return str(fields.get("form", "shared"))


def nodes_within(reach: float, total: float, most: int) -> int:
    """How many nodes lie to either side: steps of 1.1 standard deviations of an integrand of this precision."""
    n = reach / 1.1 * np.sqrt(total)
    return int(np.ceil(n)) if n < most else most


def difficulty_nodes_of(fields: Mapping) -> Callable[[Parameters, Sequence[Said]], dict[str, int]]:
    form = form_of(fields)

    def nodes(parameters: Parameters, table: Sequence[Said]) -> dict[str, int]:
        """Of the item that says most: answers with their information each, and an edge."""
        spread, slope = float(parameters["spread"]), float(parameters.get("slope_spread", 0.0))
        n_most = max(len(said) for said in table)
        if form == "shared":
            each = (parameters["loading"] * spread) ** 2 / 4
            return {"n_z": nodes_within(8, 1 + max(sum(each[j] for j, _ in said) for said in table), 1000)}
        if form in ("chance", "glad"):
            return {"n_z": nodes_within(5, 1 + (n_most / 2 + 4) * spread**2, 1000)}
        steep = (spread * np.exp(2 * slope)) ** 2 / 4
        of_slope = {"n_slope": nodes_within(4, 1 + (n_most / 2 + 4) * slope**2, 16)} if form == "2pl" else {}
        return {"n_z": nodes_within(8, 1 + n_most * steep, 1000)} | of_slope

    return nodes


def nodes_of(form: str, parameters: Parameters) -> np.ndarray:
    n = parameters["n_z"]
    return (5 if form in ("chance", "glad") else 8) * np.arange(-n, n + 1) / n


def slopes_of(parameters: Parameters) -> np.ndarray:
    n = parameters.get("n_slope", 0)
    return 4 * np.arange(-n, n + 1) / max(n, 1)


def odds_of_right(form: str, parameters: Parameters, annotator: int) -> np.ndarray:
    """log P(right) / P(wrong) of an annotator on items of each difficulty and slope, shape (z, slope)."""
    ability, difficulty = (
        parameters["ability"][annotator],
        float(parameters["spread"]) * nodes_of(form, parameters)[:, None],
    )
    others = len(parameters["prevalence"]) - 1
    if form == "shared":
        return ability - parameters["loading"][annotator] * difficulty
    if form == "chance":
        return ability / np.exp(difficulty) - np.log(others)
    if form == "glad":
        return ability / np.exp(difficulty)
    return (ability - difficulty) * (
        np.exp(float(parameters["slope_spread"]) * slopes_of(parameters)) if form == "2pl" else 1.0
    )


def chances(form: str, parameters: Parameters, annotator: int, truth: int) -> np.ndarray:
    """P(each label) on items of each difficulty and slope, shape (z, slope, label)."""
    n_labels = len(parameters["prevalence"])
    gain = odds_of_right(form, parameters, annotator) + np.log(n_labels - 1)  # over guessing
    weight = np.zeros((*gain.shape, n_labels))  # exp(score), of which either gain or loss is taken
    for label in range(n_labels):
        habit = parameters["habit"][annotator, label] if "habit" in parameters else 0.0
        weight[..., label] = np.exp(habit + (np.minimum(gain, 0) if label == truth else -np.maximum(gain, 0)))
    return weight / weight.sum(axis=-1, keepdims=True)


def on_the_grid(form: str, parameters: Parameters, said: Said) -> np.ndarray:
    """p(class, z, slope, answers), shape (true_class, z, slope)."""
    prevalence = parameters["prevalence"]
    weight = np.outer(norm.pdf(nodes_of(form, parameters)), norm.pdf(slopes_of(parameters)))
    joint = np.multiply.outer(prevalence, weight / weight.sum())
    for annotator, label in said:
        for truth in range(len(prevalence)):
            joint[truth] *= chances(form, parameters, annotator, truth)[..., label]
    return joint


def difficulty_states_of(fields: Mapping) -> Callable[[Parameters, Said], np.ndarray]:
    return lambda parameters, said: on_the_grid(form_of(fields), parameters, said).sum(axis=(1, 2))


def difficulty_log_prior(parameters: Parameters, fields: Mapping) -> float:
    total = norm(*fields["ability_prior"]).logpdf(parameters["ability"]).sum()
    total += halfnorm(scale=fields["spread_prior"]).logpdf(parameters["spread"])
    if "loading" in parameters:
        total += lognorm(fields["loading_prior"]).logpdf(parameters["loading"]).sum()
    if "slope_spread" in parameters:
        total += halfnorm(scale=fields["slope_prior"]).logpdf(parameters["slope_spread"])
    n_classes = len(parameters["prevalence"])
    if "habit" in parameters:  # normal in each of K - 1 directions at right angles, none of them that of the sum
        total += norm(0, fields["habit_prior"]).logpdf(parameters["habit"] @ helmert(n_classes).T).sum()
    return float(total + dirichlet(np.full(n_classes, fields["prevalence_prior"])).logpdf(parameters["prevalence"]))


def difficulty_views_of(fields: Mapping) -> dict[str, Callable[[Parameters, Said, np.ndarray, int], np.ndarray]]:
    form = form_of(fields)

    def posterior(parameters: Parameters, said: Said, control: int) -> np.ndarray:
        """p(class, z, slope | answers), where the class may be known."""
        joint = on_the_grid(form, parameters, said)
        joint = joint if control < 0 else joint * (np.arange(len(joint)) == control)[:, None, None]
        return joint / joint.sum()

    def difficulty(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
        return (
            float(parameters["spread"])
            * nodes_of(form, parameters)
            @ posterior(parameters, said, control).sum(axis=(0, 2))
        )

    def in_bins(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
        """What a node has lies evenly between the middles to its neighbours; the last bins are open."""
        of_node = posterior(parameters, said, control).sum(axis=(0, 2))
        spread, nodes = float(parameters["spread"]), nodes_of(form, parameters)
        half = (nodes[1] - nodes[0]) / 2
        found = np.zeros(CENTRES.size)
        for z, share in zip(nodes, of_node, strict=True):
            low, high = spread * (z - half), spread * (z + half)
            for code, centre in enumerate(CENTRES):
                left = -np.inf if code == 0 else centre - 0.125
                right = np.inf if code == CENTRES.size - 1 else centre + 0.125
                found[code] += share * max(0.0, min(high, right) - max(low, left)) / (high - low)
        return found

    def expected_accuracy(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
        weight = posterior(parameters, said, control)  # (true_class, z, slope)
        n_annotators = len(parameters["ability"])
        right = [
            (weight[truth] * chances(form, parameters, annotator, truth)[..., truth]).sum()
            for truth in range(len(weight))
            for annotator in range(n_annotators)
        ]
        return np.sum(right) / n_annotators

    return {"difficulty": difficulty, "difficulty_probability": in_bins, "expected_accuracy": expected_accuracy}
