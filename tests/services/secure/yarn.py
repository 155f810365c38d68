"""A real YARN in the realm: a ResourceManager and a NodeManager with Kerberos over a secured HDFS."""

from collections.abc import Mapping
from pathlib import Path

from tests.services.secure.kdc import Kdc
from tests.services.yarn import Yarn


class SecureYarn(Yarn):
    """As `Yarn`; both servers are `yarn/localhost` of the realm. Their web pages answer everybody."""

    def __init__(
        self, folder: Path, site_properties: Mapping[str, str], kdc: Kdc, memory_mb: int = 4096
    ) -> None:
        login = {"principal": kdc.principal("yarn/localhost"), "keytab": str(kdc.keytab("yarn/localhost"))}
        own = {
            f"yarn.{server}.{key}": value
            for server in ("resourcemanager", "nodemanager")
            for key, value in login.items()
        }
        own |= {
            # YARN gets new tokens for the files of an application when those that it was submitted with are too old
            "yarn.resourcemanager.proxy-user-privileges.enabled": "true",
        }
        options = (kdc.java_option,)
        super().__init__(
            folder,
            site_properties,
            memory_mb=memory_mb,
            java_options=options,
            server_options=options,
            own=own,
        )
