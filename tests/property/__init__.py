"""The data layer under data, settings and damage that hypothesis draws."""
