package page

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"lakebed/trial"
)

// Watch makes a trial's options such that a page can be made of it afterwards.
func Watch(o *trial.Options) *Recorder {
	r := NewRecorder()
	o.Course = &trial.Course{Look: r.Look}
	return r
}

// WriteFile writes the page into a file.
func (p *Page) WriteFile(name string) error {
	return p.into(name, p.WriteHTML)
}

// WriteModel writes what is on the page into a file, as JSON.
func (p *Page) WriteModel(name string) error {
	return p.into(name, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		return encoder.Encode(p)
	})
}

func (p *Page) into(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err == nil {
		err = write(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return fmt.Errorf("write the page of seed %d into a file: %w", p.Seed, err)
	}
	return nil
}
