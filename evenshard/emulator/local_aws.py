"""The whole local AWS: the services, and the control plane that runs executions before them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evenshard.emulator.function_code import function_code, teach_function_code
from evenshard.emulator.model_packages import teach_model_packages
from evenshard.emulator.pipelines import pipelines_kept_while, teach_pipelines
from evenshard.emulator.refusals import teach_refusals
from evenshard.emulator.sagemaker import ControlPlane
from evenshard.emulator.sagemaker.control_plane import AT_ONCE
from evenshard.emulator.server import Emulator
from evenshard.simulator.run_folder import STATE_FOLDER


@contextmanager
def local_aws(
    *,
    port: int = 0,
    state_folder: Path = STATE_FOLDER,
    devices_per_host: int = 1,
    at_once: int = AT_ONCE,
) -> Iterator[Emulator]:
    """Serve until the context ends; executions that still run are stopped then.

    Args:
        port: 0 for any free one.
        state_folder: executions are kept in its runs/.
        devices_per_host: training processes of each host, 1 or more.
        at_once: executions that run side by side; the others wait their turn.

    Raises:
        OSError: the port is taken.
        UsageError: the state folder cannot be used.
    """
    teach_function_code()
    teach_model_packages()
    teach_pipelines()
    teach_refusals()
    with ExitStack() as stack:
        plane = ControlPlane(
            state_folder=state_folder, devices_per_host=devices_per_host, at_once=at_once
        )
        closing = stack.enter_context(ExitStack())
        closing.callback(plane.close)
        server = Emulator(port=port, layers=[function_code, plane.layer])
        closing.pop_all()
        stack.enter_context(server)
        stack.enter_context(pipelines_kept_while(plane.running))
        stack.callback(plane.close)  # first: what stops still saves its state in the services
        yield server
