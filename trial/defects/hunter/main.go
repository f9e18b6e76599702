// Command hunter hunts for one planted bug and says what it has found. It is built with the overlay of package defects
// and started by it; its argument is a defects.Hunt and its output a defects.Catch, both JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"lakebed/trial/defects"
)

func main() {
	if err := hunt(); err != nil {
		fmt.Fprintf(os.Stderr, "hunter: %v\n", err)
		os.Exit(1)
	}
}

func hunt() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want one argument, a hunt as JSON")
	}
	var h defects.Hunt
	if err := json.Unmarshal([]byte(os.Args[1]), &h); err != nil {
		return fmt.Errorf("read the hunt: %w", err)
	}
	found, err := h.Run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}
