"""Small models that are trained in a minute or two, on tasks that show what a part of the Transformer is for."""
