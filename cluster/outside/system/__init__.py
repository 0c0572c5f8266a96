"""The surroundings of an application's process: sandbox, guardian, and the figures that the system gives of it."""
