"""Studies: which runs, how hyper-parameters are searched and chosen, how runs are spread over processes."""

from matchdg.experiments.paper import printed_table, printed_tables
from matchdg.experiments.reproduce import Outcome, reproduce, with_seeds
from matchdg.experiments.runner import Failure, StudyDisplay, run_all
from matchdg.experiments.study import Arm, Budget, Rule, Study
from matchdg.experiments.tables import STUDIES, study_of

__all__ = [
    "STUDIES",
    "Arm",
    "Budget",
    "Failure",
    "Outcome",
    "Rule",
    "Study",
    "StudyDisplay",
    "printed_table",
    "printed_tables",
    "reproduce",
    "run_all",
    "study_of",
    "with_seeds",
]
