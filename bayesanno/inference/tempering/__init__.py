"""Tempering: label probabilities that are as certain as the evidence allows.

A model assumes that annotators' errors on an item are independent given its class. In real data they rarely are, and
then its labels are overconfident, by much the same factor in the log odds of all items. Two sources tell this factor:

check    The check of a fit measures the correlation of errors, without true labels. Every checked fit is adjusted.
labels   The true labels of a few items (`bayesanno.recalibrate`), which start from the adjusted labels.

Tempered labels.  Let L_i be the log probabilities of the labels of item i, with n_i answers. With a temperature T, a
correlation r of errors, and shifts s,

    log t_i(k)  =  c_k + (L_ik - c_k) / (T (1 + (n_i - 1) r)) + s_k - log(sum over labels of the same)            (1)

averaged over draws of T, r and s. c_k is the log of the model's share of items with label k; for a model with a class
prior, it is the log of the item's own prior. By the check, T = 1 and s = 0: n answers are worth n / (1 + (n - 1) r)
independent ones (Kish 1965). By known labels, r = 0 (temperature scaling, Guo et al. 2017, with shifts, Platt 1999).

The vote.  Equal correlation of all pairs is an approximation, and errors common to all answers of an item are
invisible. The vote does not depend on the model's likelihood, and its confidence does not grow exponentially:

    v_i(k)  =  (sum of the weights of k's answers + b_k) / (sum of the weights of all answers + 1)                (2)

Answers are weighted by the informedness of their annotator: the probability of a right answer, averaged over classes,
on a scale with chance at 0. One more answer, b, is added: the item's own prior in a model with a class prior, otherwise
half of it evenly and half by the shares of labels among all answers.

Adjustment by the check.  From the model's probabilities p,

    p'   =  (1 - a) p + a v             a = max(.02, .2 expit(6 (spread - 2.5)) min(1, off K / .1))               (3)
    p''  =  (1 - b) p' + b (t + 2 v)/3  b = max(expit(z^2 / 2 - 5) min(1, (design effect - 1) / .1), [pairs])     (4)

a   Evidence and size of votes that the model does not predict: their `spread`, as the check has it, and `off`, the
    largest difference between observed and predicted cumulative shares, times the number of labels K. 2% of the vote
    are always there, since no model is certain; EM's probabilities of 0 become small numbers.
b   Evidence and size of correlated errors: z of the correlation (0 if it is negative), and the design effect
    1 + (n - 1) r. It is 1 if some pairs of annotators agree too often, unless errors are negatively correlated.

On eleven tables with true labels (`tests/benchmarks/sureness.py`), tempering without the vote, a temperature chosen by
answers held out, and a beta-binomial vote were all worse.

An item without an answer that names a class keeps its posterior, and so does a control. `fit["latent"]` keeps the
model's own posterior.

Modules: `rule` (the class `Tempering`, and weights a and b), `grid` (temperature and shifts from known labels), `parts`
(tempering of a fit's items, and the groups of a fit that store it).

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4 (the design effect).
J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods,
in: Advances in Large Margin Classifiers, MIT Press, pages 61-74.
C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages 1321-1330,
arXiv:1706.04599.
"""
