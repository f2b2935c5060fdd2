"""Rooms: one shows, many follow."""
