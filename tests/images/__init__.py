"""Images, really built upon a stand-in of their base, and started. Needs buildah."""
