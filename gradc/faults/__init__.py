"""When gradc itself fails: crash files, and how they say what led there."""
