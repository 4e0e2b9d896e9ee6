"""The owner's service: analysts who never see a row send public parameters and get the model."""
