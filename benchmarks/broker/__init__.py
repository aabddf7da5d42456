"""The broker end to end, beside a bare loop of the same client that matches nothing."""
