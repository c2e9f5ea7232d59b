"""What the site's conf.py needs to build pages from models and notebooks."""
