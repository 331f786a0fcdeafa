//go:build tools

// Package helm3 pins a Helm that people install the chart with, beside that of the local cluster.
package helm3

import _ "helm.sh/helm/v3/cmd/helm"
