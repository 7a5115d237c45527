"""`Groups`: who belongs where, and the mean over pairs of domains, against loops."""

import pytest
import torch

from matchdg.methods.groups import Groups


@pytest.fixture
def batch(make_batch, grid):
    return make_batch(grid)


def groups_of(batch, conditional):
    return Groups.of(batch, conditional, torch.float64)


def slow_members(batch, conditional):
    """Per group, in order of class then domain, the positions of its inputs."""
    strata = range(batch.classes) if conditional else [None]
    return [
        [
            position
            for position, (label, domain) in enumerate(zip(batch.labels, batch.domains, strict=True))
            if domain == column and stratum in (None, int(label))
        ]
        for stratum in strata
        for column in range(batch.columns)
    ]


@pytest.mark.parametrize("conditional", [False, True])
class TestGroups:
    def test_members_and_counts(self, batch, conditional):
        groups, expected = groups_of(batch, conditional), slow_members(batch, conditional)
        assert [column.nonzero().flatten().tolist() for column in groups.members.T] == expected
        assert groups.counts.tolist() == [len(group) for group in expected]
        assert (groups.members.sum(1) == 1).all()

    def test_averages_give_the_mean_of_a_group_and_zero_for_an_empty_one(self, batch, conditional):
        values = torch.randn(len(batch.labels), 2, dtype=torch.float64)
        means = groups_of(batch, conditional).averages.T @ values
        for mean, group in zip(means, slow_members(batch, conditional), strict=True):
            expected = values[group].mean(0) if group else torch.zeros(2, dtype=torch.float64)
            torch.testing.assert_close(mean, expected)

    def test_mean_over_pairs(self, batch, conditional):
        groups, members = groups_of(batch, conditional), slow_members(batch, conditional)
        points = torch.randn(len(members), 3, dtype=torch.float64)
        found = []
        for start in range(0, len(members), batch.columns):
            present = [index for index in range(start, start + batch.columns) if members[index]]
            found += [(points[a] - points[b]).square().sum() for a in present for b in present if a < b]
        torch.testing.assert_close(groups.mean_over_pairs(points @ points.T), torch.stack(found).mean())


def test_without_any_pair_the_mean_is_zero(make_batch):
    batch = make_batch([[0, None], [0, None]])
    assert groups_of(batch, conditional=False).mean_over_pairs(torch.ones(2, 2)).item() == 0
    batch = make_batch([[0, 1]])
    assert groups_of(batch, conditional=True).mean_over_pairs(torch.ones(4, 4)).item() == 0


def test_the_members_have_the_type_that_is_asked_for(make_batch):
    assert Groups.of(make_batch([[0, 0]]), False, torch.bfloat16).averages.dtype == torch.bfloat16
