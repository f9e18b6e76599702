package oshost

import (
	"testing"
	"unsafe"

	"lakebed/internal/invariant"
)

// TestEveryLengthHasTheSmallestClassThatHoldsIt walks all class boundaries: the sizes must grow, waste at most a fifth,
// and map to themselves, since Put finds the class by capacity.
func TestEveryLengthHasTheSmallestClassThatHoldsIt(t *testing.T) {
	class, size := classOfLength(1)
	if class != 0 || size != classBytesMin {
		t.Fatalf("one byte is in class %d of %d bytes", class, size)
	}
	for size < classBytesMax {
		if own, ownSize := classOfLength(size); own != class || ownSize != size {
			t.Fatalf("class %d has %d bytes, but these are in class %d of %d", class, size, own, ownSize)
		}
		next, nextSize := classOfLength(size + 1)
		if next != class+1 || nextSize <= size {
			t.Fatalf("after class %d of %d bytes comes class %d of %d", class, size, next, nextSize)
		}
		if wasted := nextSize - (size + 1); wasted*5 > nextSize {
			t.Fatalf("class %d of %d bytes wastes %d on %d", next, nextSize, wasted, size+1)
		}
		class, size = next, nextSize
	}
	if size != classBytesMax || class != classCount-1 {
		t.Fatalf("the last class is %d of %d bytes, want %d of %d", class, size, classCount-1, classBytesMax)
	}
}

// TestABufferThatCameBackIsHandedOutAgain holds for a single task between two collections, so it is tried often: the
// pool may drop a buffer, but must not drop each.
func TestABufferThatCameBackIsHandedOutAgain(t *testing.T) {
	var m memory
	for range 100 {
		first := m.Get(5000)
		start := unsafe.SliceData(first)
		m.Put(first[:3])
		if again := m.Get(4999); unsafe.SliceData(again) == start && len(again) == 4999 {
			return
		}
	}
	t.Fatal("a hundred buffers came back and none was used again")
}

func TestBuffersBeyondTheLargestClassAreAccounted(t *testing.T) {
	var m memory
	b := m.Get(classBytesMax + 1)
	if m.InUse() != int64(cap(b)) || len(b) != classBytesMax+1 {
		t.Fatalf("%d bytes in use for a buffer of length %d and capacity %d", m.InUse(), len(b), cap(b))
	}
	m.Put(b)
	if m.InUse() != 0 {
		t.Fatalf("%d bytes in use after all came back", m.InUse())
	}
}

// TestMisuseOfBuffersIsFoundOut: a buffer cut at the front, or one more than was taken, must not enter a pool.
func TestMisuseOfBuffersIsFoundOut(t *testing.T) {
	breaks := func(name string, f func(m *memory)) {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if _, ok := recover().(invariant.Broken); !ok {
					t.Error("went unnoticed")
				}
			}()
			f(new(memory))
		})
	}
	breaks("CutAtTheFront", func(m *memory) { m.Put(m.Get(1024)[1:]) })
	breaks("NeverHandedOut", func(m *memory) { m.Put(make([]byte, 64)) })
	breaks("NegativeLength", func(m *memory) { m.Get(-1) })
}
