"""The experiments of papers, run with our engines on workloads made as the papers make theirs."""
