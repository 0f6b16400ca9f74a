"""Calls of claimd over gRPC for tests in Python: short names, errors with their details decoded,
and requests as raw bytes for what no client library would send."""
import dataclasses

import grpc
from google.rpc import error_details_pb2, status_pb2

from claimd.v1 import claims_pb2, claims_pb2_grpc, operations_pb2, operations_pb2_grpc

DOMAIN = "claimd"
TIMEOUT_S = 30

CLAIM_SERVICE = "/claimd.v1.ClaimService/"
OPERATION_SERVICE = "/claimd.v1.OperationService/"

CLAIMED = claims_pb2.BEGIN_OUTCOME_CLAIMED
DUPLICATE = claims_pb2.BEGIN_OUTCOME_DUPLICATE
IN_FLIGHT = claims_pb2.BEGIN_OUTCOME_IN_FLIGHT
NOT_YET = claims_pb2.BEGIN_OUTCOME_NOT_YET


@dataclasses.dataclass
class Error:
    """A status as its details tell it; reason is "" if it is not claimd's own."""

    code: str
    message: str = ""
    reason: str = ""
    field: str = ""
    limit: str = ""
    state: str = ""
    violations: tuple = ()
    retry_ms: float = None


def decode_error(error):
    """Decodes a grpc.RpcError; what claimd says must agree with itself."""
    out = Error(code=error.code().name, message=error.details() or "")
    wire = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    if wire is None:
        return out
    status = status_pb2.Status.FromString(wire)
    assert (status.code, status.message) == (error.code().value[0], out.message), status
    for detail in status.details:
        info, bad, retry = (error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(),
                            error_details_pb2.RetryInfo())
        if detail.Unpack(info):
            assert info.domain == DOMAIN, info
            out.reason = info.reason
            out.field = info.metadata.get("field", "")
            out.limit = info.metadata.get("limit", "")
            out.state = info.metadata.get("state", "")
        elif detail.Unpack(bad):
            out.violations = tuple((v.field, v.description) for v in bad.field_violations)
        elif detail.Unpack(retry):
            out.retry_ms = retry.retry_delay.ToTimedelta().total_seconds() * 1000
        else:
            raise AssertionError(f"unknown detail {detail.type_url}")
    return out


class Refused(AssertionError):
    """A call that a test needs was answered with an error."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


class Client:
    """One connection. Durations are milliseconds; a call that fails raises Refused."""

    def __init__(self, address, timeout=TIMEOUT_S):
        self.channel = grpc.insecure_channel(address, options=[
            ("grpc.max_receive_message_length", 16 << 20),
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200),
            ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)])
        self.timeout = timeout
        self.claims = claims_pb2_grpc.ClaimServiceStub(self.channel)
        self.operations = operations_pb2_grpc.OperationServiceStub(self.channel)

    def close(self):
        self.channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, request, timeout=None):
        try:
            return method(request, timeout=timeout or self.timeout)
        except grpc.RpcError as error:
            raise Refused(decode_error(error)) from None

    def refusal(self, method, request, timeout=None):
        """The error of a call that must fail."""
        try:
            answer = self.call(method, request, timeout)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"not refused: {answer}")

    def raw(self, path, timeout=None):
        """A method that takes and gives bytes as they are; path without its leading slash too."""
        method = self.channel.unary_unary(path)
        return lambda request, timeout=timeout or self.timeout: method(request, timeout=timeout)

    def begin(self, consumer, message_id, lease_ms=None, wait_ms=None, timeout=None, **fields):
        request = claims_pb2.BeginRequest(consumer=consumer, message_id=message_id, **fields)
        if lease_ms is not None:
            request.lease.FromMilliseconds(lease_ms)
        if wait_ms is not None:
            request.wait.FromMilliseconds(wait_ms)
        return self.call(self.claims.Begin, request, timeout)

    def token_verb(self, verb, consumer, message_id, token, **fields):
        request = getattr(claims_pb2, verb + "Request")(
            consumer=consumer, message_id=message_id, token=token, **fields)
        return self.call(getattr(self.claims, verb), request)

    def complete(self, consumer, message_id, token, **fields):
        return self.token_verb("Complete", consumer, message_id, token, **fields)

    def release(self, consumer, message_id, token):
        return self.token_verb("Release", consumer, message_id, token)

    def fail(self, consumer, message_id, token, kind, retry_after_ms=None, **fields):
        request = claims_pb2.FailRequest(consumer=consumer, message_id=message_id, token=token,
                                         kind=kind, **fields)
        if retry_after_ms is not None:
            request.retry_after.FromMilliseconds(retry_after_ms)
        return self.call(self.claims.Fail, request)

    def register(self, consumer, message_id, **fields):
        return self.call(self.claims.Register, claims_pb2.RegisterRequest(
            consumer=consumer, message_id=message_id, **fields))

    def get(self, consumer, message_id, bodies=False):
        """The claim, or None if there is none."""
        request = operations_pb2.GetClaimRequest(consumer=consumer, message_id=message_id,
                                                 include_bodies=bodies)
        try:
            return self.call(self.operations.GetClaim, request).claim
        except Refused as refused:
            if refused.error.code == "NOT_FOUND":
                return None
            raise

    def status(self):
        return self.call(self.operations.GetStatus, operations_pb2.GetStatusRequest())

    def state_counts(self):
        """Stored records by the name of their state, those that there are."""
        return {claims_pb2.ClaimState.Name(row.state).removeprefix("CLAIM_STATE_"): row.count
                for row in self.status().states if row.count > 0}

    def outcome_counts(self):
        """Begins since the start by the name of their outcome."""
        return {claims_pb2.BeginOutcome.Name(row.outcome).removeprefix("BEGIN_OUTCOME_"): row.count
                for row in self.status().begins if row.count > 0}


def state_name(state):
    return claims_pb2.ClaimState.Name(state).removeprefix("CLAIM_STATE_")
