"""What people read: terminal, pull request, GitHub."""
