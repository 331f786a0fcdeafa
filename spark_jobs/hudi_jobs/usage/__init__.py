"""What a run uses: processor, memory and bytes, as a whole and in its current phase."""
