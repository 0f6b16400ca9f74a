import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClaimState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAIM_STATE_UNSPECIFIED: _ClassVar[ClaimState]
    CLAIM_STATE_RECEIVED: _ClassVar[ClaimState]
    CLAIM_STATE_PROCESSING: _ClassVar[ClaimState]
    CLAIM_STATE_RETRYING: _ClassVar[ClaimState]
    CLAIM_STATE_UNKNOWN: _ClassVar[ClaimState]
    CLAIM_STATE_SUCCEEDED: _ClassVar[ClaimState]
    CLAIM_STATE_REJECTED: _ClassVar[ClaimState]
    CLAIM_STATE_DEAD_LETTERED: _ClassVar[ClaimState]
    CLAIM_STATE_DISCARDED: _ClassVar[ClaimState]

class FailureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_KIND_UNSPECIFIED: _ClassVar[FailureKind]
    FAILURE_KIND_TRANSIENT: _ClassVar[FailureKind]
    FAILURE_KIND_UNCLASSIFIED: _ClassVar[FailureKind]
    FAILURE_KIND_POISON: _ClassVar[FailureKind]
    FAILURE_KIND_OUTCOME_UNKNOWN: _ClassVar[FailureKind]
    FAILURE_KIND_LAPSED: _ClassVar[FailureKind]

class AttemptEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATTEMPT_END_UNSPECIFIED: _ClassVar[AttemptEnd]
    ATTEMPT_END_LAPSED: _ClassVar[AttemptEnd]
    ATTEMPT_END_FAILED: _ClassVar[AttemptEnd]
    ATTEMPT_END_RELEASED: _ClassVar[AttemptEnd]
    ATTEMPT_END_RECLAIMED: _ClassVar[AttemptEnd]
    ATTEMPT_END_EXPIRED: _ClassVar[AttemptEnd]
    ATTEMPT_END_COMPLETED: _ClassVar[AttemptEnd]
    ATTEMPT_END_REJECTED: _ClassVar[AttemptEnd]

class BeginOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BEGIN_OUTCOME_UNSPECIFIED: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_CLAIMED: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_DUPLICATE: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_IN_FLIGHT: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_NOT_YET: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_OUTCOME_UNKNOWN: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_DEAD_LETTERED: _ClassVar[BeginOutcome]
    BEGIN_OUTCOME_OUT_OF_ORDER: _ClassVar[BeginOutcome]

class Resolution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOLUTION_UNSPECIFIED: _ClassVar[Resolution]
    RESOLUTION_SUCCEEDED: _ClassVar[Resolution]
    RESOLUTION_REJECTED: _ClassVar[Resolution]
    RESOLUTION_RETRY: _ClassVar[Resolution]
    RESOLUTION_DEAD_LETTER: _ClassVar[Resolution]
CLAIM_STATE_UNSPECIFIED: ClaimState
CLAIM_STATE_RECEIVED: ClaimState
CLAIM_STATE_PROCESSING: ClaimState
CLAIM_STATE_RETRYING: ClaimState
CLAIM_STATE_UNKNOWN: ClaimState
CLAIM_STATE_SUCCEEDED: ClaimState
CLAIM_STATE_REJECTED: ClaimState
CLAIM_STATE_DEAD_LETTERED: ClaimState
CLAIM_STATE_DISCARDED: ClaimState
FAILURE_KIND_UNSPECIFIED: FailureKind
FAILURE_KIND_TRANSIENT: FailureKind
FAILURE_KIND_UNCLASSIFIED: FailureKind
FAILURE_KIND_POISON: FailureKind
FAILURE_KIND_OUTCOME_UNKNOWN: FailureKind
FAILURE_KIND_LAPSED: FailureKind
ATTEMPT_END_UNSPECIFIED: AttemptEnd
ATTEMPT_END_LAPSED: AttemptEnd
ATTEMPT_END_FAILED: AttemptEnd
ATTEMPT_END_RELEASED: AttemptEnd
ATTEMPT_END_RECLAIMED: AttemptEnd
ATTEMPT_END_EXPIRED: AttemptEnd
ATTEMPT_END_COMPLETED: AttemptEnd
ATTEMPT_END_REJECTED: AttemptEnd
BEGIN_OUTCOME_UNSPECIFIED: BeginOutcome
BEGIN_OUTCOME_CLAIMED: BeginOutcome
BEGIN_OUTCOME_DUPLICATE: BeginOutcome
BEGIN_OUTCOME_IN_FLIGHT: BeginOutcome
BEGIN_OUTCOME_NOT_YET: BeginOutcome
BEGIN_OUTCOME_OUTCOME_UNKNOWN: BeginOutcome
BEGIN_OUTCOME_DEAD_LETTERED: BeginOutcome
BEGIN_OUTCOME_OUT_OF_ORDER: BeginOutcome
RESOLUTION_UNSPECIFIED: Resolution
RESOLUTION_SUCCEEDED: Resolution
RESOLUTION_REJECTED: Resolution
RESOLUTION_RETRY: Resolution
RESOLUTION_DEAD_LETTER: Resolution

class Lease(_message.Message):
    __slots__ = ("expire_time", "remaining")
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    expire_time: _timestamp_pb2.Timestamp
    remaining: _duration_pb2.Duration
    def __init__(self, expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., remaining: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ClaimError(_message.Message):
    __slots__ = ("kind", "message", "occur_time")
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OCCUR_TIME_FIELD_NUMBER: _ClassVar[int]
    kind: FailureKind
    message: str
    occur_time: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[_Union[FailureKind, str]] = ..., message: _Optional[str] = ..., occur_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Takeover(_message.Message):
    __slots__ = ("previous_owner", "previous_end", "last_error", "checkpoint")
    PREVIOUS_OWNER_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_END_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    previous_owner: str
    previous_end: AttemptEnd
    last_error: ClaimError
    checkpoint: bytes
    def __init__(self, previous_owner: _Optional[str] = ..., previous_end: _Optional[_Union[AttemptEnd, str]] = ..., last_error: _Optional[_Union[ClaimError, _Mapping]] = ..., checkpoint: _Optional[bytes] = ...) -> None: ...

class BeginRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "lease", "owner", "request_id", "fingerprint", "event_time", "payload_ref", "wait", "replay", "reclaim")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_REF_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    RECLAIM_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    lease: _duration_pb2.Duration
    owner: str
    request_id: str
    fingerprint: bytes
    event_time: _timestamp_pb2.Timestamp
    payload_ref: str
    wait: _duration_pb2.Duration
    replay: bool
    reclaim: bool
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., owner: _Optional[str] = ..., request_id: _Optional[str] = ..., fingerprint: _Optional[bytes] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., payload_ref: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., replay: _Optional[bool] = ..., reclaim: _Optional[bool] = ...) -> None: ...

class BeginResponse(_message.Message):
    __slots__ = ("outcome", "token", "attempt", "lease", "effect_key", "takeover", "state", "owner", "retry_after", "next_attempt_time", "last_error", "checkpoint", "complete_time", "expire_time", "result", "result_expired", "result_omitted", "reason")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    TAKEOVER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RESULT_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    RESULT_OMITTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    outcome: BeginOutcome
    token: int
    attempt: int
    lease: Lease
    effect_key: str
    takeover: Takeover
    state: ClaimState
    owner: str
    retry_after: _duration_pb2.Duration
    next_attempt_time: _timestamp_pb2.Timestamp
    last_error: ClaimError
    checkpoint: bytes
    complete_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    result: bytes
    result_expired: bool
    result_omitted: bool
    reason: str
    def __init__(self, outcome: _Optional[_Union[BeginOutcome, str]] = ..., token: _Optional[int] = ..., attempt: _Optional[int] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., effect_key: _Optional[str] = ..., takeover: _Optional[_Union[Takeover, _Mapping]] = ..., state: _Optional[_Union[ClaimState, str]] = ..., owner: _Optional[str] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., next_attempt_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error: _Optional[_Union[ClaimError, _Mapping]] = ..., checkpoint: _Optional[bytes] = ..., complete_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., result: _Optional[bytes] = ..., result_expired: _Optional[bool] = ..., result_omitted: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class CompleteRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "token", "result")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    token: int
    result: bytes
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., token: _Optional[int] = ..., result: _Optional[bytes] = ...) -> None: ...

class CompleteResponse(_message.Message):
    __slots__ = ("state", "replayed", "complete_time", "expire_time")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    state: ClaimState
    replayed: bool
    complete_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[ClaimState, str]] = ..., replayed: _Optional[bool] = ..., complete_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RejectRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "token", "reason", "result")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    token: int
    reason: str
    result: bytes
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., token: _Optional[int] = ..., reason: _Optional[str] = ..., result: _Optional[bytes] = ...) -> None: ...

class RejectResponse(_message.Message):
    __slots__ = ("state", "replayed", "complete_time", "expire_time")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    state: ClaimState
    replayed: bool
    complete_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[ClaimState, str]] = ..., replayed: _Optional[bool] = ..., complete_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FailRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "token", "kind", "message", "payload", "retry_after")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    token: int
    kind: FailureKind
    message: str
    payload: bytes
    retry_after: _duration_pb2.Duration
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., token: _Optional[int] = ..., kind: _Optional[_Union[FailureKind, str]] = ..., message: _Optional[str] = ..., payload: _Optional[bytes] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class FailResponse(_message.Message):
    __slots__ = ("state", "replayed", "next_attempt_time", "retry_after")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_TIME_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    state: ClaimState
    replayed: bool
    next_attempt_time: _timestamp_pb2.Timestamp
    retry_after: _duration_pb2.Duration
    def __init__(self, state: _Optional[_Union[ClaimState, str]] = ..., replayed: _Optional[bool] = ..., next_attempt_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "token", "lease", "checkpoint")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    token: int
    lease: _duration_pb2.Duration
    checkpoint: bytes
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., token: _Optional[int] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., checkpoint: _Optional[bytes] = ...) -> None: ...

class RenewResponse(_message.Message):
    __slots__ = ("lease", "lapsed")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LAPSED_FIELD_NUMBER: _ClassVar[int]
    lease: Lease
    lapsed: bool
    def __init__(self, lease: _Optional[_Union[Lease, _Mapping]] = ..., lapsed: _Optional[bool] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "token")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    token: int
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., token: _Optional[int] = ...) -> None: ...

class ReleaseResponse(_message.Message):
    __slots__ = ("state", "replayed")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    state: ClaimState
    replayed: bool
    def __init__(self, state: _Optional[_Union[ClaimState, str]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class RegisterRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "event_time", "payload_ref")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_REF_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    event_time: _timestamp_pb2.Timestamp
    payload_ref: str
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., payload_ref: _Optional[str] = ...) -> None: ...

class RegisterResponse(_message.Message):
    __slots__ = ("created", "state")
    CREATED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    created: bool
    state: ClaimState
    def __init__(self, created: _Optional[bool] = ..., state: _Optional[_Union[ClaimState, str]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "reason")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    reason: str
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ("state", "replayed")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    state: ClaimState
    replayed: bool
    def __init__(self, state: _Optional[_Union[ClaimState, str]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class ResolveRequest(_message.Message):
    __slots__ = ("consumer", "message_id", "resolution", "result", "reason")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    message_id: str
    resolution: Resolution
    result: bytes
    reason: str
    def __init__(self, consumer: _Optional[str] = ..., message_id: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, str]] = ..., result: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...

class ResolveResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: ClaimState
    def __init__(self, state: _Optional[_Union[ClaimState, str]] = ...) -> None: ...
