"""Groups of queries in the catalog: who is in which, and what becomes of those who leave."""

from panes.query_settings import KEPT, QuerySettings


def test_queries_share_a_plan_with_those_that_tell_the_same_changes(catalog):
    catalog.set("share_from", 1)
    net, exact, other = (
        catalog.register(name, "SELECT 1", 2, QuerySettings(changes=changes), "template")
        for name, changes in (("net", "epoch"), ("exact", "instant"), ("other", "instant"))
    )
    assert net.group != exact.group == other.group
    assert [record.settings.changes for record in (net, exact)] == ["epoch", "instant"]
    catalog.begin_queries(0, lambda _: 0, 2)
    assert len(catalog.groups()) == 2


def test_queries_of_a_group_go_by_its_number_of_shards_and_keep_it_when_it_is_dissolved(catalog):
    catalog.set("share_from", 1)
    one, two = (
        catalog.register(name, "SELECT 1", shards, QuerySettings(), "template")
        for name, shards in (("one", 3), ("two", 4))
    )
    assert one.group == two.group
    assert one.shards == two.shards == 3
    catalog.set_shards("two", 6)
    catalog.query_groups.dissolve(one.group, {one.id: KEPT, two.id: KEPT})
    assert {record.shards for record in catalog.queries()} == {6}


def test_queries_that_leave_a_group_have_its_shards_and_it_goes_with_the_last(catalog):
    catalog.set("share_from", 1)
    one, two = (
        catalog.register(name, "SELECT 1", 3, QuerySettings(), "template", synopsis="template")
        for name in ("one", "two")
    )
    groups = catalog.query_groups
    assert (groups.template_of(one.group), groups.is_synopsis(one.group)) == ("template", True)
    groups.leave([one.id], KEPT)
    assert (catalog.query("one").group, catalog.query("one").shards) == (None, 3)
    assert not groups.forget_unused()
    catalog.begin_queries(4, lambda _: 0, 2)
    assert [(group.id, group.first_epoch, group.plan_epoch) for group in catalog.groups()] == [
        (two.group, 4, 4)
    ]
    catalog.drop_query("two")
    assert groups.has(two.group)
    catalog.begin_queries(5, lambda _: 0, 2)
    assert not groups.has(two.group)
