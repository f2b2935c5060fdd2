"""The static site: the page Translate without a server, with the model computed in the browser."""
