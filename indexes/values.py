"""The values of events and operands, as Python has them."""

Value = bool | int | float | str
"""`int` within int64; a float that is integral and fits int64 is the same number as that int."""
