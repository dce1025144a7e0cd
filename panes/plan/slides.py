"""At which slides a relation changes."""

from __future__ import annotations

from panes.plan import nodes


def slides_of(node: nodes.Node) -> tuple[int, ...]:
    """The slides of the windows that a relation is made of; none when it also changes between them."""
    if not changes_at_slides(node):
        return ()
    if isinstance(node, nodes.Window) and node.spec.slide_us is not None:
        return (node.spec.slide_us,)
    return tuple(sorted({slide for child in node.children for slide in slides_of(child)}))


def changes_at_slides(node: nodes.Node) -> bool:
    """Whether the relation changes at slides only, so that its value can be given at every change."""
    if isinstance(node, nodes.Window):
        return node.spec.slide_us is not None
    if isinstance(node, nodes.Values):
        return True  # it never changes
    if isinstance(node, nodes.TableScan):
        return node.stream is not None  # updates of one that is looked up change nothing that is there
    return bool(node.children) and all(map(changes_at_slides, node.children))
