"""The sections of a scenario file that are more than a few keys, one file a section, each as a typed struct."""
