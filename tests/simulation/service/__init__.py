"""Whole services in the simulation: the real epoch loop and owned tables, several tables, two services, damage, repairs."""
