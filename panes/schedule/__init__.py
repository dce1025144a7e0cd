"""Which answers to refresh first, when there is not time for all of them at every slide."""
