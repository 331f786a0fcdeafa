"""The CustomResourceDefinitions, made from the models."""
