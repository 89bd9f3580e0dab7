"""What every measuring command does first: settings to sides, builds, cells and workers."""
