// The provider of Traefik by itself: prints a line "SERVICE URL RULE" for each server of a service, and an empty line
// behind those of one look. Services are exposed when their tags say so.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/traefik/paerser/types"
	"github.com/traefik/traefik/v2/pkg/config/dynamic"
	"github.com/traefik/traefik/v2/pkg/provider/nomad"
	"github.com/traefik/traefik/v2/pkg/safe"
)

func main() {
	var provider nomad.Provider
	provider.SetDefaults()
	provider.Endpoint.Address = os.Args[1]
	provider.RefreshInterval = types.Duration(200 * time.Millisecond)
	provider.ExposedByDefault = false
	looks := make(chan dynamic.Message)
	err := provider.Init()
	if err == nil {
		err = provider.Provide(looks, safe.NewPool(context.Background()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for look := range looks {
		for name, service := range look.Configuration.HTTP.Services {
			for _, server := range service.LoadBalancer.Servers {
				fmt.Println(name, server.URL, look.Configuration.HTTP.Routers[name].Rule)
			}
		}
		fmt.Println()
	}
}
