"""What pages say is so: names, options, tables, layers."""
