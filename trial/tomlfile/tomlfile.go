// Package tomlfile reads the TOML files that people write for the laboratory: scenarios and hypotheses. A key that nobody
// knows is a typing error, and an error here: passed over in silence it would leave a default in its place.
package tomlfile

import (
	"bytes"

	"github.com/pelletier/go-toml/v2"
)

// Decode reads text into what v points to. Unknown keys are errors, with their lines.
func Decode(text []byte, v any) error {
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
