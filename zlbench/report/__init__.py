"""Reports: rounds are read into values (`read`), summed up (`summary`), and written in several forms."""
