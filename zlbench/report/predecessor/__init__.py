"""The predecessor's directories, read into the same values."""
