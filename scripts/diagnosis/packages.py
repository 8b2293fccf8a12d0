"""The packages that this program needs: there, of a version that will do, and importable."""

import importlib
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

from packaging.requirements import Requirement

from scripts.arguments import one_line
from scripts.main import DISTRIBUTION

# Where the module has another name than the package, or must be imported by ours.
_MODULES = {
    "hydra-core": "hydra",
    "openvino": "alphago.network.openvino_api",
    "pillow": "PIL",
    "pyyaml": "yaml",
}


class Package(NamedTuple):
    """A package that this program needs.

    Attributes:
        name: as `pip` knows it.
        allowed: the versions that will do, such as `<2.14,>=2.10`.
        installed: the version that is there, None without any.
        fault: why it cannot be used, empty where it can.
    """

    name: str
    allowed: str
    installed: str | None
    fault: str


def check_packages() -> list[Package]:
    """Looks at this program and all packages that it needs, extras left out; imports each."""
    try:
        texts = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return [Package(DISTRIBUTION, "", None, "is not installed")]
    needed = [Requirement(text) for text in texts]
    own = Package(DISTRIBUTION, "", version(DISTRIBUTION), "")
    return [own, *(check_package(each) for each in needed if "extra" not in str(each.marker))]


def check_package(needed: Requirement) -> Package:
    """Looks at one package."""
    name, allowed = needed.name, str(needed.specifier)
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Package(name, allowed, None, "is not installed")
    if not needed.specifier.contains(installed, prereleases=True):
        return Package(name, allowed, installed, f"is {installed}, allowed: {allowed}")
    return Package(name, allowed, installed, _import_fault(_MODULES.get(name, name)))


def _import_fault(module: str) -> str:
    """Returns why a module cannot be imported, an empty text where it can.

    A library that does not fit this machine may raise whatever it likes.
    """
    try:
        importlib.import_module(module)
    except Exception as error:
        return f"cannot be imported: {type(error).__name__}: {one_line(error)}"
    return ""
