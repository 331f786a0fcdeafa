//go:build tools

// Package helm4 pins a Helm that people install the chart with, beside that of the local cluster.
package helm4

import _ "helm.sh/helm/v4/cmd/helm"
