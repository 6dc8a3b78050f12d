"""Runs a synthesized pipeline definition on simulated hosts, without an account."""

from evenshard.simulator.events import Event, Report
from evenshard.simulator.result import Result, Status
from evenshard.simulator.run import SimulationRequest, simulate

__all__ = ["Event", "Report", "Result", "SimulationRequest", "Status", "simulate"]
