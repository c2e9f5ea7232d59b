"""bayesanno: Bayesian models of annotation. Who is right, whom to trust, and how sure to be."""

from importlib.metadata import version

import lazy_loader

__version__ = version("bayesanno")

# Nothing is imported before it is used: `import bayesanno` takes milliseconds, PyMC takes seconds (SPEC 1).
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["models"],
    submod_attrs={
        "base": ["AnnotationModel"],
        "correctness": ["correctness_table"],
        "data": ["AnnotationData", "CountData"],
        "dimension_tables": ["read_dimensions", "write_dimensions"],
        "dimensions": ["MultiAnnotationData"],
        "datasets": ["list_datasets"],
        "decisions": ["better_probability", "cheapest_label", "label_draws", "low_competence", "predict"],
        "errors": ["BayesannoError", "DataError", "DataFileError", "EngineError", "FitError", "ModelError"],
        "formats": ["read_annotations", "read_counts", "write_annotations", "write_counts"],
        "histogram_fits": ["compare_types", "fit_binomials", "fit_diligence"],
        "histograms": ["assess_fit", "count_histogram"],
        "inference": ["fit", "join", "relabel_classes"],
        "marginal_likelihood": ["estimate_marginal_likelihood"],
        "noise": ["measure_noise", "noise_level"],
        "noise_posterior": ["noise_of_fit"],
        "simulation": ["make_count_design", "make_design", "make_loop_design", "simulate"],
        "storage": ["data_of", "diagnostics_of", "load", "model_of", "save"],
        "tables": ["annotator_table", "coverage_table", "label_table", "parameter_table", "type_table"],
        "type_evidence": ["check_histogram", "compare_type_numbers"],
        "zoo": ["get_model", "list_models"],
    },
)
