"""Does the schema registry of the map answer, with the map's credentials, as a registry does?"""

from kafka2hive.model.errors import SchemaRegistryUnavailable, ServiceUnavailable, TableError
from kafka2hive.registry.port import Registry
from kafka2hive.service.online.checks import Check, Failed, Passed, Result

_ANY_ID = 1


def check_registry(registry: Registry, url: str) -> Check:
    return Check("registry", url, _result(registry))


def _result(registry: Registry) -> Result:
    try:
        kinds = registry.kinds()
        registry.schema(_ANY_ID)  # some registries tell their kinds to anybody
    except SchemaRegistryUnavailable as error:
        return Failed(ServiceUnavailable(error.code, error.message, error.remedy))
    except TableError as error:
        return Failed(error)
    return Passed(f"gives schemas of {', '.join(kinds)}")
