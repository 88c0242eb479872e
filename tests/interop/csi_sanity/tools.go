//go:build tools

// Names the program that csi_sanity_test.sh builds, so that go.mod keeps what it needs.
package tools

import _ "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity"
