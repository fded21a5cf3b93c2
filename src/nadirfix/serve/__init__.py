"""The service: photos in by HTTP, the lines of ``nadirfix locate`` out. Nothing here loads until started."""
