"""Settings of all public functions, to import from one place.

>>> from positionbias.settings import AuditSettings, Limits, Rotation
>>> Rotation(seed=2)
Rotation(words='blingfire', mode='words', identity=True, seed=2)
"""

from positionbias.audit.settings import Audited, AuditSettings, Limits
from positionbias.clicks.settings import ClickSettings
from positionbias.contamination.settings import (
    ContaminatedSettings,
    Suspects,
    SuspectSettings,
)
from positionbias.dense.settings import AnnSettings, ByVectors, DenseSearch
from positionbias.engine.choose import Engine
from positionbias.evaluation.fusing import Fusing
from positionbias.evaluation.settings import Measuring
from positionbias.experiments.models import ModelSettings
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Search, Bm25Settings
from positionbias.formats.columns import Columns
from positionbias.formats.release_settings import MsmarcoDocsSettings, MsmarcoSettings
from positionbias.formats.trec_docs import Reading
from positionbias.formats.validation_draw import ValidationDraw
from positionbias.leakage.settings import (
    Encoder,
    FindSettings,
    LeakingPairs,
    SampleSettings,
)
from positionbias.models.settings import DistilSettings, EncoderSettings
from positionbias.models.shapes import (
    BertCatConfig,
    BertDotConfig,
    ColBERTConfig,
    ConvKNRMConfig,
    DuetConfig,
    KNRMConfig,
    MonoT5Config,
    PACRRConfig,
    TKConfig,
)
from positionbias.overlap.settings import CountedPairs, OverlapSettings, Removing
from positionbias.papers.contamination.settings import ContaminationSettings, Distillation
from positionbias.papers.leakage.settings import LeakageSettings
from positionbias.papers.pooling.settings import PoolingSettings
from positionbias.papers.position_bias.settings import (
    PositionBiasSettings,
    RemedySettings,
    TransferSettings,
)
from positionbias.papers.tripclick.settings import TripClickSettings
from positionbias.planted.settings import PlantedSettings
from positionbias.pooling.settings import (
    CoverageSettings,
    PoolSettings,
    VerdictSettings,
)
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import (
    AnswerRange,
    Density,
    HistogramOptions,
    Matching,
    Placing,
    Selection,
)
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.probe.settings import ProbeSettings
from positionbias.ranking.config import Computing, RankingConfig, Reranking, TaughtPassages, Teacher
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

__all__ = [
    "AnnSettings",
    "AnswerRange",
    "AuditSettings",
    "Audited",
    "BertCatConfig",
    "BertDotConfig",
    "Bm25Search",
    "Bm25Settings",
    "ByVectors",
    "ClickSettings",
    "ColBERTConfig",
    "Columns",
    "Computing",
    "ContaminatedSettings",
    "ContaminationSettings",
    "ConvKNRMConfig",
    "CountedPairs",
    "CoverageSettings",
    "DenseSearch",
    "Density",
    "DistilSettings",
    "Distillation",
    "DuetConfig",
    "Encoder",
    "EncoderSettings",
    "Engine",
    "FindSettings",
    "Fusing",
    "HistogramOptions",
    "KNRMConfig",
    "LeakageSettings",
    "LeakingPairs",
    "Limits",
    "Matching",
    "Measuring",
    "ModelSettings",
    "MonoT5Config",
    "MsmarcoDocsSettings",
    "MsmarcoSettings",
    "OverlapSettings",
    "PACRRConfig",
    "Placing",
    "PlantedSettings",
    "PoolSettings",
    "PoolingSettings",
    "PositionBiasSettings",
    "ProbeSettings",
    "RankingConfig",
    "Reading",
    "RemedySettings",
    "Removing",
    "Reranking",
    "Retrieval",
    "Rotation",
    "SampleSettings",
    "Selection",
    "SentenceShuffle",
    "SuspectSettings",
    "Suspects",
    "TKConfig",
    "TaughtPassages",
    "Teacher",
    "TrainConfig",
    "TrainPlan",
    "TransferSettings",
    "TripClickSettings",
    "ValidationDraw",
    "VerdictSettings",
]
