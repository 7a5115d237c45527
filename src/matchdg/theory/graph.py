"""The causal graph of the paper's figure 2b, and the (in)dependences that the paper reads off it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import networkx as nx

_EDGES = (
    ("Y_true", "O"),
    ("O", "X_C"),
    ("D", "X_A"),
    ("X_C", "X"),
    ("X_A", "X"),
    ("X_C", "Y"),
    # The dashed arrows: a node that nobody sees causes both ends.
    ("U", "O"),
    ("U", "D"),
    ("U_true", "Y_true"),
    ("U_true", "D"),
)


def causal_graph(object_to_attributes: bool = True) -> "nx.DiGraph[str]":
    """The general structural causal model (figure 2b, section 4.1).

    o = g_o(y_true, e_o, e_od), x_c = g_xc(o), x_a = g_xa(d, o, e_xa), x = g_x(x_c, x_a, e_x), y = h(x_c, e_y).

    Two correlations are latent common causes: `U` of the object and the domain (e_od), `U_true` of the true
    label and the domain ("Y may be correlated with the domain": it is Y_true, or Y would depend on D given
    X_C). Appendix B.1 allows the graph with and without the edge from O to X_A (`object_to_attributes`).

    >>> sorted(causal_graph().predecessors("X_A")), sorted(causal_graph(False).predecessors("X_A"))
    (['D', 'O'], ['D'])
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(_EDGES)
    if object_to_attributes:
        graph.add_edge("O", "X_A")
    return graph


@dataclass(frozen=True)
class Statement:
    """`left` and `right` are independent given `given`, or not; `where` the paper says so.

    That d-separated nodes are independent holds in every graph; that the others are dependent is the perfect
    map assumption of section 4.1.
    """

    text: str
    left: str
    right: str
    given: tuple[str, ...]
    independent: bool
    where: str


# What section 4 and its proofs read off the graph. Appendix B.1 adds that all of it holds with Y_true for Y as
# well. That is so for the conditions that methods enforce, but not for section 4.2's: Y_true depends on D given
# X_C, a descendant of O, where the arrows from Y_true and from the domain's common cause meet.
STATEMENTS: Final[tuple[Statement, ...]] = (
    Statement("X_C ⟂ D | O", "X_C", "D", ("O",), True, "section 4.3, condition 1"),
    Statement("X_C not ⟂ O", "X_C", "O", (), False, "section 4.3, condition 2"),
    Statement("X_C not ⟂ Y", "X_C", "Y", (), False, "section 4.3, below condition 2"),
    Statement("Y ⟂ D | X_C", "Y", "D", ("X_C",), True, "section 4.2"),
    Statement("Y not ⟂ D", "Y", "D", (), False, "section 4.1"),
    Statement("O not ⟂ D | Y_true", "O", "D", ("Y_true",), False, "section 4.1"),
    Statement("X_A not ⟂ D | O", "X_A", "D", ("O",), False, "section 4.3, above theorem 1"),
    Statement("X_A ⟂ X_C | O", "X_A", "X_C", ("O",), True, "theorem 1, proof of claim 2"),
    Statement("X_C not ⟂ D", "X_C", "D", (), False, "proposition 3, domain-invariant"),
    Statement("X_C not ⟂ D | Y", "X_C", "D", ("Y",), False, "proposition 3, class-conditional"),
    Statement("X_C not ⟂ D | Y_true", "X_C", "D", ("Y_true",), False, "section 4.4, proposition 3"),
)


def check_statements(
    graph: "nx.DiGraph[str]", statements: Iterable[Statement] = STATEMENTS
) -> list[dict[str, str | bool]]:
    """Test each statement by d-separation (appendix B.2).

    A row has `text`, `where`, `stated` and `found` ("independent" or "dependent") and `holds`, whether the two
    agree. Raises `networkx.NodeNotFound` where a statement names a node that the graph lacks.

    >>> check_statements(causal_graph())[0]["found"]
    'independent'
    """
    from networkx import is_d_separator

    rows: list[dict[str, str | bool]] = []
    for statement in statements:
        separated = is_d_separator(graph, {statement.left}, {statement.right}, set(statement.given))
        rows.append(
            {
                "text": statement.text,
                "where": statement.where,
                "stated": _word(statement.independent),
                "found": _word(separated),
                "holds": separated == statement.independent,
            }
        )
    return rows


def _word(independent: bool) -> str:
    return "independent" if independent else "dependent"
