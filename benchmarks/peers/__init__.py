"""Other projects' engines, asked the same as ours.

Each has a folder with a small program in its own language, which is built where its compiler is there. What they share
is files: a workload in the peer's syntax, made from ours.
"""
