"""What `viz.server` mounts beside Streamlit: the routes of rooms, and the page of those who follow one."""

from __future__ import annotations

from viz.rooms import follow
from viz.rooms.routes import Rooms
from viz.rooms.store import MemoryStore, Store

is_mounted = False  # whether this process answers the routes, as `viz.server` has it


def rooms(redis_url: str) -> Rooms:
    """The routes over a store: this process alone, or the Redis of an address (REDIS_URL). ValueError for what is none."""
    return Rooms(_store(redis_url), more=follow.routes())


def _store(redis_url: str) -> Store:
    if not redis_url:
        return MemoryStore()
    from viz.rooms.redis_store import connected

    return connected(redis_url)
