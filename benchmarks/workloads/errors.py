"""What a user of a workload can mend."""


class WorkloadError(ValueError):
    """Parameters that cannot be met: which one, its value, and what would do."""
