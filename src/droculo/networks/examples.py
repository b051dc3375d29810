"""Graphs that the literature knows."""

from __future__ import annotations

from droculo.later import networkx as nx


def karate() -> nx.Graph:
    """Zachary's karate club: 34 members; the edge attribute `weight` counts the contexts they met in."""
    return _numbered(nx.karate_club_graph())


def florentine() -> nx.Graph:
    """Marriages between 15 Florentine families of the Renaissance; the node attribute `name` is the family."""
    return _numbered(nx.florentine_families_graph())


def davis() -> nx.Graph:
    """Davis's Southern women: 18 women and the 14 events they attended, a bipartite graph of 32 nodes."""
    return _numbered(nx.davis_southern_women_graph())


def les_miserables() -> nx.Graph:
    """The 77 characters of Les Misérables; the edge attribute `weight` counts the chapters they share."""
    return _numbered(nx.les_miserables_graph())


def _numbered(graph: nx.Graph) -> nx.Graph:
    return nx.convert_node_labels_to_integers(graph, label_attribute="name")
