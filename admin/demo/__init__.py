"""What `tamis demo` shows: people who want offers of a shop, the offers, and what each of them gets.

`performance` is the course of it, on a real Kafka and a real broker process. What the audience sees is a `stage`: a
`screen` on a terminal, else `lines`. `shop` has the people and the offers, `audience` reads what was delivered as
subscribers do, and `judge` tells what should have been: by `Expression.evaluate`, which shares nothing with the broker.
"""
