"""A run in the formats of other tools: a trace for Perfetto."""
