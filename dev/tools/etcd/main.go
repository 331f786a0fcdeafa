// Command etcd is the etcd server, built with the client libraries that this Kubernetes release was built with.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
