package campaign

import (
	"fmt"
	"strings"
	"sync"
)

// excerpt keeps the beginning and the end of what is written to it. Stacks begin with the goroutine that matters; what
// a program said before it died stands at the end.
type excerpt struct {
	mutex sync.Mutex
	head  []byte
	tail  []byte
	total int64
}

func (e *excerpt) Write(p []byte) (int, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.total += int64(len(p))
	rest := p
	if room := excerptHalfMaxBytes - len(e.head); room > 0 {
		n := min(room, len(rest))
		e.head = append(e.head, rest[:n]...)
		rest = rest[n:]
	}
	e.tail = append(e.tail, rest...)
	if over := len(e.tail) - excerptHalfMaxBytes; over > excerptHalfMaxBytes { // cut seldom, and copy little
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	return len(p), nil
}

func (e *excerpt) String() string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	tail := e.tail[max(len(e.tail)-excerptHalfMaxBytes, 0):]
	var left string
	if out := e.total - int64(len(e.head)+len(tail)); out > 0 {
		left = fmt.Sprintf("\n[%d bytes left out]\n", out)
	}
	return strings.TrimSpace(string(e.head) + left + string(tail))
}
