"""EM and variational Bayes: climbs from several starts, in NumPy, in memory or on a cluster."""
