package messages

import (
	"fmt"
	"slices"
	"strings"

	"lakebed/service/wire"
)

// tagsMax bounds the tags of one expression.
const tagsMax = 64

// Expression says which tags are wanted, in RocketMQ's form: "TagA || TagB". Empty, or "*": all messages, with and without a tag.
type Expression string

// Tags are the tags of an expression, each once; none stands for all messages.
func (e Expression) Tags() ([]string, error) {
	text := strings.TrimSpace(string(e))
	if text == "" || text == "*" {
		return nil, nil
	}
	var tags []string
	for part := range strings.SplitSeq(text, "||") {
		tag := strings.TrimSpace(part)
		switch {
		case tag == "" || tag == "*":
			return nil, fmt.Errorf("tags %q: want tags with || between them, or * alone: %w", e, wire.Invalid)
		case slices.Contains(tags, tag):
		case len(tags) == tagsMax:
			return nil, fmt.Errorf("tags %q: more than %d: %w", e, tagsMax, wire.Invalid)
		default:
			tags = append(tags, tag)
		}
	}
	return tags, nil
}
