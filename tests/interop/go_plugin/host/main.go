// A host in Go on Debian's go-plugin: starts the plugin that it is given, with TLS unless it is told "plain", and tells
// what the plugin answers, a line each. Arguments: PROGRAM plain|tls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/ioutil"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"

	"github.com/golang/protobuf/ptypes"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	base "wire/base/nomad/plugins"
	driver "wire/driver/nomad/plugins"
)

const taskID = "5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d"

// {"events": ["one"], "run_for": "1h"} in msgpack.
var taskConfig = []byte("\x82\xa6events\x91\xa3one\xa7run_for\xa21h")

type client struct {
	plugin.NetRPCUnsupportedPlugin
}

func (client) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this program is a host only")
}

func (client) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, connection *grpc.ClientConn) (interface{}, error) {
	return connection, nil
}

func check(what string, err error) {
	if err != nil {
		fmt.Printf("%s: error: %v\n", what, err)
		os.Exit(1)
	}
}

func drive(connection *grpc.ClientConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, d := base.NewBasePluginClient(connection), driver.NewDriverClient(connection)

	info, err := b.PluginInfo(ctx, &base.PluginInfoRequest{})
	check("info", err)
	fmt.Printf("info: %s %s %v\n", info.Name, info.Type, info.PluginApiVersions)
	_, err = b.SetConfig(ctx, &base.SetConfigRequest{PluginApiVersion: "v0.1.0"})
	check("config", err)
	capabilities, err := d.Capabilities(ctx, &driver.CapabilitiesRequest{})
	check("capabilities", err)
	fmt.Printf("capabilities: signals %v exec %v\n", capabilities.Capabilities.SendSignals, capabilities.Capabilities.Exec)
	prints, err := d.Fingerprint(ctx, &driver.FingerprintRequest{})
	check("fingerprint", err)
	print, err := prints.Recv()
	check("fingerprint", err)
	fmt.Printf("fingerprint: %s\n", print.Health)

	events, err := d.TaskEvents(ctx, &driver.TaskEventsRequest{})
	check("events", err)
	_, err = d.StartTask(ctx, &driver.StartTaskRequest{Task: &driver.TaskConfig{
		Id: taskID, Name: "web", AllocId: taskID[:36], MsgpackDriverConfig: taskConfig}})
	check("start", err)
	event, err := events.Recv()
	check("event", err)
	annotations := []string{}
	for name, value := range event.Annotations {
		annotations = append(annotations, name+"="+value)
	}
	sort.Strings(annotations)
	fmt.Printf("event: %s %s %v\n", event.TaskName, event.Message, annotations)

	exec, err := d.ExecTaskStreaming(ctx)
	check("exec", err)
	check("exec", exec.Send(&driver.ExecTaskStreamingRequest{Setup: &driver.ExecTaskStreamingRequest_Setup{
		TaskId: taskID, Command: []string{"showinput"}, Tty: true}}))
	check("exec", exec.Send(&driver.ExecTaskStreamingRequest{}))
	check("exec", exec.Send(&driver.ExecTaskStreamingRequest{Stdin: &driver.ExecTaskStreamingIOOperation{Data: []byte("hello")}}))
	check("exec", exec.Send(&driver.ExecTaskStreamingRequest{Stdin: &driver.ExecTaskStreamingIOOperation{Close: true}}))
	output := ""
	for {
		response, err := exec.Recv()
		check("exec", err)
		output += string(response.GetStdout().GetData())
		if response.Exited {
			fmt.Printf("exec: %s exit code %d\n", strings.Join(strings.Fields(output), " "), response.Result.ExitCode)
			break
		}
	}

	_, err = d.StopTask(ctx, &driver.StopTaskRequest{TaskId: taskID, Timeout: ptypes.DurationProto(time.Second), Signal: "SIGTERM"})
	check("stop", err)
	end, err := d.WaitTask(ctx, &driver.WaitTaskRequest{TaskId: taskID})
	check("wait", err)
	fmt.Printf("wait: exit code %d signal %d\n", end.Result.ExitCode, end.Result.Signal)
	inspected, err := d.InspectTask(ctx, &driver.InspectTaskRequest{TaskId: taskID})
	check("inspect", err)
	fmt.Printf("inspect: %s\n", inspected.Task.State)
	_, err = d.DestroyTask(ctx, &driver.DestroyTaskRequest{TaskId: taskID})
	check("destroy", err)
	_, err = d.WaitTask(ctx, &driver.WaitTaskRequest{TaskId: taskID})
	fmt.Printf("gone: %v\n", err)
}

func main() {
	host := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  2,
			MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		VersionedPlugins: map[int]plugin.PluginSet{2: {"driver": client{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Cmd:              exec.Command(os.Args[1]),
		AutoMTLS:         os.Args[2] == "tls",
		Logger:           hclog.New(&hclog.LoggerOptions{Output: ioutil.Discard}),
	})
	protocol, err := host.Client()
	check("connect", err)
	check("ping", protocol.Ping())
	connection, err := protocol.Dispense("driver")
	check("dispense", err)
	drive(connection.(*grpc.ClientConn))
	began := time.Now()
	host.Kill()
	fmt.Printf("end: %v, in time %v\n", host.Exited(), time.Since(began) < 10*time.Second)
}
