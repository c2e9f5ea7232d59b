"""From a model and data to a fit: a map of this package.

`fit.fit` has five steps:

1.  Check.     methods.choose_method          one table of methods: settings, function, what it yields
               io.read                        data are read, unless they are there
               diagnosis/findings.find_before what the design or the model cannot learn from such data: early warnings
2.  Prepare.   AnnotationModel.build          the graph (modeling/)
               sampling/starts.choose_starts  compile the density, look for modes, choose where chains start
                 graph (a room of its own)      a density of points, in machine code
                 modes/search                   ascents from random points to `Modes`, with all labellings of each,
                                                and their masses; `LogDensity.maximize` is the ascent
3.  Sample.    sampling/nuts, sampling/advi   from starts to draws of the free parameters
               em_vb/em, em_vb/vb             EM and VB need no graph: they use NumPy, in memory or on Dask, and compute
                                              the whole fit (em_vb/without_graph)
4.  Compute.   relabelling.align_classes      permute the classes of draws to match their names, if legitimate
               modes/record                   which chains are in which mode; modes of models with scale parameters get
                                              probabilities
               assemble.compute               deterministics, labels (modeling/posterior), log prior, diagnostics
               diagnosis/measures             the numbers; the thresholds of warnings are in diagnosis/thresholds
5.  Find.      assemble.make_tree             one tree
               assemble.check_answers
               diagnosis/misfit               the answers against predictions of the fit (simulation/), and whether
                                              the labels are those of a few annotators who share errors
               tempering.check_labels         what `tempering.adjust` would do with the labels
               assemble.find                  the findings, of whose warnings it returns those that are new
               diagnosis/findings             one list of all that was found, of the rules in modeling/rules.toml: of
                                              the design, of modes, of annotators at chance, by known labels

Functions that make another fit from a fit, by `assemble.assemble`, which does steps 4 and 5 for draws that are there:

    relabel         relabel (by the rules in relabelling)
    tempering       adjust: labels as certain as the check allows (known labels of a few items: analysis/recalibrate)
    split           drop_chains, split_modes, combine_modes, by modes/record and modes/bridge
    log_likelihood  compute_log_likelihood, leave_one_out

Besides fits: modes/find lists all maxima of a likelihood (modes/objective, with the same ascent, and modes/polish);
dask/ holds annotations on a cluster.

To add a method of fitting: one file next to sampling/nuts or em_vb/em, with its settings and a line in methods. To
add a finding: a rule in modeling/rules.toml, and a line in diagnosis/findings that measures. To add a rule of
relabelling: a function in relabelling.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # the names are in __init__.pyi
