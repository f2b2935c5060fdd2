"""Talks: lectures of kept views, each with a line to say."""
