"""The lecture hall: the page at a size that is read from the last row, driven by keys."""
