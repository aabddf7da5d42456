"""Bytes on a wire to events and back.

This layer may use `indexes`; it knows no Kafka and no Redis, only the bytes that travel through them.
"""
