import datetime

from claimd.v1 import claims_pb2 as _claims_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetClaimRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "include_bodies")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_BODIES_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    include_bodies: bool
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., include_bodies: _Optional[bool] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("attempt", "owner", "begin_time", "end_time", "end", "error")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    BEGIN_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    owner: str
    begin_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    end: _claims_pb2.AttemptEnd
    error: str
    def __init__(self, attempt: _Optional[int] = ..., owner: _Optional[str] = ..., begin_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end: _Optional[_Union[_claims_pb2.AttemptEnd, str]] = ..., error: _Optional[str] = ...) -> None: ...

class RetryCounts(_message.Message):
    __slots__ = ("transient", "unclassified", "poison", "lapsed")
    TRANSIENT_FIELD_NUMBER: _ClassVar[int]
    UNCLASSIFIED_FIELD_NUMBER: _ClassVar[int]
    POISON_FIELD_NUMBER: _ClassVar[int]
    LAPSED_FIELD_NUMBER: _ClassVar[int]
    transient: int
    unclassified: int
    poison: int
    lapsed: int
    def __init__(self, transient: _Optional[int] = ..., unclassified: _Optional[int] = ..., poison: _Optional[int] = ..., lapsed: _Optional[int] = ...) -> None: ...

class BodyInfo(_message.Message):
    __slots__ = ("size_bytes", "sha256", "expired")
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    size_bytes: int
    sha256: bytes
    expired: bool
    def __init__(self, size_bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ..., expired: _Optional[bool] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("consumer", "message_id", "state", "attempt", "lapsed", "retries", "owner", "lease", "last_error", "next_attempt_time", "create_time", "update_time", "complete_time", "expire_time", "event_time", "fingerprint", "payload_ref", "reason", "reopen_count", "effect_key", "attempts", "result_info", "checkpoint_info", "payload_info", "result", "checkpoint", "payload")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LAPSED_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_REF_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REOPEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_INFO_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_INFO_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_INFO_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    state: _claims_pb2.ClaimState
    attempt: int
    lapsed: bool
    retries: RetryCounts
    owner: str
    lease: _claims_pb2.Lease
    last_error: _claims_pb2.ClaimError
    next_attempt_time: _timestamp_pb2.Timestamp
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    complete_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    event_time: _timestamp_pb2.Timestamp
    fingerprint: bytes
    payload_ref: str
    reason: str
    reopen_count: int
    effect_key: str
    attempts: _containers.RepeatedCompositeFieldContainer[Attempt]
    result_info: BodyInfo
    checkpoint_info: BodyInfo
    payload_info: BodyInfo
    result: bytes
    checkpoint: bytes
    payload: bytes
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., state: _Optional[_Union[_claims_pb2.ClaimState, str]] = ..., attempt: _Optional[int] = ..., lapsed: _Optional[bool] = ..., retries: _Optional[_Union[RetryCounts, _Mapping]] = ..., owner: _Optional[str] = ..., lease: _Optional[_Union[_claims_pb2.Lease, _Mapping]] = ..., last_error: _Optional[_Union[_claims_pb2.ClaimError, _Mapping]] = ..., next_attempt_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., complete_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fingerprint: _Optional[bytes] = ..., payload_ref: _Optional[str] = ..., reason: _Optional[str] = ..., reopen_count: _Optional[int] = ..., effect_key: _Optional[str] = ..., attempts: _Optional[_Iterable[_Union[Attempt, _Mapping]]] = ..., result_info: _Optional[_Union[BodyInfo, _Mapping]] = ..., checkpoint_info: _Optional[_Union[BodyInfo, _Mapping]] = ..., payload_info: _Optional[_Union[BodyInfo, _Mapping]] = ..., result: _Optional[bytes] = ..., checkpoint: _Optional[bytes] = ..., payload: _Optional[bytes] = ...) -> None: ...

class GetClaimResponse(_message.Message):
    __slots__ = ("claim",)
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    claim: Claim
    def __init__(self, claim: _Optional[_Union[Claim, _Mapping]] = ...) -> None: ...

class PruneRequest(_message.Message):
    __slots__ = ("consumer", "before", "dry_run", "force")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    before: _timestamp_pb2.Timestamp
    dry_run: bool
    force: bool
    def __init__(self, consumer: _Optional[str] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., dry_run: _Optional[bool] = ..., force: _Optional[bool] = ...) -> None: ...

class PruneResponse(_message.Message):
    __slots__ = ("scanned_count", "removed_count", "done")
    SCANNED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REMOVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    scanned_count: int
    removed_count: int
    done: bool
    def __init__(self, scanned_count: _Optional[int] = ..., removed_count: _Optional[int] = ..., done: _Optional[bool] = ...) -> None: ...

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StateCount(_message.Message):
    __slots__ = ("state", "count")
    STATE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    state: _claims_pb2.ClaimState
    count: int
    def __init__(self, state: _Optional[_Union[_claims_pb2.ClaimState, str]] = ..., count: _Optional[int] = ...) -> None: ...

class OutcomeCount(_message.Message):
    __slots__ = ("outcome", "count")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    outcome: _claims_pb2.BeginOutcome
    count: int
    def __init__(self, outcome: _Optional[_Union[_claims_pb2.BeginOutcome, str]] = ..., count: _Optional[int] = ...) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("version", "start_time", "durability_relaxed", "applied_position", "store_time", "states", "begins", "replay_claimed_count", "retention", "redelivery_window", "disk_reserve_reached")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_RELAXED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_POSITION_FIELD_NUMBER: _ClassVar[int]
    STORE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    BEGINS_FIELD_NUMBER: _ClassVar[int]
    REPLAY_CLAIMED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    REDELIVERY_WINDOW_FIELD_NUMBER: _ClassVar[int]
    DISK_RESERVE_REACHED_FIELD_NUMBER: _ClassVar[int]
    version: str
    start_time: _timestamp_pb2.Timestamp
    durability_relaxed: bool
    applied_position: int
    store_time: _duration_pb2.Duration
    states: _containers.RepeatedCompositeFieldContainer[StateCount]
    begins: _containers.RepeatedCompositeFieldContainer[OutcomeCount]
    replay_claimed_count: int
    retention: _duration_pb2.Duration
    redelivery_window: _duration_pb2.Duration
    disk_reserve_reached: bool
    def __init__(self, version: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., durability_relaxed: _Optional[bool] = ..., applied_position: _Optional[int] = ..., store_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., states: _Optional[_Iterable[_Union[StateCount, _Mapping]]] = ..., begins: _Optional[_Iterable[_Union[OutcomeCount, _Mapping]]] = ..., replay_claimed_count: _Optional[int] = ..., retention: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., redelivery_window: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., disk_reserve_reached: _Optional[bool] = ...) -> None: ...
