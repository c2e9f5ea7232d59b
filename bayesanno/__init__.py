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
        "data.annotations": ["AnnotationData"],
        "data.counts": ["CountData"],
        "io.dimensions": ["read_multi_annotations"],
        "data.dimensions": ["MultiAnnotationData"],
        "io.datasets": ["list_datasets"],
        "analysis.accuracy": ["coverage_table"],
        "analysis.annotators": ["annotator_table", "compare_annotators", "low_competence_probability"],
        "analysis.behaviour": ["behaviour_table", "confusion_table", "differ_more_probability"],
        "analysis.decisions": ["decide_labels", "sample_labels"],
        "analysis.item_types": ["type_table"],
        "analysis.parameters": ["summary"],
        "analysis.predict": ["predict_labels"],
        "ground.errors": [
            "BayesannoError",
            "CacheWarning",
            "ConvergenceWarning",
            "DataError",
            "DataFileError",
            "FitError",
            "IdentifiabilityWarning",
            "ModelError",
            "PredictionWarning",
            "SamplerError",
            "SizeWarning",
        ],
        "io.annotations": ["read_annotations"],
        "io.counts": ["read_counts"],
        "io.write": ["write_annotations", "write_counts", "write_multi_annotations"],
        "agreement.histogram_mixtures": ["fit_binomials", "fit_diligence", "fit_gaussians", "select_n_types"],
        "agreement.histograms": ["chi_square_test", "count_histogram"],
        "inference.fit": ["fit"],
        "inference.modes": ["find_modes"],
        "inference.combine": ["concat_chains", "relabel"],
        "inference.split": ["combine_modes", "drop_chains", "split_modes"],
        "inference.loo": ["compute_log_likelihood"],
        "inference.bridge": ["estimate_marginal_likelihood"],
        # noise: what chance explains of agreement, from counts, from a table, and from a fit
        "agreement.chance": [
            "ChanceDifference",
            "Disagreement",
            "bound_chance_difference",
            "chance_agreement",
            "count_disagreement",
            "estimate_chance_agreement",
            "estimate_coins",
        ],
        "agreement.noise": [
            "NoiseBound",
            "bound_noise",
            "bound_noise_of",
            "hard_items_posterior",
            "noise_from_kappa",
            "plan_annotators",
            "tolerated_disagreements",
        ],
        "analysis.noise": ["NoisePosterior", "noise_posterior"],
        # agreement and behaviour, from data alone
        "agreement.coefficients": ["Kappa", "agreement_table", "measure_kappa"],
        "agreement.pairs": ["annotator_agreement", "pair_table"],
        "agreement.behaviour": ["usage_table"],
        "agreement.groups": ["confusable_labels", "group_annotators"],
        "agreement.subsets": ["drop_outliers", "subset_table"],
        "simulation.designs": ["make_count_design", "make_design", "make_loop_design"],
        "simulation.pools": ["simulate_pool"],
        "simulation.simulate": ["simulate"],
        "fits.storage": ["data_of", "diagnostics_of", "load", "model_of", "save"],
        "analysis.labels": ["label_table"],
        "criticism.calibration": ["calibration_scores", "calibration_table"],
        "criticism.comparison": ["compare"],
        "criticism.experiments": [
            "compare_coverage",
            "vary_annotations",
            "vary_controls",
            "vary_good_annotators",
        ],
        "criticism.predictive": ["PredictiveCheck", "predictive_check"],
        "modeling.registry": ["get_model", "list_models"],
    },
)
