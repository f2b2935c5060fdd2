"""The lecturer's side of a room: what is shown to those who follow, and what the class is asked."""
