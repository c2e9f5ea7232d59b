"""What libraries say to programmers, kept from users."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def quiet_logger(name: str, level: int) -> Iterator[None]:
    """Let a library's logger say only what is of this level or above, while the block runs."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
