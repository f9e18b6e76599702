package seglog

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"lakebed/engine/host"
)

const (
	topicFileName  = "topic"
	topicMagic     = "LAKEBED-TOPIC 1 "
	topicBytesMax  = 1 << 20
	topicNameBytes = 200
)

// settings are what a topic's file holds.
type settings struct {
	Name           string   `json:"name"`
	Version        int64    `json:"version"`
	RetentionNanos int64    `json:"retention_nanos"`
	RetentionBytes int64    `json:"retention_bytes"`
	Volumes        []string `json:"volumes"` // of partition 0, 1 and so on
}

func (s *settings) retention() time.Duration { return time.Duration(s.RetentionNanos) }

func (s *settings) encode() ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%s%08x\n", topicMagic, topicSum(body)), body...), nil
}

func topicSum(body []byte) uint32 {
	return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
}

// parseSettings decodes a topic's file.
func parseSettings(b []byte, name string) (settings, error) {
	var s settings
	line, body, _ := strings.Cut(string(b), "\n")
	if line != fmt.Sprintf("%s%08x", topicMagic, topicSum([]byte(body))) {
		return s, fmt.Errorf("file of topic %s has a bad first line: %w", name, ErrCorrupt)
	}
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		return s, fmt.Errorf("file of topic %s: %w: %w", name, ErrCorrupt, err)
	}
	if s.Name != name || len(s.Volumes) == 0 || s.RetentionNanos < 0 || s.RetentionBytes < 0 {
		return s, fmt.Errorf("file of topic %s has impossible settings: %w", name, ErrCorrupt)
	}
	return s, nil
}

// readSettings reads a topic's file. Not ok: there is none.
func readSettings(dir host.Dir, name string) (s settings, ok bool, err error) {
	f, err := dir.Open(topicFileName)
	if errors.Is(err, host.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Size()
	if err != nil {
		return s, false, err
	}
	if size > topicBytesMax {
		return s, false, fmt.Errorf("file of topic %s has %d bytes: %w", name, size, ErrCorrupt)
	}
	b := make([]byte, size)
	if _, err := host.ReadFull(f, b, 0); err != nil && err != io.ErrUnexpectedEOF {
		return s, false, fmt.Errorf("read the file of topic %s: %w", name, err)
	}
	s, err = parseSettings(b, name)
	return s, err == nil, err
}

// checkTopicName refuses what could not be a directory everywhere.
func checkTopicName(name string) error {
	bad := name == "" || len(name) > topicNameBytes || name[0] == '.'
	for _, c := range name {
		bad = bad || !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c))
	}
	if bad {
		return fmt.Errorf("topic name %q: want 1 to %d letters, digits, points, dashes and underscores, no point first: %w", name, topicNameBytes, ErrInvalid)
	}
	return nil
}
