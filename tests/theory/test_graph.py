import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import networkx as nx
import pytest

from matchdg.theory import STATEMENTS, Statement, causal_graph, check_statements

EITHER_GRAPH = pytest.mark.parametrize("object_to_attributes", [True, False])


def test_the_nodes_are_figure_2b_s_and_the_two_latent_causes() -> None:
    assert set(causal_graph().nodes) == {"D", "O", "Y_true", "X_C", "X_A", "X", "Y", "U", "U_true"}


@pytest.mark.parametrize(
    ("node", "causes"),
    [
        ("O", {"Y_true", "U"}),
        ("X_C", {"O"}),
        ("X_A", {"D", "O"}),
        ("X", {"X_C", "X_A"}),
        ("Y", {"X_C"}),
        ("D", {"U", "U_true"}),
        ("Y_true", {"U_true"}),
        ("U", set()),
        ("U_true", set()),
    ],
)
def test_a_node_has_the_causes_of_its_structural_equation(node: str, causes: set[str]) -> None:
    assert set(causal_graph().predecessors(node)) == causes


def test_the_other_graph_lacks_one_edge_only() -> None:
    assert set(causal_graph().edges) - set(causal_graph(object_to_attributes=False).edges) == {("O", "X_A")}


@EITHER_GRAPH
def test_the_graph_has_no_cycle(object_to_attributes: bool) -> None:
    assert nx.is_directed_acyclic_graph(causal_graph(object_to_attributes))


@EITHER_GRAPH
def test_every_statement_of_the_paper_holds(object_to_attributes: bool) -> None:
    rows = check_statements(causal_graph(object_to_attributes))
    assert len(rows) == len(STATEMENTS) == 11
    assert [row["text"] for row in rows if not row["holds"]] == []


def test_the_statements_are_those_of_the_paper() -> None:
    stated = {(s.left, s.right, s.given, s.independent) for s in STATEMENTS}
    assert stated >= {
        ("X_C", "D", ("O",), True),
        ("X_C", "O", (), False),
        ("X_C", "D", (), False),
        ("X_C", "D", ("Y",), False),
        ("X_C", "D", ("Y_true",), False),
        ("Y", "D", ("X_C",), True),
    }


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.text)
def test_a_statement_s_text_is_what_is_tested(statement: Statement) -> None:
    word = "⟂" if statement.independent else "not ⟂"
    condition = f" | {', '.join(statement.given)}" if statement.given else ""
    assert statement.text == f"{statement.left} {word} {statement.right}{condition}"


def test_a_row_says_what_was_stated_and_what_was_found() -> None:
    wrong = Statement("X_C ⟂ D", "X_C", "D", (), True, "nowhere")
    assert check_statements(causal_graph(), [wrong]) == [
        {"text": "X_C ⟂ D", "where": "nowhere", "stated": "independent", "found": "dependent", "holds": False}
    ]


def test_without_correlation_of_object_and_domain_class_conditional_invariance_would_be_right() -> None:
    graph = causal_graph()
    graph.remove_nodes_from(["U", "U_true"])
    broken = {row["text"] for row in check_statements(graph) if not row["holds"]}
    assert broken == {
        "Y not ⟂ D",
        "O not ⟂ D | Y_true",
        "X_C not ⟂ D",
        "X_C not ⟂ D | Y",
        "X_C not ⟂ D | Y_true",
    }


def test_an_arrow_from_the_domain_to_the_causal_features_would_break_the_invariance() -> None:
    graph = causal_graph()
    graph.add_edge("D", "X_C")
    found = {row["text"]: row["holds"] for row in check_statements(graph)}
    assert not found["X_C ⟂ D | O"]
    assert found["Y ⟂ D | X_C"]


def test_with_the_true_label_for_the_label_all_but_one_statement_hold() -> None:
    def swapped(node: str) -> str:
        return "Y_true" if node == "Y" else node

    statements = [
        replace(s, left=swapped(s.left), right=swapped(s.right), given=tuple(map(swapped, s.given))) for s in STATEMENTS
    ]
    rows = check_statements(causal_graph(), statements)
    assert [row["text"] for row in rows if not row["holds"]] == ["Y ⟂ D | X_C"]


def test_d_separation_agrees_with_a_search_over_all_paths() -> None:
    for object_to_attributes in (True, False):
        graph = causal_graph(object_to_attributes)
        for row, statement in zip(check_statements(graph), STATEMENTS, strict=True):
            assert (row["found"] == "dependent") == _some_path_is_open(graph, statement)


def _some_path_is_open(graph: nx.DiGraph, statement: Statement) -> bool:
    """Definition 1 of appendix B.2, path by path."""
    given = set(statement.given)
    known = given | {ancestor for node in given for ancestor in nx.ancestors(graph, node)}
    for path in nx.all_simple_paths(graph.to_undirected(), statement.left, statement.right):
        triples = zip(path, path[1:], path[2:], strict=False)
        if all(
            (middle in known)
            if graph.has_edge(before, middle) and graph.has_edge(after, middle)
            else middle not in given
            for before, middle, after in triples
        ):
            return True
    return False


def test_a_statement_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        STATEMENTS[0].independent = False  # type: ignore[misc]


def test_a_node_that_the_graph_lacks_is_an_error() -> None:
    with pytest.raises(nx.NodeNotFound):
        check_statements(nx.DiGraph([("O", "X_C")]))


def test_importing_the_room_does_not_import_networkx() -> None:
    code = "import sys, matchdg.theory; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
