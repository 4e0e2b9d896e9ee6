"""Private clustering algorithms: public mathematics over Releases, one file each."""
