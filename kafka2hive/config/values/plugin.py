"""Code that a package offers by an entry point, named in the map."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.values.key import Key, Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """A plug-in and what it is told."""

    name: Annotated[
        str,
        Key(
            "Name of the entry point in `kafka2hive.decoders`; within `bucket` in `.bucketers`, "
            "within `writer` in `.writers`, within `completion` in `.completion_policies`.",
            shortest=1,
        ),
    ]
    options: Annotated[Properties, Key("What the plug-in is told.", written="mapping of texts")] = ()
