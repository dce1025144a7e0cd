"""Synopses: what many queries over windows of one stream are answered from."""
