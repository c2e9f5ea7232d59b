"""bayesanno: Bayesian models of annotation. Who is right, whom to trust, and how sure to be."""

from importlib.metadata import version

import lazy_loader

__version__ = version("bayesanno")

# Nothing is imported before it is used: `import bayesanno` takes milliseconds, PyMC takes seconds (SPEC 1).
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["models"],
    submod_attrs={
        "modeling.base": ["AnnotationModel"],
        "analysis.correctness": ["correctness_table"],
        "data.annotations": ["AnnotationData", "CountData"],
        "io.dimensions": ["read_dimensions", "write_dimensions"],
        "data.dimensions": ["MultiAnnotationData"],
        "io.datasets": ["list_datasets"],
        "analysis.decisions": ["better_probability", "cheapest_label", "label_draws", "low_competence", "predict"],
        "ground.errors": ["BayesannoError", "DataError", "DataFileError", "FitError", "ModelError", "SamplerError"],
        "io.annotations": ["read_annotations", "read_counts", "write_annotations", "write_counts"],
        "agreement.histogram_mixtures": ["compare_types", "fit_binomials", "fit_diligence"],
        "agreement.histograms": ["assess_fit", "count_histogram"],
        "inference.fit": ["fit"],
        "inference.combine": ["concat_chains", "relabel"],
        "inference.loo": ["compute_log_likelihood"],
        "inference.bridge": ["estimate_marginal_likelihood"],
        "agreement.noise": ["measure_noise", "noise_level"],
        "analysis.noise": ["noise_of_fit"],
        "simulation.simulate": ["make_count_design", "make_design", "make_loop_design", "simulate"],
        "fits.storage": ["data_of", "diagnostics_of", "load", "model_of", "save"],
        "analysis.labels": ["annotator_table", "coverage_table", "label_table", "parameter_table", "type_table"],
        "criticism.comparison": ["check_histogram", "compare_type_numbers"],
        "modeling.registry": ["get_model", "list_models"],
    },
)
