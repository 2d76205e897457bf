"""What Berth does on a Proxmox node: the modules behind install, prepare and apply."""
