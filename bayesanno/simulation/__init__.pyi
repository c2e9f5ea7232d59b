"""Names of this room that few need; those that most need are in `bayesanno`."""

from .designs import make_count_design as make_count_design
from .designs import make_loop_design as make_loop_design
from .designs import simulate_pool as simulate_pool
