package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// fileBytesMax bounds what is read of one file. A long run with a thousand cells of twenty rounds is about a megabyte.
const fileBytesMax = 64 << 20

// ErrNotResult is the class of files that hold something else than results, or results that must not be trusted.
var ErrNotResult = errors.New("not a result")

// WriteJSON writes a result as one JSON object. It refuses what ReadResult would refuse: a file that nobody can read again
// is worse than none.
func WriteJSON(w io.Writer, r *Result) error {
	if err := r.Check(); err != nil {
		return fmt.Errorf("write result %q: %w", r.ID, err)
	}
	return encode(w, r)
}

// WriteAllJSON writes several results as one JSON list.
func WriteAllJSON(w io.Writer, results []Result) error {
	for i := range results {
		if err := results[i].Check(); err != nil {
			return fmt.Errorf("write result %q: %w", results[i].ID, err)
		}
	}
	return encode(w, results)
}

func encode(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// ReadResult reads a file with one result.
func ReadResult(path string) (Result, error) {
	results, err := ReadResults(path)
	if err != nil {
		return Result{}, err
	}
	if len(results) != 1 {
		return Result{}, fmt.Errorf("%s is %w: it is a list of %d of them", path, ErrNotResult, len(results))
	}
	return results[0], nil
}

// ReadResults reads a file with one result or with a list of them.
func ReadResults(path string) ([]Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	if len(text) > fileBytesMax {
		return nil, fmt.Errorf("%s is %w: it is longer than %d bytes", path, ErrNotResult, fileBytesMax)
	}
	results, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s is %w: %w", path, ErrNotResult, err)
	}
	return results, nil
}

// decode reads one object, or a list of them. The schema is looked at before anything else: of a newer one the fields
// unknown to us are the least reason why it cannot be read.
func decode(text []byte) ([]Result, error) {
	parts := []json.RawMessage{text}
	list := bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("["))
	if list {
		parts = nil
		if err := strictly(text, &parts); err != nil {
			return nil, err
		}
	}
	results := make([]Result, 0, len(parts))
	for i, part := range parts {
		r, err := decodeOne(part)
		if err != nil && list {
			return nil, fmt.Errorf("element %d of the list: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func decodeOne(text []byte) (r Result, err error) {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return r, err
	}
	switch {
	case head.Schema == nil:
		return r, errors.New(`it has no "schema"`)
	case *head.Schema > Schema:
		return r, fmt.Errorf("its schema is %d, and this program reads up to %d: use a newer one", *head.Schema, Schema)
	}
	if err := strictly(text, &r); err != nil {
		return r, err
	}
	return r, r.Check()
}

// strictly decodes exactly one value without unknown fields.
func strictly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("something follows after its end")
	}
	return nil
}
