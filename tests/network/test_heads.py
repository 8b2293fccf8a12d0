import numpy as np
import pytest
import torch

from alphago.errors import ConfigError
from alphago.games.connect_four import ConnectFour
from alphago.games.tic_tac_toe import TicTacToe
from alphago.network import make_network
from alphago.network.heads import PooledPolicyHead, PooledValueHead
from tests.network.fake_game import make_config, make_plain_norms, make_spec

PASSING = make_spec(1, 2, 3, 7)


def make_policy_head(spec=PASSING):
    """A head of one channel: pooled features read the first plane, cells the second."""
    head = PooledPolicyHead(spec, num_inputs=2, num_channels=1).eval()
    with torch.no_grad():
        make_plain_norms(head)
        head.pooling.conv.weight.copy_(torch.tensor([1.0, 0.0]).view(1, 2, 1, 1))
        head.conv.weight.copy_(torch.tensor([0.0, 1.0]).view(1, 2, 1, 1))
        head.bias.weight.copy_(torch.tensor([[-1.0, 0.0, 0.5]]))
        head.logits.weight.fill_(2.0)
        head.logits.bias.fill_(0.25)
        if head.pass_logit is not None:
            head.pass_logit.weight.copy_(torch.tensor([[0.0, 0.0, 3.0]]))
            head.pass_logit.bias.fill_(-1.0)
    return head


def test_the_policy_by_hand():
    planes = torch.zeros(1, 2, 2, 3)
    planes[0, 0, 0, 1] = 6.0  # mean 1, maximum 6: bias -1 + 3 = 2, pass 3 * 6 - 1 = 17
    planes[0, 1] = torch.tensor([[0.0, 1.0, 2.0], [3.0, -1.0, -5.0]])
    with torch.no_grad():
        logits = make_policy_head()(planes)
    # Twice relu(cell + 2), plus a quarter; rows first, the pass last.
    np.testing.assert_allclose(logits, [[4.25, 6.25, 8.25, 10.25, 2.25, 0.25, 17]], rtol=1e-5)


def test_a_game_without_a_pass_has_logits_of_cells_alone():
    head = make_policy_head(make_spec(1, 2, 3, 6))
    with torch.no_grad():
        assert head(torch.ones(4, 2, 2, 3)).shape == (4, 6)


def test_the_value_by_hand():
    head = PooledValueHead(PASSING, num_inputs=1, num_channels=1, num_hidden=2).eval()
    planes = torch.tensor([[[[1.0, 3.0], [-7.0, 4.0]]]])  # mean 2 without the negative number
    with torch.no_grad():
        make_plain_norms(head)
        head.conv.weight.fill_(1.0)
        # 2x2: factors 1, -1.2 and 1.34. Hidden 2 * 0.5 and 2 * (1.34 - 1.2 * 2) + 1.12 < 0.
        head.hidden.weight.copy_(torch.tensor([[0.5, 0.0, 0.0], [0.0, 2.0, 1.0]]))
        head.hidden.bias.copy_(torch.tensor([0.0, 1.12]))
        head.value.weight.copy_(torch.tensor([[0.5, 9.0]]))
        head.value.bias.fill_(0.1)
        np.testing.assert_allclose(head(planes), [np.tanh(0.6)], rtol=1e-5)
        head.hidden.bias.copy_(torch.tensor([0.0, 3.12]))  # 1 is left, times 9
        np.testing.assert_allclose(head(planes), [np.tanh(9.6)], rtol=1e-5)


@pytest.mark.parametrize(
    "spec",
    [
        ConnectFour().spec,
        make_spec(1, 2, 3, 8),
        make_spec(1, 2, 3, 7)._replace(pass_action=0),
        make_spec(1, 2, 3, 7)._replace(pass_action=None),
        make_spec(1, 2, 3, 6)._replace(pass_action=5),
    ],
    ids=["columns", "two more", "pass first", "no pass", "pass on a cell"],
)
def test_games_whose_actions_are_not_the_cells_are_refused_in_one_line(spec):
    config = make_config(heads="pooled")
    with pytest.raises(
        ConfigError, match=r"^network.heads: got 'pooled', allowed: fixed"
    ) as caught:
        make_network(spec, config, seed=0)
    assert spec.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cells_and_cells_with_a_pass_are_taken():
    for spec in (TicTacToe().spec, PASSING):
        make_network(spec, make_config(heads="pooled"), seed=0)
