"""What the paper proves, to be checked by computation: its causal graph and its counter-example."""

from matchdg.theory.counter_example import counter_example
from matchdg.theory.graph import STATEMENTS, Statement, causal_graph, check_statements

__all__ = ["STATEMENTS", "Statement", "causal_graph", "check_statements", "counter_example"]
