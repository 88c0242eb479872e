// The discovery of Prometheus by itself: prints a line "SERVICE ADDRESS TAGS NAMESPACE DATACENTER" for each target, and
// an empty line behind those of one look.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/nomad"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

func main() {
	settings := nomad.DefaultSDConfig
	settings.Server = os.Args[1]
	settings.RefreshInterval = model.Duration(200 * time.Millisecond)
	settings.HTTPClientConfig = config.DefaultHTTPClientConfig
	discovery, err := nomad.NewDiscovery(&settings, log.NewLogfmtLogger(os.Stderr))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	looks := make(chan []*targetgroup.Group)
	go discovery.Run(context.Background(), looks)
	for look := range looks {
		for _, group := range look {
			for _, target := range group.Targets {
				fmt.Println(target["__meta_nomad_service"], target["__address__"], target["__meta_nomad_tags"],
					target["__meta_nomad_namespace"], target["__meta_nomad_dc"])
			}
		}
		fmt.Println()
	}
}
