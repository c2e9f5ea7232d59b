"""From a model and data to a fit. This page is the map.

`fit.fit` reads as five steps, and those who want to know where something happens can go by them.

1.  Prepare.   methods.choose_method          one table of methods: settings, function, what it yields
               diagnosis/design               what the design, or the model, cannot learn from such data: said at once
               AnnotationModel.build          the graph (modeling/)
               sampling/starts.choose_starts  compile the density, look for modes, choose where chains start
                 graph/density.compile_graph    a density of points, by functions of C that are kept on disk
                 graph/c_functions              these functions, without the sizes of the data
                 modes/search                   climbs from random points to `Modes`, all labellings of each counted;
                                                modes/tops has the climb, and the mass of a top by Laplace's method
2.  Sample.    sampling/nuts, sampling/advi   from starts to draws of the free parameters
               climbing/em, climbing/vb       EM and VB need no graph: NumPy, in memory or on Dask, and compute all that
                                              their fit holds (climbing/without_graph)
3.  Relabel.   relabelling/align              classes under their names, draw by draw, where that is legitimate
4.  Compute.   modes/chains                   which chains are in which mode: one record
               assemble.compute               deterministics, labels (modeling/posterior), log prior, diagnostics
               diagnosis/measures             the numbers, and from which on something is said: diagnosis/thresholds
5.  Explain.   assemble.finish                one tree, and the warnings
               diagnosis/misfit               the answers against those that the fit predicts (simulation/), and
                                              whether the labels are those of few who share errors
               diagnosis/explain              the words; explain_modes and explain_misfit have theirs

What is done with a fit afterwards, and gives another fit:

    combine         concat_chains, relabel (relabelling/rules)
    split           drop_chains, split_modes, combine_modes; modes/masses says what a mode weighs, by modes/bridge
    log_likelihood  compute_log_likelihood, leave_one_out

Besides fits: modes/find lists all maxima of a likelihood (modes/objective, by the same climb, and modes/polish); dask/
holds annotations on a cluster.

Where to add: a method of fitting, one file next to sampling/nuts or climbing/em, its settings in settings, and a line
in methods; a warning, a function in diagnosis/explain, which is given a fit's diagnostics, and the number it rests on
in diagnosis/measures; a rule of relabelling, relabelling/rules.
"""
