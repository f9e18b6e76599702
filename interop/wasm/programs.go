package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const (
	command = "./cmd/fingerprint"
	module  = "../.." // where lakebed lies from here
)

// programs are the two builds of one command.
type programs struct {
	nativePath string
	guestPath  string
}

func build(ctx context.Context, directory string) (*programs, error) {
	p := &programs{nativePath: filepath.Join(directory, "native"), guestPath: filepath.Join(directory, "guest.wasm")}
	if err := compile(ctx, p.nativePath); err != nil {
		return nil, err
	}
	return p, compile(ctx, p.guestPath, "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
}

func compile(ctx context.Context, to string, target ...string) error {
	c := exec.CommandContext(ctx, "go", "build", "-o", to, command)
	c.Dir, c.Env = module, append(os.Environ(), target...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s %v: %w\n%s", command, target, err, out)
	}
	return nil
}

func (p *programs) native(ctx context.Context, arguments []string) (string, error) {
	var problems bytes.Buffer
	c := exec.CommandContext(ctx, p.nativePath, arguments...)
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("run natively: %w\n%s", err, &problems)
	}
	return string(out), nil
}

// guest runs the wasip1 build. wazero's clocks are counters unless told otherwise, and no directory is mounted: all that
// the guest can learn from outside are its arguments and the bytes of its random source.
func (p *programs) guest(ctx context.Context, arguments []string, random uint64) (out string, err error) {
	text, err := os.ReadFile(p.guestPath)
	if err != nil {
		return "", fmt.Errorf("read the guest: %w", err)
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	defer func() { err = errors.Join(err, runtime.Close(context.WithoutCancel(ctx))) }()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return "", fmt.Errorf("give the guest its system: %w", err)
	}
	var printed, problems bytes.Buffer
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], random)
	config := wazero.NewModuleConfig().WithArgs(append([]string{"fingerprint"}, arguments...)...).
		WithStdout(&printed).WithStderr(&problems).WithRandSource(rand.NewChaCha8(seed))
	_, err = runtime.InstantiateWithConfig(ctx, text, config)
	var exit *sys.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 0) {
		return "", fmt.Errorf("run under wazero: %w\n%s", err, &problems)
	}
	return printed.String(), nil
}
