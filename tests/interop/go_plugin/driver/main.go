// A task driver in Go on Debian's go-plugin: its tasks are goroutines that wait to be stopped. Serves in the clear or
// over TLS, as its host asks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	base "wire/base/nomad/plugins"
	driver "wire/driver/nomad/plugins"
	structs "wire/structs/nomad/plugins"
)

var errUnknownTask = errors.New("task not found for given id")

type task struct {
	config  *driver.TaskConfig
	started time.Time
	ended   chan struct{}
	once    sync.Once
	result  *driver.ExitResult
}

func (t *task) end(code int32, signal int32) {
	t.once.Do(func() {
		t.result = &driver.ExitResult{ExitCode: code, Signal: signal}
		close(t.ended)
	})
}

func (t *task) isEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

type server struct {
	base.UnimplementedBasePluginServer
	driver.UnimplementedDriverServer
	mutex  sync.Mutex
	tasks  map[string]*task
	events chan *driver.DriverTaskEvent
}

func (s *server) find(id string) (*task, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t, ok := s.tasks[id]; ok {
		return t, nil
	}
	return nil, errUnknownTask
}

func (s *server) PluginInfo(context.Context, *base.PluginInfoRequest) (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{
		Type: base.PluginType_DRIVER, PluginApiVersions: []string{"v0.1.0"}, PluginVersion: "1.2.3", Name: "gopher",
	}, nil
}

func (s *server) ConfigSchema(context.Context, *base.ConfigSchemaRequest) (*base.ConfigSchemaResponse, error) {
	return &base.ConfigSchemaResponse{}, nil
}

func (s *server) SetConfig(context.Context, *base.SetConfigRequest) (*base.SetConfigResponse, error) {
	return &base.SetConfigResponse{}, nil
}

func (s *server) TaskConfigSchema(context.Context, *driver.TaskConfigSchemaRequest) (*driver.TaskConfigSchemaResponse, error) {
	return &driver.TaskConfigSchemaResponse{}, nil
}

func (s *server) Capabilities(context.Context, *driver.CapabilitiesRequest) (*driver.CapabilitiesResponse, error) {
	return &driver.CapabilitiesResponse{Capabilities: &driver.DriverCapabilities{
		SendSignals: true, Exec: true, MustCreateNetwork: true,
		NetworkIsolationModes: []driver.NetworkIsolationSpec_NetworkIsolationMode{driver.NetworkIsolationSpec_GROUP},
	}}, nil
}

func (s *server) Fingerprint(_ *driver.FingerprintRequest, stream driver.Driver_FingerprintServer) error {
	err := stream.Send(&driver.FingerprintResponse{
		Attributes: map[string]*structs.Attribute{
			"driver.gopher": {Value: &structs.Attribute_StringVal{StringVal: "1"}},
		},
		Health: driver.FingerprintResponse_HEALTHY, HealthDescription: "Healthy",
	})
	if err == nil {
		<-stream.Context().Done()
	}
	return err
}

func (s *server) keep(config *driver.TaskConfig) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, ok := s.tasks[config.Id]; ok {
		return fmt.Errorf("task %s was started before", config.Id)
	}
	s.tasks[config.Id] = &task{config: config, started: time.Now(), ended: make(chan struct{})}
	return nil
}

func (s *server) StartTask(_ context.Context, request *driver.StartTaskRequest) (*driver.StartTaskResponse, error) {
	if err := s.keep(request.Task); err != nil {
		return nil, err
	}
	s.events <- &driver.DriverTaskEvent{
		TaskId: request.Task.Id, AllocId: request.Task.AllocId, TaskName: request.Task.Name,
		Timestamp: ptypes.TimestampNow(), Message: "dug a hole", Annotations: map[string]string{"depth": "3"},
	}
	return &driver.StartTaskResponse{Handle: &driver.TaskHandle{
		Version: 1, Config: request.Task, State: driver.TaskState_RUNNING, DriverState: []byte("hole"),
	}}, nil
}

func (s *server) RecoverTask(_ context.Context, request *driver.RecoverTaskRequest) (*driver.RecoverTaskResponse, error) {
	if _, err := s.find(request.Handle.Config.Id); err == nil {
		return &driver.RecoverTaskResponse{}, nil
	}
	return &driver.RecoverTaskResponse{}, s.keep(request.Handle.Config)
}

func (s *server) WaitTask(ctx context.Context, request *driver.WaitTaskRequest) (*driver.WaitTaskResponse, error) {
	t, err := s.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.ended:
		return &driver.WaitTaskResponse{Result: t.result}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *server) StopTask(_ context.Context, request *driver.StopTaskRequest) (*driver.StopTaskResponse, error) {
	t, err := s.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	if _, err := ptypes.Duration(request.Timeout); err != nil {
		return nil, err
	}
	t.end(130, 2)
	return &driver.StopTaskResponse{}, nil
}

func (s *server) DestroyTask(_ context.Context, request *driver.DestroyTaskRequest) (*driver.DestroyTaskResponse, error) {
	t, err := s.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	if !t.isEnded() && !request.Force {
		return nil, errors.New("the task is running")
	}
	t.end(137, 9)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.tasks, request.TaskId)
	return &driver.DestroyTaskResponse{}, nil
}

func (s *server) InspectTask(_ context.Context, request *driver.InspectTaskRequest) (*driver.InspectTaskResponse, error) {
	t, err := s.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	started, err := ptypes.TimestampProto(t.started)
	if err != nil {
		return nil, err
	}
	status := &driver.TaskStatus{Id: t.config.Id, Name: t.config.Name, State: driver.TaskState_RUNNING,
		StartedAt: started, CompletedAt: started, Result: &driver.ExitResult{}}
	if t.isEnded() {
		status.State, status.Result = driver.TaskState_EXITED, t.result
	}
	return &driver.InspectTaskResponse{Task: status, Driver: &driver.TaskDriverStatus{}}, nil
}

func (s *server) TaskEvents(_ *driver.TaskEventsRequest, stream driver.Driver_TaskEventsServer) error {
	for {
		select {
		case event := <-s.events:
			if err := stream.Send(event); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (s *server) SignalTask(_ context.Context, request *driver.SignalTaskRequest) (*driver.SignalTaskResponse, error) {
	_, err := s.find(request.TaskId)
	return &driver.SignalTaskResponse{}, err
}

func (s *server) ExecTask(_ context.Context, request *driver.ExecTaskRequest) (*driver.ExecTaskResponse, error) {
	if _, err := s.find(request.TaskId); err != nil {
		return nil, err
	}
	if _, err := ptypes.Duration(request.Timeout); err != nil {
		return nil, err
	}
	return &driver.ExecTaskResponse{Stdout: []byte(strings.Join(request.Command, " ")),
		Result: &driver.ExitResult{ExitCode: 4}}, nil
}

// Says back what it hears in capitals, and the size of the terminal; the end of the input ends it.
func (s *server) ExecTaskStreaming(stream driver.Driver_ExecTaskStreamingServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if _, err := s.find(first.GetSetup().GetTaskId()); err != nil {
		return err
	}
	say := func(text string, isLast bool) error {
		return stream.Send(&driver.ExecTaskStreamingResponse{
			Stdout: &driver.ExecTaskStreamingIOOperation{Data: []byte(text), Close: isLast}})
	}
	for {
		request, err := stream.Recv()
		if err == io.EOF || (err == nil && request.GetStdin().GetClose()) {
			break
		}
		if err != nil {
			return err
		}
		if size := request.GetTtySize(); size != nil {
			err = say(fmt.Sprintf("%dx%d;", size.Height, size.Width), false)
		} else if data := request.GetStdin().GetData(); len(data) > 0 {
			err = say(strings.ToUpper(string(data)), false)
		}
		if err != nil {
			return err
		}
	}
	if err := say("", true); err != nil {
		return err
	}
	return stream.Send(&driver.ExecTaskStreamingResponse{Exited: true, Result: &driver.ExitResult{ExitCode: 5}})
}

func (s *server) CreateNetwork(_ context.Context, request *driver.CreateNetworkRequest) (*driver.CreateNetworkResponse, error) {
	return &driver.CreateNetworkResponse{Created: true, IsolationSpec: &driver.NetworkIsolationSpec{
		Mode: driver.NetworkIsolationSpec_GROUP, Path: "/burrow/" + request.AllocId,
		Labels: map[string]string{"burrow": "deep"}}}, nil
}

func (s *server) DestroyNetwork(_ context.Context, request *driver.DestroyNetworkRequest) (*driver.DestroyNetworkResponse, error) {
	if request.GetIsolationSpec().GetPath() != "/burrow/"+request.AllocId {
		return nil, errors.New("this is another's burrow")
	}
	return &driver.DestroyNetworkResponse{}, nil
}

type gopher struct {
	plugin.NetRPCUnsupportedPlugin
}

func (gopher) GRPCServer(_ *plugin.GRPCBroker, g *grpc.Server) error {
	s := &server{tasks: map[string]*task{}, events: make(chan *driver.DriverTaskEvent, 64)}
	base.RegisterBasePluginServer(g, s)
	driver.RegisterDriverServer(g, s)
	return nil
}

func (gopher) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (interface{}, error) {
	return nil, errors.New("this program is a plugin only")
}

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  2,
			MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		VersionedPlugins: map[int]plugin.PluginSet{2: {"driver": gopher{}}},
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}
