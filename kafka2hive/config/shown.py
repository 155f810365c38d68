"""The map's values for people and logs: everything that could be a secret is left out."""

from dataclasses import asdict
from enum import Enum

from kafka2hive.config.librdkafka import is_sensitive
from kafka2hive.config.values import ServiceMap

REDACTED = "(secret)"


def shown(service: ServiceMap) -> dict[str, object]:
    """The whole map with all defaults as plain data (dicts, lists, texts, numbers), secrets replaced by `(secret)`."""
    plain = asdict(service)
    for section, key in (("kafka", "properties"), ("storage", "properties"), ("spark", "conf")):
        plain[section][key] = {
            name: REDACTED if name in service.secret_keys or is_sensitive(name) else value
            for name, value in plain[section][key]
        }
    for section, key in (("hive", "password"), ("registry", "password"), ("registry", "token")):
        if plain[section] and plain[section][key] is not None:
            plain[section][key] = REDACTED
    plain["secret_keys"] = sorted(service.secret_keys)
    result = _plain(plain)
    assert isinstance(result, dict)
    return result


def _plain(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
