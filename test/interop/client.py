#!/usr/bin/python3
"""The conversations of test/interop, held by Python's gRPC. Prints the name of each, and OK at the end.

usage: client.py ADDRESS CA CERT KEY GENERATED_FOLDER
"""
import sys
import time

import grpc

address, ca, cert, key, generated = sys.argv[1:6]
sys.path.insert(0, generated)
import health_pb2  # noqa: E402
import reflection_pb2  # noqa: E402


def read(path):
    with open(path, "rb") as file:
        return file.read()


credentials = grpc.ssl_channel_credentials(read(ca), read(key), read(cert))
channel = grpc.secure_channel(address, credentials, [("grpc.ssl_target_name_override", "localhost")])


def stub(method):
    return channel.unary_unary("/interop.Test/" + method)


def call(method, request=b"", timeout=10, compression=None):
    return stub(method)(request, timeout=timeout, compression=compression)


def refused(code, method, *args, **kwargs):
    try:
        call(method, *args, **kwargs)
    except grpc.RpcError as error:
        assert error.code() == code, (method, error.code(), error.details())
        return error.details()
    raise AssertionError(f"{method} was not refused")


def unary():
    assert call("Echo", b"hello") == b"hello"
    assert call("Echo", b"") == b""


def error_with_details():
    assert refused(grpc.StatusCode.FAILED_PRECONDITION, "Fail") == "50% größer\nals erlaubt"
    refused(grpc.StatusCode.UNIMPLEMENTED, "Absent")


def deadline():
    refused(grpc.StatusCode.DEADLINE_EXCEEDED, "Slow", timeout=0.1)


def cancel():
    future = stub("Slow").future(b"", timeout=10)
    time.sleep(0.1)
    future.cancel()
    assert future.code() == grpc.StatusCode.CANCELLED, future.code()
    unary()


def compression():
    text = b"abcdefgh" * 10000
    assert call("Echo", text, compression=grpc.Compression.Gzip) == text
    refused(grpc.StatusCode.UNIMPLEMENTED, "Echo", text, compression=grpc.Compression.Deflate)


def large_message():
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "Echo", bytes(5 << 20))
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "Echo", bytes(5 << 20), compression=grpc.Compression.Gzip)
    assert len(call("Echo", bytes(3 << 20))) == 3 << 20


def many_streams():
    futures = [stub("Echo").future(str(i).encode(), timeout=30) for i in range(3000)]
    for i, future in enumerate(futures):
        assert future.result() == str(i).encode()


def health_watch():
    watch = channel.unary_stream(
        "/grpc.health.v1.Health/Watch", request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString)
    call("SetServing", b"no")
    answers = watch(health_pb2.HealthCheckRequest(service="interop.Test"), timeout=20)
    assert next(answers).status == health_pb2.HealthCheckResponse.NOT_SERVING
    call("SetServing", b"yes")
    assert next(answers).status == health_pb2.HealthCheckResponse.SERVING
    answers.cancel()


def reflection_list():
    info = channel.stream_stream(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString)
    answers = list(info(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=20))
    names = [s.name for s in answers[0].list_services_response.service]
    assert "interop.Test" in names and "grpc.health.v1.Health" in names, names


def connection_age():
    """The server tells connections to go after a second: no call may be lost by that."""
    end = time.monotonic() + 4
    while time.monotonic() < end:
        call("Echo", b"x")
    connections = int(call("Connections"))
    assert connections >= 3, connections


for talk in (unary, error_with_details, deadline, cancel, compression, large_message, many_streams, health_watch,
             reflection_list, connection_age):
    print(talk.__name__, flush=True)
    talk()
print("OK", flush=True)
