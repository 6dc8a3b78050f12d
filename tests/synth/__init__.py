"""The synthesized templates: snapshots, and the facts that matter beside them."""
