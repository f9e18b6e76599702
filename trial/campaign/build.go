package campaign

import (
	"runtime"
	"runtime/debug"
)

// Build says what program this is. Only the same program gives the same traces.
type Build struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"` // of the sources, where the build knew it
	Modified bool   `json:"modified,omitempty"` // the sources were changed since
}

// ThisBuild describes the running program.
func ThisBuild() Build {
	b := Build{Module: "lakebed", Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Path != "" {
		b.Module = info.Main.Path
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
