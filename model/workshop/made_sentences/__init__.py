"""Sentence pairs made by rule, for training and for measuring what the model knows of "it"; `__main__` is the command."""
