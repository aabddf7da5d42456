"""python -m benchmarks.workloads."""

from benchmarks.workloads.commands import main

main()
