package oshost

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"lakebed/engine/host"
)

// Log hands a line to the slog handler. The record names the engine's line as its source, not this one.
func (h *Host) Log(level host.Level, message string, fields ...host.Field) {
	ctx := context.Background()
	if !h.log.Enabled(ctx, slog.Level(level)) {
		return
	}
	var caller [1]uintptr
	runtime.Callers(2, caller[:]) // skips Callers and Log itself
	record := slog.NewRecord(time.Now(), slog.Level(level), message, caller[0])
	for _, field := range fields {
		record.AddAttrs(slog.Any(field.Key, field.Value))
	}
	// A handler that cannot write has nowhere to say so; a node does not stop for a lost log line.
	_ = h.log.Handle(ctx, record)
}
