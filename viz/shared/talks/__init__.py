"""Talks on the page: the list in *Present*, the line at the foot, the ways on, and the handout."""
