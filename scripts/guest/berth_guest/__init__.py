"""What Berth does inside a guest: the modules behind manifest, gate and session."""
