"""Who may do what: one role for each kind of work. Every action and resource is named.

Policies are inline: they exist as soon as the role does, before a pipeline uses it. What each role
needs is computed a second time, from the pipeline's definition, in tests/synth/required_access.py.
"""
