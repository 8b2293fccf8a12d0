import math

import pytest
import torch

from train.auxiliary import ownership_loss, score_loss
from train.losses import auxiliary_losses, compute_losses, total_loss


def losses(logits, values, policy_targets, value_targets):
    return compute_losses(
        torch.tensor(logits),
        torch.tensor(values),
        policy_targets=torch.tensor(policy_targets),
        value_targets=torch.tensor(value_targets),
    )


def test_closed_form_of_one_row() -> None:
    # softmax(ln 1, ln 2, ln 5) = 1/8, 2/8, 5/8
    logits = [[math.log(1), math.log(2), math.log(5)]]
    terms = losses(logits, [0.25], [[0.5, 0.5, 0.0]], [-1.0])
    cross_entropy = -0.5 * math.log(1 / 8) - 0.5 * math.log(2 / 8)
    entropy = -sum(p * math.log(p) for p in (1 / 8, 2 / 8, 5 / 8))
    assert terms.policy.item() == pytest.approx(cross_entropy)
    assert terms.value.item() == pytest.approx(1.25**2)
    assert total_loss(terms, {}, {}).item() == pytest.approx(cross_entropy + 1.25**2)
    assert terms.entropy.item() == pytest.approx(entropy)
    assert terms.kl.item() == pytest.approx(cross_entropy - math.log(2))


def test_the_network_that_says_the_target_has_no_kl_and_the_least_loss() -> None:
    logits = [[math.log(1), math.log(3)]]
    terms = losses(logits, [0.5], [[0.25, 0.75]], [0.5])
    assert terms.kl.item() == pytest.approx(0.0, abs=1e-7)
    assert terms.policy.item() == pytest.approx(terms.entropy.item())
    assert terms.value.item() == 0.0


def test_all_rows_count_alike() -> None:
    uniform, certain = [0.0, 0.0], [100.0, 0.0]
    terms = losses([uniform, certain], [0.0, 1.0], [[1.0, 0.0]] * 2, [1.0, 1.0])
    assert terms.policy.item() == pytest.approx(0.5 * math.log(2))
    assert terms.value.item() == pytest.approx(0.5)
    assert terms.entropy.item() == pytest.approx(0.5 * math.log(2))


def test_the_gradient_is_policy_minus_target() -> None:
    logits = torch.tensor([[math.log(1), math.log(2), math.log(5)]], requires_grad=True)
    values = torch.tensor([0.25], requires_grad=True)
    terms = compute_losses(
        logits,
        values,
        policy_targets=torch.tensor([[0.5, 0.5, 0.0]]),
        value_targets=torch.tensor([-1.0]),
    )
    total_loss(terms, {}, {}).backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[1 / 8 - 0.5, 2 / 8 - 0.5, 5 / 8]]))
    torch.testing.assert_close(values.grad, torch.tensor([2 * 1.25]))
    assert not terms.kl.requires_grad


def test_large_logits_and_zero_targets_stay_finite() -> None:
    terms = losses([[1e4, -1e4, 0.0]], [1.0], [[0.0, 0.0, 1.0]], [1.0])
    assert all(math.isfinite(term.item()) for term in terms)
    assert terms.policy.item() == pytest.approx(1e4)


def test_half_precision_answers_are_compared_in_float32() -> None:
    terms = compute_losses(
        torch.zeros(2, 3, dtype=torch.bfloat16),
        torch.zeros(2, dtype=torch.bfloat16),
        policy_targets=torch.full((2, 3), 1 / 3),
        value_targets=torch.ones(2),
    )
    assert all(term.dtype == torch.float32 for term in terms)
    assert terms.policy.item() == pytest.approx(math.log(3), rel=1e-6)


def test_the_ownership_loss_is_the_cross_entropy_of_each_cell() -> None:
    logits = torch.tensor([[math.log(3), math.log(3), math.log(3), -200.0]])  # 3/4, and surely not
    owners = torch.tensor([[1, -1, 0, -1]], dtype=torch.int8)
    cells = [-math.log(3 / 4), -math.log(1 / 4), -0.5 * math.log(3 / 16), 0.0]
    assert ownership_loss(logits, owners).tolist() == pytest.approx([sum(cells) / 4])


def test_an_even_guess_of_ownership_costs_ln_2_and_its_gradient_is_the_gap() -> None:
    logits = torch.zeros(1, 4, requires_grad=True)
    loss = ownership_loss(logits, torch.tensor([[1, 0, -1, -1]], dtype=torch.int8))
    assert loss.item() == pytest.approx(math.log(2))
    loss.sum().backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[-0.5, 0.0, 0.5, 0.5]]) / 4)


def test_the_score_loss_is_huber_in_units_of_20_points() -> None:
    leads = torch.tensor([0.5, -0.25, 0.0])
    scores = torch.tensor([16.0, -5.0, 40.0])  # errors of 6, 0 and 40 points; linear beyond 12
    expected = [0.5 * 0.3**2, 0.0, 0.6 * (2.0 - 0.3)]
    assert score_loss(leads, scores).tolist() == pytest.approx(expected)


def test_auxiliary_losses_are_means_in_float32() -> None:
    outputs = {"score": torch.tensor([1.0, 0.0], dtype=torch.bfloat16)}
    mean = auxiliary_losses(outputs, {"score": torch.tensor([0.0, 0.0])})["score"]
    assert mean.dtype == torch.float32
    assert mean.item() == pytest.approx(0.6 * 0.7 / 2)
