package page

import (
	"fmt"
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
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the page of seed %d: %w", p.Seed, err)
	}
	err = p.WriteHTML(file)
	if closed := file.Close(); err == nil && closed != nil {
		err = fmt.Errorf("write the page of seed %d: %w", p.Seed, closed)
	}
	return err
}
