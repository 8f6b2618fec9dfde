"""Tests of rlviz; `exports` writes reports for them, `shared` finds those with known answers."""
