//go:build tools

// Package prometheus pins the programs that check the chart's alerts and dashboards.
package prometheus

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
