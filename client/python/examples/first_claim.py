#!/usr/bin/env python3
"""Claims a message, completes it, and is told that it is done when the message comes again.

    script/server                                    # in one terminal
    client/python/examples/first_claim.py [ADDRESS]  # in another; default 127.0.0.1:7420
"""
import pathlib
import sys
import uuid

import grpc
from google.protobuf.duration_pb2 import Duration

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from claimd.v1 import claims_pb2 as pb  # noqa: E402
from claimd.v1 import claims_pb2_grpc as rpc  # noqa: E402


def handle(claimd, message_id):
    """What a consumer does with one delivery. Returns what to say about it."""
    key = {"consumer": "billing/capture", "message_id": message_id}
    claim = claimd.Begin(pb.BeginRequest(
        **key, lease=Duration(seconds=30), owner="first_claim.py", request_id=uuid.uuid4().hex))
    outcome = pb.BeginOutcome.Name(claim.outcome)
    if claim.outcome == pb.BEGIN_OUTCOME_CLAIMED:
        result = f"charged under {claim.effect_key}".encode()  # the effect would be here
        done = claimd.Complete(pb.CompleteRequest(**key, token=claim.token, result=result))
        return f"{outcome} (token {claim.token}), then {pb.ClaimState.Name(done.state)}"
    return f"{outcome}, the stored result is {claim.result!r}"


def main():
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7420"
    message_id = f"pi_{uuid.uuid4().hex[:8]}:captured"
    with grpc.insecure_channel(address) as channel:
        claimd = rpc.ClaimServiceStub(channel)
        for delivery in ("first", "second"):
            print(f"{delivery} delivery of {message_id}: {handle(claimd, message_id)}")


if __name__ == "__main__":
    main()
