"""One model on many ranks: copies whose gradients are averaged, or shards of one model.

Either way the mean over ranks of what each rank's loss gives reaches every weight.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Final

from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.ranks import Ranks


def parallel(model: nn.Module, settings: TrainingHyperparameters, ranks: Ranks) -> nn.Module:
    """Spread a model over all ranks; call this before its optimizer is made.

    Args:
        model: on this rank's device, equal on all ranks. With fsdp its weights become shards.
        settings: parallelism and compile.
        ranks: this process among all.

    Returns:
        What to call in place of the model.
    """
    if settings.parallelism == "fsdp":
        replica: nn.Module = _sharded(model, ranks)
    else:
        replica = _copied(model, ranks)
    if settings.compile:
        # In place, so that weights keep their names. The copies' wrapper is compiled with what is
        # in it: gradients then still travel while others are computed.
        replica.compile()
    return replica


def _copied(model: nn.Module, ranks: Ranks) -> DistributedDataParallel:
    # Buffers stay with their ranks: see Statistics.
    replica = DistributedDataParallel(
        model, forward_sync_buffers=False, gradient_as_bucket_view=True
    )
    if ranks.device.type == "cpu":
        _fix_buckets(replica)
    return replica


def _fix_buckets(replica: DistributedDataParallel) -> None:
    """Have DDP lay its buckets out now, once and for all.

    By itself it does so after two steps, by the order in which gradients came, and from then on
    ranks are added up in another order: the steps after a resumption would differ in the last bit
    from those of a training that was not interrupted. On GPUs the order of arrival lets sending
    and computing overlap, and sums differ in the last bit anyway.
    """
    replica.reducer._push_all_rebuilt_params()  # noqa: SLF001 - no public name, but its interface
    replica.reducer._rebuild_buckets()  # noqa: SLF001 - the same


def _sharded(model: nn.Module, ranks: Ranks) -> nn.Module:
    mesh = init_device_mesh(ranks.device.type, (ranks.world_size,))
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            # The layers of a deep model: only one of them need be whole at a time.
            for layer in module:
                fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


_AVERAGED: Final = nullcontext()


def gradients(replica: nn.Module, *, averaged: bool) -> AbstractContextManager[object]:
    """Go forward and backward inside; the ranks average gradients only if that ends an update."""
    if isinstance(replica, FSDPModule):
        replica.set_requires_gradient_sync(averaged)
    elif isinstance(replica, DistributedDataParallel) and not averaged:
        no_sync: AbstractContextManager[object] = replica.no_sync()
        return no_sync
    return _AVERAGED


def whole_weights(model: nn.Module) -> dict[str, Tensor]:
    """Put the shards of a model together, on the chief's processor; all ranks must call it.

    Returns:
        The weights by name, in the shapes of the whole model; on other ranks with fsdp, nothing.
    """
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)
    return {name: weight for name, weight in weights.items() if isinstance(weight, Tensor)}
