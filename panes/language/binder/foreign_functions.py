"""Functions of other systems that are not there: what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

_SAME_ANSWER = "a query gives the same answer for the same rows; push such values as a column"
_MONTHS = "a month is not a fixed length; make_date(year(x), month(x) + 1, 1) begins the next one of the year"
_PARTS = "take the fields one by one: CAST(get_json_object(x, '$.a') AS DOUBLE)"
_TEXTS = "join texts by || or concat_ws, numbers as CAST(x AS STRING)"
_STRUCTS = "STRUCTs are read, and not made; give each value a column"
_NUMBERS = "rows have no number; row_number() OVER (ORDER BY …) counts those of a window"

FOREIGN_FUNCTIONS: Mapping[str, str] = {
    "dayofweek": "isodow(x) is 1 on Monday and 7 on Sunday; isodow(x) % 7 + 1 is 1 on Sunday",
    "weekday": "isodow(x) is 1 on Monday and 7 on Sunday; isodow(x) - 1 is 0 on Monday",
    "add_months": _MONTHS,
    "months_between": "date_diff('month', begin, end) counts the boundaries of months",
    "next_day": "isodow(x) is the day of the week; add days with date_add(x, n)",
    "from_json": _PARTS,
    "json_tuple": _PARTS,
    "to_json": _TEXTS,
    "format_string": _TEXTS,
    "printf": _TEXTS,
    "format_number": "write CAST(CAST(x AS DECIMAL(18, 2)) AS STRING)",
    "rand": _SAME_ANSWER,
    "random": _SAME_ANSWER,
    "randn": _SAME_ANSWER,
    "uuid": _SAME_ANSWER,
    "monotonically_increasing_id": _NUMBERS,
    "struct": _STRUCTS,
    "named_struct": _STRUCTS,
    "map": "there are no maps; keep keys and values in two lists, or in a table",
    "initcap": "write upper(left(x, 1)) || lower(substring(x, 2)) for the first letter",
    "transform": "unnest the list in FROM: … FROM s, unnest(s.items) AS t(item)",
    "filter": "unnest the list in FROM, and test its items in WHERE",
    "array_distinct": "unnest the list in FROM, and take array_agg(DISTINCT item)",
    "sort_array": "unnest the list in FROM, and take array_agg(item ORDER BY item)",
    "array_sort": "unnest the list in FROM, and take array_agg(item ORDER BY item)",
    "array_join": "unnest the list in FROM, and take string_agg(item, ',')",
    "posexplode": "unnest the list in FROM: … FROM s, unnest(s.items) AS t(item)",
    "skewness": "there are var_samp(x), stddev_samp(x), quantile(x, p)",
    "kurtosis": "there are var_samp(x), stddev_samp(x), quantile(x, p)",
}
"""For a name that is no function here, a hint."""
