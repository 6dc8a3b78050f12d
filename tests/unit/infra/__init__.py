"""Of infra, without a synth."""
