// Command registry serves an OCI registry from a folder: registry ADDRESS FOLDER CERTIFICATE KEY.
//
// It is distribution's registry with one driver for storage; its own command brings those of three clouds.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: registry ADDRESS FOLDER CERTIFICATE KEY")
	}
	app := handlers.NewApp(context.Background(), &configuration.Configuration{
		Storage: configuration.Storage{"filesystem": configuration.Parameters{"rootdirectory": os.Args[2]}},
	})
	log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[3], os.Args[4], app))
}
