// A host on Nomad's own plugin packages that drives a task driver of this tree as Nomad's client would: what it says of
// itself, its configuration, one task from start to end, a plugin that is killed under its task, errors.
//
//	host PROGRAM CONFIG TASK
//
// CONFIG and TASK are JSON objects: the plugin's own configuration and a task's, which must run until it is stopped.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/nomad/client/lib/fifo"
	"github.com/hashicorp/nomad/helper/pluginutils/hclspecutils"
	"github.com/hashicorp/nomad/helper/pluginutils/hclutils"
	"github.com/hashicorp/nomad/nomad/structs"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/drivers"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
)

const patience = 20 * time.Second

// What is written, by the plugin's schema: as the client does it.
func decode(spec *hclspec.Spec, text string) (cty.Value, error) {
	schema, diagnostics := hclspecutils.Convert(spec)
	if diagnostics.HasErrors() {
		return cty.NilVal, diagnostics
	}
	var written map[string]interface{}
	if err := json.Unmarshal([]byte(text), &written); err != nil {
		return cty.NilVal, err
	}
	value, diagnostics, errs := hclutils.ParseHclInterface(written, schema, nil)
	if diagnostics.HasErrors() {
		return cty.NilVal, fmt.Errorf("%v", errs)
	}
	return value, nil
}

// Over the protocol only the text says it, of a Go plugin too.
func isNotFound(err error) bool {
	return err != nil && strings.Contains(err.Error(), drivers.ErrTaskNotFound.Error())
}

type host struct {
	program string
	folder  string
	client  *goplugin.Client
	base    base.BasePlugin
	driver  drivers.DriverPlugin
}

func (h *host) launch(config string) error {
	h.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: base.Handshake,
		Plugins: map[string]goplugin.Plugin{
			base.PluginTypeBase:   &base.PluginBase{},
			base.PluginTypeDriver: drivers.NewDriverPlugin(nil, hclog.NewNullLogger()),
		},
		Cmd:              exec.Command(h.program),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	protocol, err := h.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(base.PluginTypeBase)
	if err != nil {
		return err
	}
	h.base = raw.(base.BasePlugin)
	if raw, err = protocol.Dispense(base.PluginTypeDriver); err != nil {
		return err
	}
	h.driver = raw.(drivers.DriverPlugin)
	schema, err := h.base.ConfigSchema()
	if err != nil {
		return err
	}
	var bytes []byte
	if schema != nil { // else it takes none
		value, err := decode(schema, config)
		if err != nil {
			return err
		}
		if bytes, err = msgpack.Marshal(value, value.Type()); err != nil {
			return err
		}
	}
	return h.base.SetConfig(&base.Config{
		PluginConfig: bytes,
		AgentConfig:  &base.AgentConfig{Driver: &base.ClientDriverConfig{ClientMinPort: 20000, ClientMaxPort: 32000}},
		ApiVersion:   drivers.ApiVersion010,
	})
}

// A task with its folders and log FIFOs, which somebody reads.
func (h *host) task(id, config string) (*drivers.TaskConfig, error) {
	schema, err := h.driver.TaskConfigSchema()
	if err != nil {
		return nil, err
	}
	value, err := decode(schema, config)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(h.folder, "alloc")
	for _, sub := range []string{"alloc/logs", "web/local", "web/secrets", "web/tmp"} {
		if err := os.MkdirAll(filepath.Join(folder, sub), 0o755); err != nil {
			return nil, err
		}
	}
	one := &drivers.TaskConfig{
		ID: id, JobName: "interop", TaskGroupName: "group", Name: "web", AllocID: "5f1c7d2e-0000-4000-8000-000000000001",
		Namespace: "default", NodeName: "here", NodeID: "5f1c7d2e-0000-4000-8000-000000000002",
		Env:      map[string]string{"NOMAD_TASK_NAME": "web", "NOMAD_ALLOC_DIR": filepath.Join(folder, "alloc")},
		AllocDir: folder, StdoutPath: filepath.Join(h.folder, "out"), StderrPath: filepath.Join(h.folder, "err"),
		Resources: &drivers.Resources{
			NomadResources: &structs.AllocatedTaskResources{
				Cpu:    structs.AllocatedCpuResources{CpuShares: 100},
				Memory: structs.AllocatedMemoryResources{MemoryMB: 64},
			},
			LinuxResources: &drivers.LinuxResources{CPUShares: 100, MemoryLimitBytes: 64 << 20},
		},
	}
	if err := one.EncodeDriverConfig(value); err != nil {
		return nil, err
	}
	for _, path := range []string{one.StdoutPath, one.StderrPath} {
		open, err := fifo.CreateAndRead(path)
		if err != nil {
			return nil, err
		}
		go func() {
			reader, err := open()
			if err != nil {
				return
			}
			buffer := make([]byte, 4096)
			for {
				if _, err := reader.Read(buffer); err != nil {
					return
				}
			}
		}()
	}
	return one, nil
}

func main() {
	if len(os.Args) != 4 || !json.Valid([]byte(os.Args[2])) || !json.Valid([]byte(os.Args[3])) {
		fmt.Fprintln(os.Stderr, "usage: host PROGRAM CONFIG TASK")
		os.Exit(2)
	}
	folder, err := os.MkdirTemp("", "nomad-host")
	if err == nil {
		h := &host{program: os.Args[1], folder: folder}
		err = h.run(os.Args[2], os.Args[3])
		if h.client != nil {
			h.client.Kill()
		}
		os.RemoveAll(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
	fmt.Println("the driver does what this host expects")
}

func (h *host) run(config, taskConfig string) error {
	if err := h.launch(config); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	info, err := h.base.PluginInfo()
	if err != nil {
		return fmt.Errorf("PluginInfo: %w", err)
	}
	if info.Type != base.PluginTypeDriver || len(info.PluginApiVersions) == 0 || info.PluginApiVersions[0] != drivers.ApiVersion010 {
		return fmt.Errorf("PluginInfo says %+v", info)
	}
	fmt.Println("driver", info.Name, info.PluginVersion)
	capabilities, err := h.driver.Capabilities()
	if err != nil {
		return fmt.Errorf("Capabilities: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	prints, err := h.driver.Fingerprint(ctx)
	if err != nil {
		return fmt.Errorf("Fingerprint: %w", err)
	}
	print := <-prints
	if print == nil || print.Err != nil || print.Health != drivers.HealthStateHealthy || len(print.Attributes) == 0 {
		return fmt.Errorf("Fingerprint says %+v", print)
	}

	const id = "5f1c7d2e-0000-4000-8000-000000000001/web/9c41f7be"
	if _, err := h.driver.InspectTask(id); !isNotFound(err) {
		return fmt.Errorf("InspectTask of an unknown task: %v", err)
	}
	one, err := h.task(id, taskConfig)
	if err != nil {
		return err
	}
	handle, _, err := h.driver.StartTask(one)
	if err != nil {
		return fmt.Errorf("StartTask: %w", err)
	}
	if _, _, err := h.driver.StartTask(one); err == nil {
		return errors.New("a task was started twice")
	}
	status, err := h.driver.InspectTask(id)
	if err != nil || status.State != drivers.TaskStateRunning {
		return fmt.Errorf("InspectTask: %+v, %v", status, err)
	}
	usage, err := h.driver.TaskStats(ctx, id, 200*time.Millisecond)
	if err != nil {
		return fmt.Errorf("TaskStats: %w", err)
	}
	if sample := <-usage; sample == nil || sample.ResourceUsage == nil || sample.ResourceUsage.MemoryStats == nil {
		return fmt.Errorf("TaskStats says %+v", sample)
	}
	if capabilities.SendSignals {
		if err := h.driver.SignalTask(id, "SIGCONT"); err != nil {
			return fmt.Errorf("SignalTask: %w", err)
		}
	}

	// The program dies, the task does not: the next program finds it by its handle.
	if reattach := h.client.ReattachConfig(); reattach == nil || syscall.Kill(reattach.Pid, syscall.SIGKILL) != nil {
		return errors.New("the plugin cannot be killed")
	}
	for end := time.Now().Add(patience); !h.client.Exited(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("the plugin was killed and does not end")
		}
	}
	if err := h.launch(config); err != nil {
		return fmt.Errorf("launch after a kill: %w", err)
	}
	if err := h.driver.RecoverTask(handle); err != nil {
		return fmt.Errorf("RecoverTask: %w", err)
	}
	waiting, err := h.driver.WaitTask(ctx, id)
	if err != nil {
		return fmt.Errorf("WaitTask: %w", err)
	}
	if err := h.driver.StopTask(id, 5*time.Second, "SIGTERM"); err != nil {
		return fmt.Errorf("StopTask: %w", err)
	}
	select {
	case result := <-waiting:
		if result == nil || result.Err != nil {
			return fmt.Errorf("WaitTask says %+v", result)
		}
	case <-time.After(patience):
		return errors.New("WaitTask does not end with its task")
	}
	if status, err = h.driver.InspectTask(id); err != nil || status.State != drivers.TaskStateExited {
		return fmt.Errorf("InspectTask of an ended task: %+v, %v", status, err)
	}
	if err := h.driver.DestroyTask(id, false); err != nil {
		return fmt.Errorf("DestroyTask: %w", err)
	}
	if err := h.driver.StopTask(id, time.Second, ""); !isNotFound(err) {
		return fmt.Errorf("StopTask of a destroyed task: %v", err)
	}
	return nil
}
