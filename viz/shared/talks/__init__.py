"""Talks on the page: the list in *Present*, the line at the foot, and the ways on."""
