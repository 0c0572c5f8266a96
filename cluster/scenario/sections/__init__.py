"""The larger sections of a scenario file, one file a section, each as a typed struct."""
