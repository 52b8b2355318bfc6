"""What a step with a model takes at a size: time, memory, disk and network, from measured rates and stated assumptions."""
