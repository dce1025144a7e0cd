"""What the database knows of: streams, tables, functions, registered queries and settings, in one SQLite file."""

from panes.catalog.catalog import Catalog, check_there
from panes.catalog.query_record import GroupRecord, QueryRecord

__all__ = ["Catalog", "GroupRecord", "QueryRecord", "check_there"]
