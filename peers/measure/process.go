package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"lakebed/peers/stores"
)

// Errors of a run.
var (
	ErrBroken      = errors.New("what is read is not what was appended")
	ErrUsage       = errors.New("wrong use")
	ErrEnvironment = errors.New("the environment failed")
)

// WorkerArgument starts this program as a worker.
const WorkerArgument = "worker"

// remote is a worker as the run sees it.
type remote struct {
	store   stores.Store
	dir     string
	payload int
	process *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	rounds  []Round
	failed  error // a peer's: it has no figure at this point
}

// endPatience is how long a worker may take to end after its input did: stores are closed by then.
const endPatience = 30 * time.Second

func startWorker(program string, store stores.Store, dir string, payload int) (*remote, error) {
	w := &remote{store: store, dir: dir, payload: payload, process: exec.Command(program, WorkerArgument)}
	w.process.Stderr = os.Stderr
	in, err := w.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe() // not its standard output: libraries write there
	if err != nil {
		return nil, err
	}
	defer write.Close()
	w.process.Stdout, w.process.ExtraFiles = os.Stderr, []*os.File{write}
	w.in, w.answers = in, json.NewDecoder(read)
	if err := w.process.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker for %s: %w", store.Name, err), read.Close())
	}
	return w, nil
}

// AnswerFile is where a worker answers.
func AnswerFile() *os.File { return os.NewFile(3, "answers") }

func (w *remote) ask(r request) (Round, error) {
	if err := json.NewEncoder(w.in).Encode(r); err != nil {
		return Round{}, fmt.Errorf("ask the worker of %s to %s: %w", w.store.Name, r.Do, err)
	}
	var a answer
	if err := w.answers.Decode(&a); err != nil {
		return Round{}, fmt.Errorf("the worker of %s died when asked to %s: %w", w.store.Name, r.Do, err)
	}
	switch {
	case a.Broken:
		return a.Round, fmt.Errorf("%s: %w: %s", w.store.Name, ErrBroken, a.Error)
	case a.Error != "":
		return a.Round, fmt.Errorf("%s: %s: %s", w.store.Name, r.Do, a.Error)
	}
	return a.Round, nil
}

// end closes the store, ends the worker and removes its files.
func (w *remote) end() error {
	_, err := w.ask(request{Do: doClose})
	err = errors.Join(err, w.in.Close())
	timer := time.AfterFunc(endPatience, func() { _ = w.process.Process.Kill() })
	defer timer.Stop()
	if waited := w.process.Wait(); waited != nil {
		err = errors.Join(err, fmt.Errorf("the worker of %s: %w", w.store.Name, waited))
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}
