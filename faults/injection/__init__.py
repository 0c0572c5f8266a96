"""What puts the faults of a plan to work on links, clocks, disks and machines, and counts their effects."""
