"""How a validator comes to blocks that it lacks: following certificates, asking peers, joining from a snapshot."""
