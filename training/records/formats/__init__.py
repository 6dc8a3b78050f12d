"""The formats of shards.

`endings` tells which one, `registry` makes it, `protocol` says what each offers.
"""
