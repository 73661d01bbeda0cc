// Validates a Compose file with the loader of Docker Compose, and prints the model as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:])
	if err == nil {
		var model map[string]any
		if model, err = options.LoadModel(context.Background()); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(model)
		}
	}
	if err == nil {
		// Resolves anchors, paths and dependencies between services.
		_, err = options.LoadProject(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
