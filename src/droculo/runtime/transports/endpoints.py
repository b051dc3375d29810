"""Endpoints and certificates, and a Zenoh session that uses no others."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from droculo.runtime.protocol.frames import MOST


@dataclass(frozen=True)
class TLS:
    """Mutual TLS: both ends of a connection show a certificate that `authority` has signed. All three are files (PEM)."""

    authority: Path
    certificate: Path
    key: Path
    verify_names: bool = True  # an endpoint's name must be one of those in its certificate

    def __post_init__(self) -> None:
        for name in ("authority", "certificate", "key"):
            if not Path(getattr(self, name)).is_file():
                raise ValueError(f"the {name} of TLS is a file in PEM format; there is no file {getattr(self, name)}.")

    def described(self) -> dict[str, Any]:
        """In the words of Zenoh's configuration."""
        return {
            "root_ca_certificate": str(self.authority),
            "listen_certificate": str(self.certificate),
            "listen_private_key": str(self.key),
            "connect_certificate": str(self.certificate),
            "connect_private_key": str(self.key),
            "enable_mtls": True,
            "verify_name_on_connect": self.verify_names,
        }


def check_endpoint(endpoint: Any, tls: bool) -> None:
    """Refuse what is not a protocol and an address, and protocols without encryption if there is TLS."""
    if not isinstance(endpoint, str) or not re.fullmatch(r"[a-z_]+/\S+", endpoint):
        raise ValueError(f"an endpoint is 'tcp/host:port' or 'tls/host:port'; got {endpoint!r}.")
    secret = endpoint.startswith(("tls/", "quic/"))
    if tls and not secret:
        raise ValueError(f"with TLS every endpoint is 'tls/host:port'; got {endpoint!r}, which is not encrypted.")
    if secret and not tls:
        raise ValueError(f"the endpoint {endpoint!r} needs certificates: give tls (authority, certificate, key).")


def opened(zenoh: Any, listen: str, connect: list[str], tls: TLS | None, file: Path | None) -> Any:
    """A session that listens and connects at these endpoints and nowhere else; scouting and gossip are disabled."""
    for endpoint in (listen, *connect):
        check_endpoint(endpoint, tls is not None)
    if file is not None and not Path(file).is_file():
        raise ValueError(f"there is no file {file} with a configuration of Zenoh.")
    settings: dict[str, Any] = {
        "mode": "peer",
        "listen/endpoints": [listen],
        "connect/endpoints": connect,
        "connect/timeout_ms": -1,
        "connect/exit_on_failure": False,
        "connect/retry": {"period_init_ms": 100, "period_max_ms": 1000, "period_increase_factor": 1.5},
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
        "transport/link/rx/max_message_size": MOST,
    }
    if tls is not None:
        settings["transport/link/tls"] = tls.described()
    try:
        config = zenoh.Config() if file is None else zenoh.Config.from_file(str(file))
        for name, value in settings.items():
            config.insert_json5(name, json.dumps(value))
        return zenoh.open(config)
    except zenoh.ZError as error:
        said = str(error).split(" at /")[0].split(" - Caused by")[0]
        raise ValueError(
            f"Zenoh cannot listen at {listen!r}: {said}. Is the port in use, the address not this machine's, or a file of TLS "
            "not a PEM file?"
        ) from None
