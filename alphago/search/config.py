"""The constants of PUCT and of the noise at its root."""

from dataclasses import dataclass

from alphago.errors import LOWEST_NUMBER, check_number


@dataclass(kw_only=True)
class SearchConfig:
    """The constants of the search.

    Attributes:
        exploration_init: c of PUCT at few visits (AlphaZero: 1.25).
        exploration_base: visits after which c starts to grow (AlphaZero: 19652).
        fpu_reduction: how far below the node's value an untried action is assumed to be (KataGo:
            0.2).
        root_fpu_reduction: the same at the root (KataGo: 0 where the root has noise).
        noise_concentration: sum of the Dirichlet parameters over the legal moves (AlphaGo Zero:
            0.03 * 361 = 10.83).
        noise_weight: share of noise in the priors of the root (AlphaGo Zero: 0.25).
    """

    exploration_init: float
    exploration_base: float
    fpu_reduction: float
    root_fpu_reduction: float
    noise_concentration: float
    noise_weight: float

    def __post_init__(self) -> None:
        """Checks the values."""
        for name in ("exploration_init", "fpu_reduction", "root_fpu_reduction"):
            check_number(f"search.{name}", getattr(self, name))
        for name in ("exploration_base", "noise_concentration"):
            check_number(f"search.{name}", getattr(self, name), at_least=LOWEST_NUMBER)
        check_number("search.noise_weight", self.noise_weight, at_most=1)
