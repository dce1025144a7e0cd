"""What each statement does: one handler per kind of statement, found in `handlers.HANDLERS`."""
