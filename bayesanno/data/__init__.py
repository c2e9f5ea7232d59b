"""Annotations as frozen values."""
