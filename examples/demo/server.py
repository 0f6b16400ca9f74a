"""One claimd on a loopback port, which the demo kills and starts again on the same directory."""
import pathlib
import subprocess

import grpc

from claimd.v1 import claims_pb2, operations_pb2, operations_pb2_grpc
from processes import Child, Failure, free_ports, wait_until


class Server:
    def __init__(self, binary, directory):
        self._binary = str(binary)
        self._dir = pathlib.Path(directory)
        self._data = self._dir / "data"
        self._child = None
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.kills = 0

    def create(self):
        self._dir.mkdir(parents=True)
        done = subprocess.run([self._binary, "init", "--data-dir", str(self._data)],
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failure(f"claimd init failed:\n{done.stdout}{done.stderr}")

    def start(self):
        self._child = Child(
            "claimd", [self._binary, "--data-dir", str(self._data), "--listen", self.address],
            self._dir / "claimd.log")

        def ready():
            if self._child.exit_code() is not None:
                raise Failure(f"claimd ended by itself:\n{self._child.log_tail()}")
            return self._status() is not None

        wait_until(ready, 60, "claimd answering")

    def kill_and_restart(self):
        self._child.kill()
        self.kills += 1
        self.start()

    def check_alive(self):
        if self._child.exit_code() is not None:
            raise Failure(f"claimd ended by itself ({self._child.exit_code()}):\n"
                          f"{self._child.log_tail()}")

    def stop(self):
        if self._child is not None:
            self._child.stop()

    def states(self, consumer, message_ids):
        """The state of each claim by name, ABSENT if there is no record."""
        with grpc.insecure_channel(self.address) as channel:
            stub = operations_pb2_grpc.OperationServiceStub(channel)
            return {message_id: self._state(stub, consumer, message_id)
                    for message_id in message_ids}

    @staticmethod
    def _state(stub, consumer, message_id):
        try:
            claim = stub.GetClaim(operations_pb2.GetClaimRequest(
                consumer=consumer, message_id=message_id), timeout=10).claim
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return "ABSENT"
            raise
        return claims_pb2.ClaimState.Name(claim.state).removeprefix("CLAIM_STATE_")

    def _status(self):
        with grpc.insecure_channel(self.address) as channel:
            try:
                return operations_pb2_grpc.OperationServiceStub(channel).GetStatus(
                    operations_pb2.GetStatusRequest(), timeout=2)
            except grpc.RpcError:
                return None
