// Registry of OCI artefacts in memory, on loopback, for the test of the first run. It prints its address.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Println(listener.Addr())
		err = http.Serve(listener, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
