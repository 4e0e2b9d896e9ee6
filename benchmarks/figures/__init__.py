"""Every figure of measurements, drawn from the results that are kept."""
