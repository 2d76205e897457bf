"""A stand-in for one Proxmox VE node: its API, `pct`, `pvesh` and `pveam` over real containers.

It exists for trying and testing only. Where it answers at all it answers as the real node does,
with the same paths, texts and exit codes, and never more kindly: what is not built is refused.
"""
