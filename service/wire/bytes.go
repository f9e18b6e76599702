package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bytes are any bytes. In JSON those that are UTF-8 are a string, others an object with the member base64.
type Bytes []byte

type encodedBytes struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON encodes b so that every byte comes back.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if !utf8.Valid(b) {
		return json.Marshal(encodedBytes{b})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(string(b)); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// UnmarshalJSON takes either form. A string that is no text, or has an escape that is half of a character, is refused: the
// library would replace that in silence.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if loneSurrogate(text) || !utf8.Valid(text) {
			return fmt.Errorf("%q is no text: send such bytes as base64", text)
		}
		*b = Bytes(s)
		return nil
	}
	var e *encodedBytes
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return fmt.Errorf("bytes are a string or {\"base64\": …}: %w", err)
	}
	if e == nil || e.Base64 == nil {
		return fmt.Errorf("bytes are a string or {\"base64\": …}, not %s", text)
	}
	*b = e.Base64
	return nil
}

// loneSurrogate reports whether a JSON string has an escape \uD800 to \uDFFF that is not half of a pair.
func loneSurrogate(text []byte) bool {
	high := false // the escape just before was a high one
	for i := 0; i < len(text); i++ {
		unit, escaped := 0, text[i] == '\\'
		if escaped && i+5 < len(text) && text[i+1] == 'u' {
			if _, err := fmt.Sscanf(string(text[i+2:i+6]), "%04x", &unit); err != nil {
				return true
			}
			i += 5
		} else if escaped {
			i++
		}
		low := unit >= 0xDC00 && unit < 0xE000
		if low != high {
			return true
		}
		high = unit >= 0xD800 && unit < 0xDC00
	}
	return high
}
