"""Generative processes of models with two tables, told as stories: who knows, who guesses, who errs."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def mace(model, design, p):  # noqa: ARG001
    """Hovy et al. (2013), figure 2: a spammer gives an answer out of habit, all others the truth."""
    true_class = design.draw_classes(p)  # (item,)
    spams = pm.Bernoulli.dist(1 - p.competence[design.annotator])  # (annotation,)
    truth = pt.as_tensor(design.class_response)[design.show(true_class)]
    return true_class, pt.switch(spams, pm.Categorical.dist(p.strategy[design.annotator]), truth)


def model_b(model, design, p):  # noqa: ARG001
    """Dawid and Skene (1979): an answer is drawn from the row of its class."""
    true_class = design.draw_classes(p)  # (item,)
    return true_class, pm.Categorical.dist(p.confusion[design.annotator, design.show(true_class)])  # (annotation,)


def pooled_dawid_skene(model, design, p):  # noqa: ARG001
    """The same with one matrix for all."""
    true_class = design.draw_classes(p)  # (item,)
    return true_class, pm.Categorical.dist(p.confusion[design.show(true_class)])  # (annotation,)


def one_coin(model, design, p):
    """A coin decides whether an answer is right; a wrong one is another class, evenly or by prevalence."""
    same = np.eye(design.n_classes, dtype=bool)
    true_class = design.draw_classes(p)  # (item,)
    truth = design.show(true_class)  # (annotation,)
    right = pm.Bernoulli.dist(p.accuracy[design.annotator])  # (annotation,)
    log_weight = pt.log(p.prevalence) if model.errors == "prevalence" else np.zeros(design.n_classes)
    wrong = pm.Categorical.dist(logit_p=pt.switch(same, -np.inf, log_weight)[truth])  # over all other classes
    return true_class, pt.as_tensor(design.class_response)[pt.switch(right, truth, wrong)]


def class_conditional(model, design, p):  # noqa: ARG001
    """The coin depends on the class; all wrong classes are equally likely."""
    true_class = design.draw_classes(p)  # (item,)
    truth = design.show(true_class)  # (annotation,)
    right = pm.Bernoulli.dist(p.class_accuracy[design.annotator, truth])  # (annotation,)
    wrong = (truth + 1 + pm.DiscreteUniform.dist(0, design.n_classes - 2, shape=truth.shape)) % design.n_classes
    return true_class, pt.as_tensor(design.class_response)[pt.switch(right, truth, wrong)]


PROCESSES = {
    "mace": mace,
    "model_b": model_b,
    "hierarchical_dawid_skene": model_b,
    "pooled_dawid_skene": pooled_dawid_skene,
    "one_coin": one_coin,
    "class_conditional": class_conditional,
}
