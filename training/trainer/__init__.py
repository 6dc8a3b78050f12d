"""What the trainers of all frameworks do alike. No framework is imported here."""
