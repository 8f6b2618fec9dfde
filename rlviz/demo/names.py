"""What each RL framework calls its files, processes, threads and ranges, as published.

Misspellings included: NeMo-RL's synchronous vLLM worker says ``vllm_genertion_worker``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlviz.demo.scenario import Scenario

__all__ = ["Naming", "naming_of"]

# A range: its name and the phase it stands for. Several are nested, the outermost first.
Names = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Worker:
    """One kind of worker process: its file's stem, the process's name, its threads."""

    stem: str
    process: str
    threads: tuple[str, ...]


@dataclass(frozen=True)
class Naming:
    """The names of one framework; a stage without ranges has none.

    `style` is the NVTX kind: push/pop ranges with literal text, or start/end ranges with
    registered names.
    """

    style: str
    policy: Worker
    generation: Worker
    controller: Worker | None
    wait: Names = ()
    prepare_logprobs: Names = ()
    logprobs: Names = ()
    reference: Names | None = ()
    prepare_training: Names = ()
    training: Names = ()
    offload_before: Names = ()
    refit_policy: Names = ()
    offload_after: Names = ()
    refit_generation: Names = ()
    generation_work: Names = ()

    def worker_of(self, role: str) -> Worker:
        """Give the process that has a role."""
        if role == "controller" and self.controller:
            return self.controller
        return self.policy if role == "policy" else self.generation


_HELPERS = ("pt_autograd_0", "pt_nccl_watchdg", "pt_nccl_heartbt", "cuda-EvtHandlr")
_ENGINE = ("VLLM::EngineCor", "pt_nccl_watchdg", "pt_nccl_heartbt", "cuda-EvtHandlr")

_POLICY = "dtensor_policy_worker_v2"


def _nemo_rl(scenario: Scenario) -> Naming:
    steps = "{first}:{after}"
    policy = Worker(
        f"{_POLICY}_{steps}_{{pid}}",
        "ray::DTensorPolicyWorkerV2",
        ("ray::DTensorPol", *_HELPERS),
    )
    common = {
        "prepare_logprobs": ((f"{_POLICY}/prepare_for_lp_inference", "other"),),
        "logprobs": ((f"{_POLICY}/get_logprobs", "logprobs"),),
        "reference": (
            ("policy_worker/get_reference_policy_logprobs", "logprobs"),
            (f"{_POLICY}/get_logprobs", "logprobs"),
        ),
        "prepare_training": ((f"{_POLICY}/prepare_for_training", "other"),),
        "training": ((f"{_POLICY}/train", "training"),),
    }
    if not scenario.colocated:
        generation = Worker(
            f"vllm_async_generation_worker_{steps}_{{pid}}",
            "ray::VllmAsyncGenerationWorker",
            ("ray::VllmAsyncG", *_ENGINE),
        )
        update = "vllm_internal_worker_extension/update_weights_from_collective"
        return Naming(
            "push_pop",
            policy,
            generation,
            None,
            refit_generation=((update, "refit"),),
            **common,
        )
    generation = Worker(
        f"vllm_generation_worker_{steps}_{{pid}}",
        "ray::VllmGenerationWorker",
        ("ray::VllmGenera", *_ENGINE),
    )
    return Naming(
        "push_pop",
        policy,
        generation,
        None,
        offload_before=((f"{_POLICY}/offload_before_refit", "other"),),
        refit_policy=((f"{_POLICY}/stream_weights_via_ipc_zmq", "refit"),),
        offload_after=((f"{_POLICY}/offload_after_refit", "other"),),
        refit_generation=(("vllm_genertion_worker/update_weights_via_ipc_zmq", "refit"),),
        generation_work=(("vllm_genertion_worker/generate", "generation"),),
        **common,
    )


def _verl(scenario: Scenario) -> Naming:
    del scenario  # the same names, whether the pools share their GPUs or not
    worker = Worker("worker_process_{pid}", "ray::WorkerDict", ("ray::WorkerDict", *_HELPERS))
    controller = Worker("worker_process_{pid}", "ray::TaskRunner", ("ray::TaskRunner",))
    return Naming(
        "start_end",
        worker,
        worker,
        controller,
        logprobs=(("actor_compute_log_prob", "logprobs"),),
        reference=(("ref_compute_log_prob", "logprobs"),),
        training=(
            ("actor_update", "training"),
            ("train_batch", "training"),
            ("forward_backward", "training"),
        ),
        refit_policy=(("update_weights", "refit"),),
        refit_generation=(("update_weights", "refit"),),
        generation_work=(("generate_sequences", "generation"),),
    )


def _rlinf(scenario: Scenario) -> Naming:
    del scenario
    policy = Worker(
        "rlinf_profile_ActorGroup_{rank}_{pid}", "ray::ActorGroup", ("ray::ActorGroup", *_HELPERS)
    )
    generation = Worker(
        "rlinf_profile_RolloutGroup_{rank}_{pid}",
        "ray::RolloutGroup",
        ("ray::RolloutGro", *_ENGINE),
    )
    return Naming(
        "push_pop",
        policy,
        generation,
        None,
        wait=(("actor/recv_traj", "other"),),
        logprobs=(("actor/compute_adv", "other"),),
        reference=None,
        training=(("actor/run_training", "training"),),
        refit_policy=(("actor/sync_model_to_rollout", "refit"),),
        refit_generation=(("rollout/request_weight_sync", "refit"),),
        generation_work=(("rollout/generate_epoch", "generation"),),
    )


def naming_of(scenario: Scenario) -> Naming:
    """Give the names of the scenario's framework."""
    return {"nemo_rl": _nemo_rl, "verl": _verl, "rlinf": _rlinf}[scenario.framework](scenario)
