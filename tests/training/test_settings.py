import pytest

from matchdg.core.errors import InputError
from matchdg.training import MachineSettings, TrainingSettings


def test_constant_rate_stays():
    assert TrainingSettings(learning_rate=0.1).rate(99) == 0.1


def test_cosine_rate_falls_to_zero():
    settings = TrainingSettings(learning_rate=0.2, epochs=10, schedule="cosine")
    assert settings.rate(0) == pytest.approx(0.2)
    assert settings.rate(5) == pytest.approx(0.1)
    assert settings.rate(10) == pytest.approx(0.0)


def test_step_rate_divides_by_ten_at_each_milestone():
    settings = TrainingSettings(learning_rate=1.0, schedule="step", milestones=(2, 4))
    assert [settings.rate(epoch) for epoch in (1, 2, 4)] == pytest.approx([1.0, 0.1, 0.01])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, r"training\.epochs: .*greater than or equal to 1, got 0"),
        ({"batch_rows": -3}, r"training\.batch_rows: .*got -3"),
        ({"learning_rate": 0}, r"training\.learning_rate"),
        ({"learning_rate": float("nan")}, r"finite number"),
        ({"learning_rat": 0.1}, r"unknown key in training 'learning_rat'; did you mean 'learning_rate'\?"),
        ({"optimizer": "sgdd"}, r"training\.optimizer: .*'sgd'.*got 'sgdd'"),
        ({"milestones": [3]}, r"milestones belong to the schedule 'step'"),
        ({"selection": "target", "keep": "objective"}, r"selection on the target goes by 'loss' or 'accuracy'"),
    ],
)
def test_wrong_settings_say_what_is_wrong(values, message):
    with pytest.raises(InputError, match=message):
        TrainingSettings.parse(values, "training")


def test_every_wrong_key_is_named_at_once():
    with pytest.raises(InputError) as caught:
        TrainingSettings.parse({"epochs": 0, "patience": 0}, "training")
    assert "training.epochs" in str(caught.value)
    assert "training.patience" in str(caught.value)


def test_devices_must_be_positive():
    with pytest.raises(InputError, match=r"machine\.devices"):
        MachineSettings.parse({"devices": 0}, "machine")
