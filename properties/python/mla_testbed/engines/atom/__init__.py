"""ATOM, AMD's own serving engine, as an engine that the judge can ask."""
