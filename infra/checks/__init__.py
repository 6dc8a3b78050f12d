"""cdk-nag rule packs and what is acknowledged, with the reasons."""
