"""The order of all tests: long ones begin first, so that no core is left with one of them when the others are done."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
