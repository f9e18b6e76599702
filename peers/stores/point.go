package stores

import (
	"fmt"
	"strings"
)

// Point is what is varied: the durability, the length of a payload, among how many partitions it goes, and how many
// appenders wait each for its own append.
type Point struct {
	Synced       bool `json:"synced"`
	PayloadBytes int  `json:"payload_bytes"`
	Partitions   int  `json:"partitions"`
	Appenders    int  `json:"appenders"`
}

// Durability is the word for when an append is acknowledged.
func (p Point) Durability() string {
	if p.Synced {
		return "synced"
	}
	return "unsynced"
}

// Name is the point's part of a cell's name.
func (p Point) Name() string {
	return fmt.Sprintf("%s/%s/%d/%d", p.Durability(), strings.ReplaceAll(SizeWords(p.PayloadBytes), " ", ""), p.Partitions, p.Appenders)
}

// SizeWords is a size as tables say it.
func SizeWords(bytes int) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d B", bytes)
}
