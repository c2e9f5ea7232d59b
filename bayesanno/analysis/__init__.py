"""Tables and other results of a fit."""
