package oshost

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// task is one running goroutine of a group.
type task struct {
	group *group
	name  string
}

// register knows every running task of a host by name.
type register struct {
	mutex   sync.Mutex
	running map[*task]struct{}
}

func (r *register) enter(t *task) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.running == nil {
		r.running = make(map[*task]struct{})
	}
	r.running[t] = struct{}{}
}

func (r *register) leave(t *task) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.running, t)
}

// leftOver is nil if no task runs, and else an ErrLeftOver that names them all in order.
func (r *register) leftOver() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.running) == 0 {
		return nil
	}
	names := make([]string, 0, len(r.running))
	for t := range r.running {
		names = append(names, t.group.path+"/"+t.name)
	}
	slices.Sort(names)
	return fmt.Errorf("%w: %d still running: %s", ErrLeftOver, len(names), strings.Join(names, ", "))
}
