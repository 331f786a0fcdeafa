// Command coredns is CoreDNS with the plugins that cluster DNS needs and no others.
package main

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

// The order is the order in which a query meets the plugins: template answers what kubernetes has left over.
func init() {
	dnsserver.Directives = []string{"ready", "health", "errors", "cache", "kubernetes", "template"}
}

func main() { coremain.Run() }
