// A task driver on Nomad's own plugin packages, as their documentation has authors write one. A task is a shell script; its
// process outlives the plugin, which finds it again by its number.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/helper/pluginutils/hclutils"
	"github.com/hashicorp/nomad/plugins"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/drivers"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"
	"github.com/hashicorp/nomad/plugins/shared/structs"
)

const name = "goscript"

var capabilities = &drivers.Capabilities{SendSignals: true, Exec: true, FSIsolation: drivers.FSIsolationNone}

type taskConfig struct {
	Script string             `codec:"script"`
	Labels hclutils.MapStrStr `codec:"labels"`
}

// What a handle keeps.
type taskState struct {
	Pid     int
	Started time.Time
}

type task struct {
	config  *drivers.TaskConfig
	state   taskState
	done    chan struct{}
	result  *drivers.ExitResult // set before done is closed
	endedAt time.Time
}

type driver struct {
	logger hclog.Logger
	config struct {
		Greeting string `codec:"greeting"`
	}
	mutex sync.Mutex
	tasks map[string]*task
}

func (d *driver) PluginInfo() (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{
		Type:              base.PluginTypeDriver,
		PluginApiVersions: []string{drivers.ApiVersion010},
		PluginVersion:     "0.2.0",
		Name:              name,
	}, nil
}

func (d *driver) ConfigSchema() (*hclspec.Spec, error) {
	return hclspec.NewObject(map[string]*hclspec.Spec{
		"greeting": hclspec.NewDefault(hclspec.NewAttr("greeting", "string", false), hclspec.NewLiteral(`"hello"`)),
	}), nil
}

func (d *driver) SetConfig(c *base.Config) error {
	if len(c.PluginConfig) == 0 {
		return nil
	}
	return base.MsgPackDecode(c.PluginConfig, &d.config)
}

func (d *driver) TaskConfigSchema() (*hclspec.Spec, error) {
	return hclspec.NewObject(map[string]*hclspec.Spec{
		"script": hclspec.NewAttr("script", "string", true),
		"labels": hclspec.NewAttr("labels", "list(map(string))", false),
	}), nil
}

func (d *driver) Capabilities() (*drivers.Capabilities, error) { return capabilities, nil }

func (d *driver) Fingerprint(ctx context.Context) (<-chan *drivers.Fingerprint, error) {
	out := make(chan *drivers.Fingerprint)
	go func() {
		defer close(out)
		for {
			print := &drivers.Fingerprint{
				Attributes: map[string]*structs.Attribute{
					"driver." + name:               structs.NewBoolAttribute(true),
					"driver." + name + ".greeting": structs.NewStringAttribute(d.config.Greeting),
				},
				Health:            drivers.HealthStateHealthy,
				HealthDescription: drivers.DriverHealthy,
			}
			select {
			case out <- print:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (d *driver) find(id string) (*task, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if found, ok := d.tasks[id]; ok {
		return found, nil
	}
	return nil, drivers.ErrTaskNotFound
}

func (d *driver) add(one *task) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.tasks[one.config.ID] = one
}

func (t *task) end(result *drivers.ExitResult) {
	t.result = result
	t.endedAt = time.Now()
	close(t.done)
}

func (d *driver) StartTask(config *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.DriverNetwork, error) {
	if _, err := d.find(config.ID); err == nil {
		return nil, nil, fmt.Errorf("task with ID %q already started", config.ID)
	}
	var wanted taskConfig
	if err := config.DecodeDriverConfig(&wanted); err != nil {
		return nil, nil, fmt.Errorf("failed to decode driver config: %v", err)
	}
	stdout, err := os.OpenFile(config.StdoutPath, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer stdout.Close()
	stderr, err := os.OpenFile(config.StderrPath, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer stderr.Close()
	command := exec.Command("/bin/sh", "-c", wanted.Script)
	command.Dir = config.TaskDir().Dir
	command.Env = append(config.EnvList(), "GREETING="+d.config.Greeting, "LABEL="+wanted.Labels["label"])
	command.Stdout, command.Stderr = stdout, stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	one := &task{config: config, state: taskState{Pid: command.Process.Pid, Started: time.Now()}, done: make(chan struct{})}
	handle := drivers.NewTaskHandle(1)
	handle.Config = config
	handle.State = drivers.TaskStateRunning
	if err := handle.SetDriverState(&one.state); err != nil {
		_ = command.Process.Kill()
		return nil, nil, err
	}
	d.add(one)
	d.logger.Info("a script runs", "pid", one.state.Pid)
	go func() {
		err := command.Wait()
		result := &drivers.ExitResult{ExitCode: command.ProcessState.ExitCode()}
		if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			result.ExitCode, result.Signal = 128+int(status.Signal()), int(status.Signal())
		}
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			result.Err = err
		}
		one.end(result)
	}()
	return handle, nil, nil
}

func (d *driver) RecoverTask(handle *drivers.TaskHandle) error {
	if handle == nil {
		return errors.New("handle cannot be nil")
	}
	if _, err := d.find(handle.Config.ID); err == nil {
		return nil
	}
	one := &task{config: handle.Config, done: make(chan struct{})}
	if err := handle.GetDriverState(&one.state); err != nil {
		return err
	}
	if syscall.Kill(one.state.Pid, 0) != nil {
		return drivers.ErrTaskNotFound
	}
	d.add(one)
	go func() { // another's child by now: its exit code is lost
		for syscall.Kill(one.state.Pid, 0) == nil {
			time.Sleep(50 * time.Millisecond)
		}
		one.end(&drivers.ExitResult{})
	}()
	return nil
}

func (d *driver) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	one, err := d.find(id)
	if err != nil {
		return nil, err
	}
	out := make(chan *drivers.ExitResult)
	go func() {
		defer close(out)
		select {
		case <-one.done:
		case <-ctx.Done():
			return
		}
		select {
		case out <- one.result:
		case <-ctx.Done():
		}
	}()
	return out, nil
}

func (t *task) kill(signal syscall.Signal) { _ = syscall.Kill(-t.state.Pid, signal) }

func (d *driver) StopTask(id string, timeout time.Duration, _ string) error {
	one, err := d.find(id)
	if err != nil {
		return err
	}
	one.kill(syscall.SIGTERM)
	select {
	case <-one.done:
	case <-time.After(timeout):
		one.kill(syscall.SIGKILL)
		<-one.done
	}
	return nil
}

func (d *driver) DestroyTask(id string, force bool) error {
	one, err := d.find(id)
	if err != nil {
		return err
	}
	select {
	case <-one.done:
	default:
		if !force {
			return errors.New("cannot destroy running task")
		}
		one.kill(syscall.SIGKILL)
		<-one.done
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.tasks, id)
	return nil
}

func (d *driver) InspectTask(id string) (*drivers.TaskStatus, error) {
	one, err := d.find(id)
	if err != nil {
		return nil, err
	}
	status := &drivers.TaskStatus{ID: id, Name: one.config.Name, State: drivers.TaskStateRunning, StartedAt: one.state.Started,
		DriverAttributes: map[string]string{"pid": fmt.Sprint(one.state.Pid)}}
	select {
	case <-one.done:
		status.State, status.CompletedAt, status.ExitResult = drivers.TaskStateExited, one.endedAt, one.result
	default:
	}
	return status, nil
}

func (d *driver) TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	one, err := d.find(id)
	if err != nil {
		return nil, err
	}
	out := make(chan *drivers.TaskResourceUsage)
	go func() {
		defer close(out)
		for {
			usage := &drivers.TaskResourceUsage{
				ResourceUsage: &drivers.ResourceUsage{
					MemoryStats: &drivers.MemoryStats{RSS: 1 << 20, Measured: []string{"RSS"}},
					CpuStats:    &drivers.CpuStats{Percent: 1, Measured: []string{"Percent"}},
				},
				Timestamp: time.Now().UnixNano(),
			}
			select {
			case out <- usage:
			case <-one.done:
				return
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(interval):
			case <-one.done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (d *driver) TaskEvents(ctx context.Context) (<-chan *drivers.TaskEvent, error) {
	out := make(chan *drivers.TaskEvent)
	go func() {
		<-ctx.Done()
		close(out)
	}()
	return out, nil
}

func (d *driver) SignalTask(id string, signal string) error {
	one, err := d.find(id)
	if err != nil {
		return err
	}
	known := map[string]syscall.Signal{"SIGUSR1": syscall.SIGUSR1, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP, "SIGCONT": syscall.SIGCONT}
	number, ok := known[signal]
	if !ok {
		return fmt.Errorf("unknown signal %q", signal)
	}
	one.kill(number)
	return nil
}

func (d *driver) ExecTask(id string, command []string, timeout time.Duration) (*drivers.ExecTaskResult, error) {
	if _, err := d.find(id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	result := &drivers.ExecTaskResult{Stdout: out, ExitResult: &drivers.ExitResult{}}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		result.Stderr, result.ExitResult.ExitCode = ended.Stderr, ended.ExitCode()
	} else if err != nil {
		return nil, err
	}
	return result, nil
}

func main() {
	plugins.Serve(func(logger hclog.Logger) interface{} { return &driver{logger: logger, tasks: map[string]*task{}} })
}
