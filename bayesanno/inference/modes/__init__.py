"""The modes of a posterior: found before sampling, which chains are in which, what each weighs."""
