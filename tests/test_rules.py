"""What names mean: shipped rules, rules of one's own, and rules that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz.errors import BadRules
from rlviz.run.rulebook import read_rules, shipped_rules
from tests.exports import Export

if TYPE_CHECKING:
    from pathlib import Path

PHASES = {
    "dtensor_policy_worker/train": "training",
    "dtensor_policy_worker_v2/train": "training",
    "megatron_policy_worker/train_microbatch": "training",
    "policy_worker/train_presharded": "training",
    "megatron_value_worker/train": "training",
    "dtensor_policy_worker_v2/get_logprobs": "logprobs",
    "policy_worker/get_reference_policy_logprobs": "logprobs",
    "policy_worker/get_logprobs_presharded": "logprobs",
    "megatron_policy_worker/get_topk_logits": "logprobs",
    "vllm_genertion_worker/generate": "generation",
    "sglang_genertion/generate": "generation",
    "vllm_internal_worker_extension/update_weights_from_collective": "refit",
    "vllm_genertion_worker/update_weights_via_ipc_zmq": "refit",
    "dtensor_policy_worker_v2/stream_weights_via_ipc_zmq": "refit",
    "dtensor_policy_worker_v2/prepare_for_training": "other",
    "dtensor_policy_worker_v2/score": "reward",
    "actor_update": "training",
    "update_actor": "training",
    "ref_compute_log_prob": "logprobs",
    "generate_sequences": "generation",
    "update_weights": "refit",
    "compute_rm_score": "reward",
    "actor/run_training": "training",
    "rollout/generate_epoch": "generation",
    "actor/sync_model_to_rollout": "refit",
    "gpu_model_runner: forward": "generation",
    "detokenize": None,
}

ROLES = [
    (["dtensor_policy_worker_v2/train"], "", "x", "policy"),
    (["megatron_value_worker/train"], "", "megatron_policy_worker_1:3_5", "critic"),
    ([], "ray::DTensorValueWorkerV2", "dtensor_policy_worker_v2_1:3_5", "critic"),
    (["vllm_internal_worker_extension/update_weights_from_collective"], "", "x", "generation"),
    ([], "", "vllm_tp_worker_1:3_5", "generation"),
    ([], "", "trtllm_async_generation_worker_1:3_5", "generation"),
    (["actor_update", "update_weights"], "ray::WorkerDict", "worker_process_5", "policy"),
    (["generate_sequences", "update_weights"], "ray::WorkerDict", "worker_process_6", "generation"),
    (["ref_compute_log_prob"], "", "worker_process_7", "reference"),
    (["step"], "ray::TaskRunner", "worker_process_8", "controller"),
    (["env/step"], "", "rlinf_profile_EnvGroup_5", "environment"),
    ([], "", "report1", "unknown"),
]


def test_published_range_names_mark_their_phases() -> None:
    found = shipped_rules().phases_of(pl.Series(list(PHASES)))
    assert dict(zip(PHASES, found, strict=True)) == PHASES


@pytest.mark.parametrize(("ranges", "process", "file", "role"), ROLES)
def test_ranges_tell_a_role_before_processes_and_those_before_files(
    ranges: list[str], process: str, file: str, role: str
) -> None:
    assert shipped_rules().role(ranges, [process], file) == role


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("dtensor_policy_worker_v2/train", "NeMo-RL"),
        ("actor_update", "verl"),
        ("actor/run_training", "RLinf"),
        ("train", "plain"),
        ("nothing known", None),
    ],
)
def test_the_framework_is_recognised_by_its_ranges(name: str, framework: str | None) -> None:
    assert shipped_rules().framework(pl.Series([name, "io"])) == framework


@pytest.mark.parametrize(
    ("report", "step"),
    [
        ("dtensor_policy_worker_v2_3:8_4711", 3),
        ("dtensor_policy_worker_v2_12_14_4711", 12),
        ("vllm_tp_worker_3-5_4711.2", 3),
        ("worker_process_4711.1", None),
    ],
)
def test_the_first_step_stands_in_the_name_whatever_the_colon_became(
    report: str, step: int | None
) -> None:
    assert shipped_rules().first_step_of(report) == step


def test_patterns_match_whole_names_and_take_dots_and_brackets_as_they_are() -> None:
    rules = read_rules({"phase": [{"phase": "training", "ranges": ["a.b[*]"]}]})
    found = rules.phases_of(pl.Series(["a.b[1]", "axb[1]", "xa.b[1]", "a.b[1]x", "a.b[\n]"]))
    assert found.to_list() == ["training", None, None, None, "training"]


def test_rules_of_ones_own_go_before_the_shipped_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[role]]\nrole = "reward"\nfiles = ["*policy*"]\n'
        '[[phase]]\nphase = "reward"\nranges = ["train"]\n'
    )
    with Export(tmp_path / "my_policy.sqlite") as export:
        export.push_pop(0, 100, "train")
    run = rlviz.load(tmp_path / "my_policy.sqlite", rules=path)
    assert run.rows["role"].to_list() == ["reward"]
    assert run.phases()["phase"].to_list() == ["reward"]


BAD: dict[str, tuple[str, str, int]] = {
    "unknown role": ('[[role]]\nrole = "boss"\n', "role", 2),
    "unknown phase": ('[[phase]]\nphase = "lunch"\nranges = ["x"]\n', "phase", 2),
    "no list": ('[[phase]]\nphase = "training"\nranges = "train"\n', "ranges", 3),
    "unknown key": ('framework = "mine"\n[[phase]]\nphases = "training"\n', "phases", 3),
    "unknown table": ("[phasen]\n", "phasen", 1),
    "no regular expression": ("[iteration]\nfirst_step = '('\n", "first_step", 2),
    "no group": ("[iteration]\nfirst_step = 'x'\n", "first_step", 2),
}


@pytest.mark.parametrize(("text", "key", "line"), list(BAD.values()), ids=list(BAD))
def test_a_bad_rule_file_is_told_by_file_line_and_key(
    tmp_path: Path, text: str, key: str, line: int
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(BadRules) as caught:
        read_rules(path)
    assert "mine.toml" in str(caught.value)
    assert f"line {line}" in str(caught.value)
    assert repr(key) in str(caught.value)


def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[[phase]\n")
    with pytest.raises(BadRules, match="line 1"):
        read_rules(path)


def test_a_rule_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadRules, match=r"mine\.toml"):
        read_rules(tmp_path / "mine.toml")


@pytest.mark.parametrize("wrong", [{"phase": "training"}, {"kernels": []}, {"framework": 3}])
def test_a_mapping_of_the_wrong_shape_is_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadRules):
        read_rules(wrong)
