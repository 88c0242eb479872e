// A device plugin on Nomad's own plugin packages, as their documentation has authors write one: two instances of a
// device that is a number.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/plugins"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"
	"github.com/hashicorp/nomad/plugins/shared/structs"
)

type numbers struct {
	logger hclog.Logger
	config struct {
		Unhealthy string `codec:"unhealthy"`
	}
}

func (n *numbers) PluginInfo() (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{
		Type:              base.PluginTypeDevice,
		PluginApiVersions: []string{device.ApiVersion010},
		PluginVersion:     "v0.3.0",
		Name:              "numbers",
	}, nil
}

func (n *numbers) ConfigSchema() (*hclspec.Spec, error) {
	return hclspec.NewObject(map[string]*hclspec.Spec{
		"unhealthy": hclspec.NewDefault(hclspec.NewAttr("unhealthy", "string", false), hclspec.NewLiteral(`""`)),
	}), nil
}

func (n *numbers) SetConfig(c *base.Config) error {
	if len(c.PluginConfig) == 0 {
		return nil
	}
	return base.MsgPackDecode(c.PluginConfig, &n.config)
}

func (n *numbers) groups() []*device.DeviceGroup {
	var devices []*device.Device
	for _, id := range []string{"one", "two"} {
		one := &device.Device{ID: id, Healthy: id != n.config.Unhealthy, HwLocality: &device.DeviceLocality{PciBusID: "0000:00:" + id}}
		if !one.Healthy {
			one.HealthDesc = "switched off by the operator"
		}
		devices = append(devices, one)
	}
	size := int64(16)
	return []*device.DeviceGroup{{
		Vendor: "acme", Type: "number", Name: "small", Devices: devices,
		Attributes: map[string]*structs.Attribute{"memory": {Int: &size, Unit: structs.UnitGiB}},
	}}
}

func (n *numbers) Fingerprint(ctx context.Context) (<-chan *device.FingerprintResponse, error) {
	out := make(chan *device.FingerprintResponse)
	go func() {
		defer close(out)
		for {
			select {
			case out <- device.NewFingerprint(n.groups()...):
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

func (n *numbers) Reserve(ids []string) (*device.ContainerReservation, error) {
	text := ""
	for _, id := range ids {
		if id != "one" && id != "two" {
			return nil, fmt.Errorf("unknown device ID: %q", id)
		}
		if text != "" {
			text += ","
		}
		text += id
	}
	n.logger.Info("reserved", "ids", text)
	return &device.ContainerReservation{Envs: map[string]string{"NUMBERS": text}}, nil
}

func (n *numbers) Stats(ctx context.Context, interval time.Duration) (<-chan *device.StatsResponse, error) {
	out := make(chan *device.StatsResponse)
	go func() {
		defer close(out)
		for i := int64(0); ; i++ {
			count := i
			stats := &device.DeviceStats{
				Summary:   &structs.StatValue{IntNumeratorVal: &count, Unit: "uses", Desc: "how often it was looked at"},
				Stats:     &structs.StatObject{},
				Timestamp: time.Now(),
			}
			group := &device.DeviceGroupStats{Vendor: "acme", Type: "number", Name: "small",
				InstanceStats: map[string]*device.DeviceStats{"one": stats, "two": stats}}
			select {
			case out <- &device.StatsResponse{Groups: []*device.DeviceGroupStats{group}}:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(interval):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func main() {
	plugins.Serve(func(logger hclog.Logger) interface{} { return &numbers{logger: logger} })
}
