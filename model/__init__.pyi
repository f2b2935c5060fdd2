"""Types of the public names. `__init__.py` imports these names on first use; a test compares both files."""

from viz.given_attention import heads as heads
from viz.given_attention import save_html as save_html
from viz.given_attention import show as show

from .checkpoint import Checkpoint as Checkpoint
from .config import ModelConfig as ModelConfig
from .config import TrainConfig as TrainConfig
from .decoding.hypotheses import Hypothesis as Hypothesis
from .decoding.hypotheses import Tree as Tree
from .decoding.strategy import Decoding as Decoding
from .edits.intervention import Intervention as Intervention
from .experiments.checkpoint_comparison import CheckpointComparison as CheckpointComparison
from .experiments.checkpoint_comparison import StepDifference as StepDifference
from .experiments.checkpoint_comparison import compare as compare
from .experiments.effects import Effect as Effect
from .experiments.effects import HeadEffect as HeadEffect
from .experiments.effects import head_effects as head_effects
from .experiments.effects import mask_effects as mask_effects
from .experiments.foreign_leaks import ModelOutputs as ModelOutputs
from .experiments.foreign_leaks import leak_test_callable as leak_test_callable
from .experiments.head_survey import MeasuredHeads as MeasuredHeads
from .experiments.head_survey import effect_of_head as effect_of_head
from .experiments.head_survey import measure_heads as measure_heads
from .experiments.leak_report import LeakReport as LeakReport
from .experiments.leaks import leak_test as leak_test
from .experiments.sweep import SweepResult as SweepResult
from .experiments.sweep import sweep as sweep
from .export.check_kinds import CheckResult as CheckResult
from .export.checks import check as check
from .export.given_attention import GivenAttention as GivenAttention
from .inference.analyse import analyse as analyse
from .inference.analyse import load as load
from .inference.analyse import run as run
from .inference.analysis import Analysis as Analysis
from .inference.request import Request as Request
from .text.head_statistics import HeadsOverCorpus as HeadsOverCorpus
from .trace import MapView as MapView
from .trace import Site as Site
from .trace import Trace as Trace

__all__: list[str]
__version__: str
