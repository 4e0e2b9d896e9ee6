"""Tables as people have them: frames, files and streams of rows."""
