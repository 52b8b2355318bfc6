"""The rows of the speed table: our side of each, its inputs, and against what it is measured."""
