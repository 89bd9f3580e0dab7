"""Replays the choices that an earlier run recorded."""
