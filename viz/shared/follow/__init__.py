"""Who has left a lecture to look around."""
