"""The bounded cache."""

from panes.state.storage.recently_used import RecentlyUsed


def refuse():
    raise AssertionError("it was there")


def test_what_was_not_used_for_longest_goes_first():
    cache = RecentlyUsed(2)
    assert cache.get("a", lambda: 1) == 1
    assert cache.get("b", lambda: 2) == 2
    assert cache.get("a", refuse) == 1
    cache.put("c", 3)
    assert cache.get("a", refuse) == 1
    assert cache.get("b", lambda: 4) == 4
    assert len(cache) == 2


def test_values_count_by_their_size_and_one_that_is_too_large_is_not_kept():
    cache = RecentlyUsed(10, size=len)
    cache.put("a", "123456")
    cache.put("b", "1234")
    assert (cache.get("a", refuse), cache.get("b", refuse)) == ("123456", "1234")
    cache.put("b", "12345")
    assert cache.get("b", refuse) == "12345"
    assert cache.get("a", lambda: "made again: too large") == "made again: too large"
    assert len(cache) == 1


def test_what_is_found_counts_as_used_and_what_is_not_there_is_none():
    cache = RecentlyUsed(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.find("a"), cache.find("c")) == (1, None)
    cache.put("c", 3)
    assert (cache.find("a"), cache.find("b"), cache.find("c")) == (1, None, 3)
