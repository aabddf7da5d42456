"""Subscriptions and events as the papers generate them, from parameters and a seed.

A workload is a frozen dataclass: the parameters of one paper's generator under the paper's names, and a seed. It
yields subscriptions as texts of the expression language and events as dictionaries; where every predicate is one
interval, also both as columns of integers. The same parameters and seed give the same output, and a longer draw begins
with a shorter one. `registry.WORKLOADS` names them; `python -m benchmarks.workloads` lists, writes and describes them;
docs/workloads.md tells what each paper says and where we deviate.
"""
