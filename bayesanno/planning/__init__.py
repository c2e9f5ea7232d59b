"""What to ask next: answers and true labels that would help most, how many are enough, and when to stop."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # the names are in __init__.pyi
