"""A local SageMaker control plane: executions of deployed pipelines, run by the simulator."""

from evenshard.emulator.sagemaker.control_plane import ControlPlane

__all__ = ["ControlPlane"]
