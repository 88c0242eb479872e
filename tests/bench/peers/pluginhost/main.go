// The peer of plugin_bench: a host on hashicorp/go-plugin that calls the same plugin program. Prints, for each size of
// message, the median and 99th percentile of a call in nanoseconds, and calls a second of one and of eight callers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

const method = "/drover.bench.Echo/Call"

// Bytes that nobody decodes.
type asIs struct{}

func (asIs) Name() string { return "proto" }
func (asIs) Marshal(v interface{}) ([]byte, error) {
	return *v.(*[]byte), nil
}
func (asIs) Unmarshal(data []byte, v interface{}) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

type echo struct{ plugin.NetRPCUnsupportedPlugin }

func (echo) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errors.New("a host only") }
func (echo) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (interface{}, error) {
	return conn, nil
}

func call(conn *grpc.ClientConn, message []byte) error {
	var answer []byte
	if err := conn.Invoke(context.Background(), method, &message, &answer, grpc.ForceCodec(asIs{})); err != nil {
		return err
	}
	if len(answer) != len(message) {
		return fmt.Errorf("%d bytes came back of %d", len(answer), len(message))
	}
	return nil
}

func rate(conn *grpc.ClientConn, message []byte, callers, calls int) (float64, error) {
	var all sync.WaitGroup
	errs := make(chan error, callers)
	began := time.Now()
	for i := 0; i < callers; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < calls/callers; j++ {
				if err := call(conn, message); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(calls) / time.Since(began).Seconds(), nil
	}
}

func measure(conn *grpc.ClientConn, size, calls int) error {
	message := make([]byte, size)
	times := make([]time.Duration, 0, calls)
	for i := 0; i < calls+calls/10; i++ {
		began := time.Now()
		if err := call(conn, message); err != nil {
			return err
		}
		if i >= calls/10 {
			times = append(times, time.Since(began))
		}
	}
	var total time.Duration
	for _, one := range times {
		total += one
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	many, err := rate(conn, message, 8, calls)
	if err != nil {
		return err
	}
	fmt.Printf("%d %d %d %.0f %.0f\n", size, times[len(times)/2].Nanoseconds(), times[len(times)*99/100].Nanoseconds(),
		float64(len(times))/total.Seconds(), many)
	return nil
}

func run(program string, calls int) error {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  2,
			MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		Plugins:          plugin.PluginSet{"echo": echo{}},
		Cmd:              exec.Command(program),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense("echo")
	if err != nil {
		return err
	}
	for _, size := range []int{0, 1024} {
		if err := measure(raw.(*grpc.ClientConn), size, calls); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pluginhost PROGRAM CALLS")
		os.Exit(2)
	}
	calls, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(os.Args[1], calls)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
