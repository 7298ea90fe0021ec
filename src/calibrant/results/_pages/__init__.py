"""Pages: one HTML file each, with its charts, its style and its data inside."""
