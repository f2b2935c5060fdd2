"""A page as one HTML file that needs no server: the lab's own components with what they draw inside."""
