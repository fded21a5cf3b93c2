"""What benchmarks share: results with their origin, photos, measures, parts of the GPU path."""
