"""Names of this room that few need; those that most need are in `bayesanno`."""

from .simulate import make_count_design as make_count_design
from .simulate import make_loop_design as make_loop_design
from .simulate import simulate_pool as simulate_pool
