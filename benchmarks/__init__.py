import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the server; it must be said before numpy is imported
