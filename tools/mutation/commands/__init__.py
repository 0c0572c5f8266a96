"""The commands of mutation testing, one file each, as those of the test bed are (cluster/cli/commands)."""
