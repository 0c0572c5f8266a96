"""A decoder of protocol buffers, written from their specification and not from the encoder of the exports."""


def decode(encoded):
    """Return the fields of a message by number: whole numbers, or bytes, in their order."""
    fields, place = {}, 0
    while place < len(encoded):
        tag, place = _varint(encoded, place)
        number, wire = tag // 8, tag % 8
        if wire == 0:
            value, place = _varint(encoded, place)
        elif wire == 1:
            value, place = int.from_bytes(encoded[place : place + 8], "little"), place + 8
        elif wire == 2:
            length, place = _varint(encoded, place)
            value, place = encoded[place : place + length], place + length
        else:
            raise AssertionError(f"wire type {wire} at byte {place}")
        fields.setdefault(number, []).append(value)
    assert place == len(encoded), "the last field is cut off"
    return fields


def _varint(encoded, place):
    number = shift = 0
    while True:
        byte = encoded[place]
        place += 1
        number += (byte % 128) << shift
        shift += 7
        if byte < 128:
            return number, place
