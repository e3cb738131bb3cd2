// The conversations of test/interop, held by Go's gRPC. Prints the name of each, and OK at the end.
//
//	grpc-client ADDRESS CA CERT KEY
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// raw carries bytes as they are: the service has no messages of its own.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (raw) Name() string { return "proto" }

// reversed is an encoding that no server knows.
type reversed struct{}

func (reversed) Name() string                                 { return "reversed" }
func (reversed) Decompress(r io.Reader) (io.Reader, error)    { return r, nil }
func (reversed) Compress(w io.Writer) (io.WriteCloser, error) { return passing{w}, nil }

type passing struct{ io.Writer }

func (passing) Close() error { return nil }

func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Printf("FAILED: "+format+"\n", args...)
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	check(err == nil, "%v", err)
	return value
}

var connection *grpc.ClientConn

func call(method string, request []byte, timeout time.Duration, options ...grpc.CallOption) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var answer []byte
	err := connection.Invoke(ctx, "/interop.Test/"+method, &request, &answer, append(options, grpc.ForceCodec(raw{}))...)
	return answer, err
}

func expectCode(err error, code codes.Code) {
	check(status.Code(err) == code, "expected %v, got %v", code, err)
}

func unary() {
	answer := must(call("Echo", []byte("hello"), 10*time.Second))
	check(string(answer) == "hello", "echo said %q", answer)
	check(len(must(call("Echo", nil, 10*time.Second))) == 0, "an empty message is not empty")
}

func errorWithDetails() {
	_, err := call("Fail", nil, 10*time.Second)
	expectCode(err, codes.FailedPrecondition)
	check(status.Convert(err).Message() == "50% größer\nals erlaubt", "message %q", status.Convert(err).Message())
	_, err = call("Absent", nil, 10*time.Second)
	expectCode(err, codes.Unimplemented)
}

func deadline() {
	_, err := call("Slow", nil, 100*time.Millisecond)
	expectCode(err, codes.DeadlineExceeded)
}

func cancel() {
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, stop)
	var request, answer []byte
	err := connection.Invoke(ctx, "/interop.Test/Slow", &request, &answer, grpc.ForceCodec(raw{}))
	expectCode(err, codes.Canceled)
	unary()
}

func compression() {
	text := bytes.Repeat([]byte("abcdefgh"), 10_000)
	answer := must(call("Echo", text, 10*time.Second, grpc.UseCompressor("gzip")))
	check(bytes.Equal(answer, text), "gzip: %d bytes came back", len(answer))
	_, err := call("Echo", text, 10*time.Second, grpc.UseCompressor("reversed"))
	expectCode(err, codes.Unimplemented)
}

func largeMessage() {
	_, err := call("Echo", make([]byte, 5<<20), 10*time.Second)
	expectCode(err, codes.ResourceExhausted)
	// The same, small on the wire.
	_, err = call("Echo", make([]byte, 5<<20), 10*time.Second, grpc.UseCompressor("gzip"))
	expectCode(err, codes.ResourceExhausted)
	answer := must(call("Echo", make([]byte, 3<<20), 10*time.Second))
	check(len(answer) == 3<<20, "3 MiB became %d bytes", len(answer))
}

func manyStreams() {
	var all sync.WaitGroup
	var mutex sync.Mutex
	var first error
	for i := range 3_000 {
		all.Add(1)
		go func() {
			defer all.Done()
			text := strconv.Itoa(i)
			answer, err := call("Echo", []byte(text), 30*time.Second)
			if err == nil && string(answer) != text {
				err = fmt.Errorf("%s became %s", text, answer)
			}
			if err != nil {
				mutex.Lock()
				first = err
				mutex.Unlock()
			}
		}()
	}
	all.Wait()
	check(first == nil, "%v", first)
}

func healthWatch() {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	client := grpc_health_v1.NewHealthClient(connection)
	must(call("SetServing", []byte("no"), 10*time.Second))
	stream := must(client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: "interop.Test"}))
	check(must(stream.Recv()).Status == grpc_health_v1.HealthCheckResponse_NOT_SERVING, "serves")
	must(call("SetServing", []byte("yes"), 10*time.Second))
	check(must(stream.Recv()).Status == grpc_health_v1.HealthCheckResponse_SERVING, "does not serve")
	answer := must(client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}))
	check(answer.Status == grpc_health_v1.HealthCheckResponse_SERVING, "check: %v", answer)
}

func reflectionList() {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	stream := must(grpc_reflection_v1.NewServerReflectionClient(connection).ServerReflectionInfo(ctx))
	check(stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}) == nil, "send")
	var names []string
	for _, service := range must(stream.Recv()).GetListServicesResponse().GetService() {
		names = append(names, service.Name)
	}
	list := strings.Join(names, " ")
	check(strings.Contains(list, "interop.Test") && strings.Contains(list, "grpc.health.v1.Health"), "listed: %s", list)
	check(stream.CloseSend() == nil, "close")
	_, err := stream.Recv()
	check(err == io.EOF, "after the end: %v", err)
}

// The server tells connections to go after a second: no call may be lost by that.
func connectionAge() {
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
		must(call("Echo", []byte("x"), 10*time.Second))
	}
	connections := must(strconv.Atoi(string(must(call("Connections", nil, 10*time.Second)))))
	check(connections >= 3, "%d connections", connections)
}

func main() {
	encoding.RegisterCompressor(reversed{})
	address, files := os.Args[1], os.Args[2:]
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must(os.ReadFile(files[0])))
	pair := must(tls.LoadX509KeyPair(files[1], files[2]))
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, ServerName: "localhost"}
	connection = must(grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config))))
	defer connection.Close()
	for _, one := range []struct {
		name string
		talk func()
	}{{"unary", unary}, {"error with details", errorWithDetails}, {"deadline", deadline}, {"cancel", cancel},
		{"compression", compression}, {"large message", largeMessage}, {"many streams", manyStreams},
		{"health watch", healthWatch}, {"reflection list", reflectionList}, {"connection age", connectionAge}} {
		fmt.Println(one.name)
		one.talk()
	}
	fmt.Println("OK")
}
