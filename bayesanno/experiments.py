"""`bayesanno.experiments`: the experiments of Hovy et al. (2013), for any model of labels and any method."""

from bayesanno.criticism.experiments import compare_coverage, vary_annotations, vary_controls, vary_good_annotators

__all__ = ["compare_coverage", "vary_annotations", "vary_controls", "vary_good_annotators"]
