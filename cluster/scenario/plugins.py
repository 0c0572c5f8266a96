"""Loads the plug-ins that a scenario names: packages that add kinds of workloads, actors and more."""


class PluginError(Exception):
    """A plug-in that cannot be used: which and why."""


def load_plugins(names: tuple[str, ...]) -> None:
    """Load plug-ins by name, in this process; raises PluginError."""
    for name in names:
        raise PluginError(f"no plug-in named {name!r} is installed")
