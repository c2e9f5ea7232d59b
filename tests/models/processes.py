"""The generative process of MACE, told as a story: who knows, and who guesses."""

import pymc as pm
import pytensor.tensor as pt


def mace(model, design, p):  # noqa: ARG001
    """Hovy et al. (2013), figure 2: a spammer gives an answer out of habit, all others the truth."""
    true_class = design.draw_classes(p)  # (item,)
    spams = pm.Bernoulli.dist(1 - p.competence[design.annotator])  # (annotation,)
    truth = pt.as_tensor(design.class_response)[design.show(true_class)]
    return true_class, pt.switch(spams, pm.Categorical.dist(p.strategy[design.annotator]), truth)


PROCESSES = {"mace": mace}
