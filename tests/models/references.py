"""Every model a second time: NumPy, one item at a time, every latent enumerated, no code shared with the graph.

A model of the zoo without an entry here fails the contract; add one to `REFERENCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from scipy.stats import beta, dirichlet, gamma, norm

from tests.models.references_difficulty import (
    difficulty_log_prior,
    difficulty_nodes_of,
    difficulty_states_of,
    difficulty_views_of,
)
from tests.models.references_model_a import model_a_states
from tests.models.references_ordinal import ordinal_log_prior, ordinal_nodes_of, ordinal_states_of
from tests.models.references_types import (
    diligent_lazy_annotators_log_prior,
    diligent_lazy_annotators_states,
    easy_hard_hard,
    easy_hard_known,
    easy_hard_log_prior,
    easy_hard_states,
    nearest_to_a_half,
)

Parameters = Mapping[str, np.ndarray]
Said = Sequence[tuple[int, int]]  # one item's (annotator, label) pairs


# (parameters, one item's answers, p(state, answers), its known label or -1) -> what is read off
View = Callable[[Parameters, Said, np.ndarray, int], np.ndarray]


def only_the_known(joint: np.ndarray, parameters: Parameters, said: Said, control: int) -> np.ndarray:
    """The states are the labels: all others are impossible."""
    return np.where(np.arange(joint.size) == control, joint, 0.0)


@dataclass(frozen=True)
class Reference:
    """What a model says of one item, and of its parameters before any item is seen."""

    variants: Mapping[str, dict]  # the fields that the contract is checked with
    state_probability: Callable[[Parameters, Said], np.ndarray]  # p(state, answers), shape (state,)
    log_prior: Callable[[Parameters, Mapping], float]
    views: Mapping[str, View] = field(default_factory=dict)
    known: Callable[[np.ndarray, Parameters, Said, int], np.ndarray] = only_the_known
    states_of: Callable[[Mapping], Callable[[Parameters, Said], np.ndarray]] | None = None  # where fields choose
    views_of: Callable[[Mapping], Mapping[str, View]] | None = None  # the same
    # (parameters, answers of all items) -> how many nodes to either side an integral over a number of the item takes
    nodes_of: Callable[[Mapping], Callable[[Parameters, Sequence[Said]], Mapping]] | None = None
    nodes: Callable[[Parameters, Sequence[Said]], Mapping] = lambda parameters, table: {}  # noqa: ARG005

    def with_fields(self, fields: Mapping) -> Reference:
        """The reference of a model with these fields."""
        states, views = self.states_of, self.views_of
        return replace(
            self,
            state_probability=self.state_probability if states is None else states(fields),
            views=self.views if views is None else views(fields),
            nodes=self.nodes if self.nodes_of is None else self.nodes_of(fields),
        )

    def states(self, parameters: Parameters, said: Said, control: int = -1) -> np.ndarray:
        """p(state, answers), where the true label may be known; shape (state,)."""
        joint = self.state_probability(parameters, said)
        return joint if control < 0 else self.known(joint, parameters, said, control)


# ------------------------------------------------------------------------------------------------------------ model B


def model_b_states(parameters: Parameters, said: Said) -> np.ndarray:
    prevalence, confusion = parameters["prevalence"], parameters["confusion"]
    joint = []
    for truth, share in enumerate(prevalence):
        probability = share
        for annotator, label in said:
            probability = probability * confusion[annotator][truth][label]
        joint.append(probability)
    return np.array(joint)


def model_b_log_prior(parameters: Parameters, fields: Mapping) -> float:
    n_classes = len(parameters["prevalence"])
    total = dirichlet(np.full(n_classes, fields["prevalence_prior"])).logpdf(parameters["prevalence"])
    right = fields["confusion_strength"] * fields["confusion_accuracy"]
    wrong = (fields["confusion_strength"] - right) / (n_classes - 1)
    for matrix in parameters["confusion"]:
        for truth, row in enumerate(matrix):
            alpha = [right if label == truth else wrong for label in range(n_classes)]
            total += dirichlet(alpha).logpdf(row)
    return float(total)


def pooled_states(parameters: Parameters, said: Said) -> np.ndarray:
    matrix = parameters["confusion"]
    return np.array(
        [
            share * np.prod([matrix[truth][label] for _, label in said])
            for truth, share in enumerate(parameters["prevalence"])
        ]
    )


def pooled_log_prior(parameters: Parameters, fields: Mapping) -> float:
    return model_b_log_prior(parameters | {"confusion": [parameters["confusion"]]}, fields)


def class_conditional_states(parameters: Parameters, said: Said) -> np.ndarray:
    prevalence, right = parameters["prevalence"], parameters["class_accuracy"]
    joint = prevalence.copy()
    for truth in range(len(prevalence)):
        for annotator, label in said:
            p = right[annotator][truth]
            joint[truth] *= p if label == truth else (1 - p) / (len(prevalence) - 1)
    return joint


def class_conditional_log_prior(parameters: Parameters, fields: Mapping) -> float:
    total = beta(*fields["class_accuracy_prior"]).logpdf(parameters["class_accuracy"]).sum()
    n_classes = len(parameters["prevalence"])
    return float(total + dirichlet(np.full(n_classes, fields["prevalence_prior"])).logpdf(parameters["prevalence"]))


def hierarchical_log_prior(parameters: Parameters, fields: Mapping) -> float:
    """By the change of variable: log odds (wrong response against the right one) have the Jacobian 1 / prod(row)."""
    prevalence, population, spread = parameters["prevalence"], parameters["population"], parameters["spread"]
    n_classes = len(prevalence)
    total = dirichlet(np.full(n_classes, fields["prevalence_prior"])).logpdf(prevalence)
    total += gamma(2, scale=fields["spread_prior"] / 2).logpdf(spread).sum()
    ability, ability_spread = parameters["ability"], parameters["ability_spread"]
    total += gamma(2, scale=fields["ability_spread_prior"] / 2).logpdf(ability_spread)
    total += norm(0, ability_spread).logpdf(ability).sum()
    elsewhere = (1 - fields["confusion_accuracy"]) / (n_classes - 1)
    for truth in range(n_classes):
        expected = np.log(elsewhere / fields["confusion_accuracy"])
        for label in range(n_classes):
            total -= np.log(population[truth, label])
            if label != truth:
                typical = np.log(population[truth, label] / population[truth, truth])
                total += norm(expected, fields["confusion_spread"]).logpdf(typical)
            for matrix, able in zip(parameters["confusion"], ability, strict=True):
                total -= np.log(matrix[truth, label])
                if label != truth:
                    own = np.log(matrix[truth, label] / matrix[truth, truth])
                    total += norm(typical - able, spread[truth]).logpdf(own)
    return float(total)


# --------------------------------------------------------------------------------------------------------------- MACE


def mace_worlds(parameters: Parameters, said: Said) -> Iterator[tuple[int, tuple[int, ...], float]]:
    """Every truth, every choice of who spams, and the probability of both with the answers."""
    strategy = parameters["strategy"]
    n_labels = strategy.shape[1]
    prevalence = parameters.get("prevalence", np.full(n_labels, 1 / n_labels))
    for truth in range(n_labels):
        for spams in product((0, 1), repeat=len(said)):
            probability = prevalence[truth]
            for (annotator, label), spam in zip(said, spams, strict=True):
                know = parameters["competence"][annotator]
                probability *= (1 - know) * strategy[annotator][label] if spam else know * (label == truth)
            yield truth, spams, probability


def mace_states(parameters: Parameters, said: Said) -> np.ndarray:
    joint = np.zeros(parameters["strategy"].shape[1])
    for truth, _, probability in mace_worlds(parameters, said):
        joint[truth] += probability
    return joint


def mace_spam(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
    """P(this annotation is spam | the item's answers), shape (annotation of the item,)."""
    spam, total = np.zeros(len(said)), 0.0
    for truth, spams, probability in mace_worlds(parameters, said):
        if control in (-1, truth):
            spam += probability * np.array(spams)
            total += probability
    return spam / total


def mace_log_prior(parameters: Parameters, fields: Mapping) -> float:
    n_labels, total = parameters["strategy"].shape[1], 0.0
    competence, strategy = fields["competence_prior"], np.full(n_labels, fields["strategy_prior"])
    if competence == "learnt":
        mean, concentration = parameters["competence_mean"], parameters["competence_concentration"]
        competence = concentration * mean, concentration * (1 - mean)
        total += gamma(2, scale=2).logpdf(concentration) + beta(2, 2).logpdf(mean)
    total += beta(*competence).logpdf(parameters["competence"]).sum()
    total += sum(dirichlet(strategy).logpdf(row) for row in parameters["strategy"])
    if fields["class_prior"] == "learnt":
        total += dirichlet(np.full(n_labels, fields["prevalence_prior"])).logpdf(parameters["prevalence"])
    return float(total)


# ----------------------------------------------------------------------------------------------------------- one coin


def one_coin_states_of(fields: Mapping) -> Callable[[Parameters, Said], np.ndarray]:
    def states(parameters: Parameters, said: Said) -> np.ndarray:
        prevalence, joint = parameters["prevalence"], []
        for truth, share in enumerate(prevalence):
            others = [label for label in range(len(prevalence)) if label != truth]
            probability = share
            for annotator, label in said:
                right = parameters["accuracy"][annotator]
                if label == truth:
                    probability = probability * right
                elif fields["errors"] == "uniform":
                    probability = probability * (1 - right) / len(others)
                else:
                    in_all = sum(prevalence[other] for other in others)
                    probability = probability * (1 - right) * (prevalence[label] / in_all if in_all else 0.0)
            joint.append(probability)
        return np.array(joint)

    return states


def one_coin_log_prior(parameters: Parameters, fields: Mapping) -> float:
    total = beta(*fields["accuracy_prior"]).logpdf(parameters["accuracy"]).sum()
    n_classes = len(parameters["prevalence"])
    return float(total + dirichlet(np.full(n_classes, fields["prevalence_prior"])).logpdf(parameters["prevalence"]))


# -------------------------------------------------------------------------------------------------------- label usage


def label_usage_states(parameters: Parameters, said: Said) -> np.ndarray:
    return np.array([np.prod([parameters["usage"][annotator, label] for annotator, label in said])])


def label_usage_log_prior(parameters: Parameters, fields: Mapping) -> float:
    n_labels = parameters["usage"].shape[1]
    habit = parameters["habit"] if fields["centre"] == "common" else np.full(n_labels, fields["usage_prior"])
    return float(sum(dirichlet(habit).logpdf(row) for row in parameters["usage"]))


# ------------------------------------------------------------------------------------------------------------ model A


def model_a(parameters: Parameters, said: Said) -> np.ndarray:
    annotators = [annotator for annotator, _ in said]
    omega, pi = parameters["frequency"], None
    if omega.ndim == 2:
        pi = parameters["share"] @ omega
        omega = omega[annotators]
    theta = parameters["accuracy"][annotators]
    if not said:
        return np.eye(parameters["frequency"].shape[-1] + 1)[-1]
    return model_a_states(theta, [label for _, label in said], omega, pi=pi)


def model_a_unsaid(parameters: Parameters, said: Said) -> np.ndarray:
    """How probable each label is if it is none of these, shape (label,)."""
    truth = parameters["frequency"] if "share" not in parameters else parameters["share"] @ parameters["frequency"]
    unsaid = np.array([0.0 if label in {v for _, v in said} else share for label, share in enumerate(truth)])
    return unsaid / unsaid.sum() if unsaid.any() else unsaid


def model_a_known(joint: np.ndarray, parameters: Parameters, said: Said, control: int) -> np.ndarray:
    """A known label that was said is its state; one that was not is among "none of these"."""
    if control in {label for _, label in said}:
        return only_the_known(joint, parameters, said, control)
    return only_the_known(joint, parameters, said, joint.size - 1) * model_a_unsaid(parameters, said)[control]


def model_a_correct(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
    return np.array([joint[label] for _, label in said]) / joint.sum()


def model_a_label(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
    spread = model_a_unsaid(parameters, said) if control < 0 else np.eye(joint.size - 1)[control]
    return (joint[:-1] + joint[-1] * spread) / joint.sum()


def model_a_log_prior(parameters: Parameters, fields: Mapping) -> float:
    total = beta(*fields["accuracy_prior"]).logpdf(parameters["accuracy"]).sum()
    if fields["frequency"] != "empirical":
        rows = np.atleast_2d(parameters["frequency"])
        total += sum(dirichlet(np.full(rows.shape[1], fields["frequency_prior"])).logpdf(row) for row in rows)
    return float(total)


REFERENCES: dict[str, Reference] = {
    "model_b": Reference(
        variants={"default": {}},
        state_probability=model_b_states,
        log_prior=model_b_log_prior,
    ),
    "pooled_dawid_skene": Reference(
        variants={"default": {}},
        state_probability=pooled_states,
        log_prior=pooled_log_prior,
    ),
    "class_conditional": Reference(
        variants={"default": {}},
        state_probability=class_conditional_states,
        log_prior=class_conditional_log_prior,
    ),
    "hierarchical_dawid_skene": Reference(
        variants={"default": {}},
        state_probability=model_b_states,
        log_prior=hierarchical_log_prior,
    ),
    "mace": Reference(
        variants={
            "uniform": {"class_prior": "uniform"},
            "learnt": {"class_prior": "learnt", "prevalence_prior": 2.0, "competence_prior": (2.0, 1.0)},
            "population": {"competence_prior": "learnt", "strategy_prior": 0.6, "class_prior": "uniform"},
        },
        state_probability=mace_states,
        log_prior=mace_log_prior,
        views={"spam": mace_spam},
    ),
    "one_coin": Reference(
        variants={"uniform": {}, "prevalence": {"errors": "prevalence", "accuracy_prior": (2.0, 2.0)}},
        state_probability=one_coin_states_of({"errors": "uniform"}),
        states_of=one_coin_states_of,
        log_prior=one_coin_log_prior,
    ),
    "item_difficulty": Reference(
        variants={
            # under the default prior annotators can be so much alike that a test cannot tell whose answers are whose
            "chance": {"ability_prior": (2.0, 3.0)},
        },  # the other forms, and habits=False, are looked at in test_item_difficulty.py
        state_probability=difficulty_states_of({"form": "chance"}),
        states_of=difficulty_states_of,
        views_of=difficulty_views_of,
        nodes_of=difficulty_nodes_of,
        log_prior=difficulty_log_prior,
    ),
    "shared_errors": Reference(
        variants={"default": {"ability_prior": (2.0, 3.0)}},
        state_probability=difficulty_states_of({}),
        views=difficulty_views_of({}),
        nodes_of=difficulty_nodes_of,
        log_prior=difficulty_log_prior,
    ),
    "ordinal_dawid_skene": Reference(
        variants={
            # probabilities that are no doubles any more, the reference cannot add up
            "logistic": {"severity_prior": 0.8},
            "normal": {"noise": "normal", "sd_prior": (1.0, 0.3), "severity_prior": 0.8},
            "shared": {"shared": True, "sd_prior": (0.7, 0.3), "severity_prior": 0.8, "shared_prior": 0.7},
        },
        state_probability=ordinal_states_of({"noise": "logistic", "shared": False}),
        states_of=ordinal_states_of,
        nodes_of=ordinal_nodes_of,
        log_prior=ordinal_log_prior,
    ),
    "label_usage": Reference(
        variants={"common": {}, "even": {"centre": "even", "usage_prior": 2.0}},
        state_probability=label_usage_states,
        log_prior=label_usage_log_prior,
    ),
    "model_a": Reference(
        variants={
            "empirical": {},
            "shared": {"frequency": "shared", "frequency_prior": 2.0, "accuracy_prior": (3.0, 2.0)},
            "annotator": {"frequency": "annotator", "frequency_prior": 3.0},
        },
        state_probability=model_a,
        log_prior=model_a_log_prior,
        views={"label_probability": model_a_label, "correct": model_a_correct},
        known=model_a_known,
    ),
    "easy_hard": Reference(
        variants={
            "default": {},
            "slips": {"easy_error": "learnt", "slip_prior": (2.0, 3.0), "hard_prior": (2.0, 3.0), "coin_prior": 2.0},
        },
        state_probability=easy_hard_states,
        log_prior=easy_hard_log_prior,
        views={"hard": easy_hard_hard},
        known=easy_hard_known,
    ),
    "diligent_lazy_annotators": Reference(
        variants={
            # under the default prior annotators can be so much alike that a test cannot tell whose answers are whose
            "three": {"types": 3, "weight_prior": 2.0, "rate_prior": (0.7, 3.0), "diligence_prior": (0.7, 0.6)},
        },
        state_probability=diligent_lazy_annotators_states,
        log_prior=diligent_lazy_annotators_log_prior,
        views={"hard": nearest_to_a_half},
    ),
}
