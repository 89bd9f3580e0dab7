"""What a pull request is asked for by hand, as a bundle of files."""
