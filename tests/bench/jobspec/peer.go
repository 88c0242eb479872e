// The peer of jobspec_bench: how long the Go implementation of HCL takes to parse a file, syntax alone. Prints the
// nanoseconds of the fastest of the given number of rounds.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	rounds, wrong := strconv.Atoi(os.Args[2])
	if err != nil || wrong != nil {
		os.Exit(1)
	}
	best := time.Duration(0)
	for i := 0; i < rounds; i++ {
		began := time.Now()
		_, problems := hclsyntax.ParseConfig(text, "job.hcl", hcl.InitialPos)
		took := time.Since(began)
		if problems.HasErrors() {
			os.Exit(1)
		}
		if best == 0 || took < best {
			best = took
		}
	}
	fmt.Println(best.Nanoseconds())
}
