package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// groupedMax is where numbers become too long to be written out.
const groupedMax = 1e15

// scale is how the figures of one column are written: multiplied, in a unit that suits their size.
type scale struct {
	factor float64
	unit   string // as a reader writes it; empty for counts and ratios
	whole  bool   // all values are whole numbers and are written as such
}

// step is a unit of a family and how many of the family's base it is.
type step struct {
	size float64
	unit string
}

// families are units that change with the size of the value. All others stay as they are.
func families(unit string) []step {
	switch unit {
	case "s", "ms", "µs", "ns":
		return []step{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
	case "B":
		return []step{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}}
	case "B/s":
		return []step{{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}}
	}
	return nil
}

// scaleOf chooses the unit in which the middle one of some values is at least 1. One column has one unit: a reader
// compares its numbers and not its letters.
func scaleOf(unit string, values []float64) scale {
	steps := families(unit)
	var sizes []float64
	for _, v := range values {
		if v != 0 {
			sizes = append(sizes, math.Abs(v))
		}
	}
	if len(steps) == 0 || len(sizes) == 0 {
		return scale{factor: 1, unit: plainUnit(unit), whole: areWhole(values, 1)}
	}
	own := 1.0
	for _, s := range steps {
		if s.unit == unit {
			own = s.size
		}
	}
	slices.Sort(sizes)
	middle := sizes[(len(sizes)-1)/2] * own
	chosen := steps[0]
	for _, s := range steps {
		if middle >= s.size {
			chosen = s
		}
	}
	factor := own / chosen.size
	return scale{factor: factor, unit: chosen.unit, whole: areWhole(values, factor)}
}

func areWhole(values []float64, factor float64) bool {
	for _, v := range values {
		if v *= factor; v != math.Trunc(v) || math.Abs(v) >= groupedMax {
			return false
		}
	}
	return true
}

// plainUnit hides the unit of counts and ratios, which is none.
func plainUnit(unit string) string {
	if unit == "1" {
		return ""
	}
	return unit
}

func (s scale) text(v float64) string {
	if v *= s.factor; s.whole && v == math.Trunc(v) {
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return numberText(v)
}

// numberText writes a number with the four digits that a measurement may have, and the whole part in full.
func numberText(v float64) string {
	size := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case size >= groupedMax || size < 1e-4:
		return strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "-", "−", 1)
	}
	decimals := max(0, 3-int(math.Floor(math.Log10(size))))
	if decimals > 0 && size >= math.Pow10(4-decimals)-0.5*math.Pow10(-decimals) {
		decimals-- // rounding makes it one digit longer
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', decimals, 64), ".")
	if fraction == "" {
		return grouped(whole)
	}
	return grouped(whole) + "." + fraction
}

// grouped puts commas between thousands.
func grouped(whole string) string {
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	var parts []string
	for len(whole) > 3 {
		parts = append(parts, whole[len(whole)-3:])
		whole = whole[:len(whole)-3]
	}
	parts = append(parts, whole)
	slices.Reverse(parts)
	return sign + strings.Join(parts, ",")
}

func bytesText(v float64) string {
	s := scaleOf("B", []float64{v})
	return s.text(v) + " " + s.unit
}

// percentText writes a change with its sign.
func percentText(v float64) string {
	text := fmt.Sprintf("%+.1f", v)
	if math.Abs(v) >= 1000 {
		text = fmt.Sprintf("%+.0f", v)
	}
	if strings.HasPrefix(text, "-") {
		text = "−" + text[1:]
	}
	if text == "−0.0" || text == "+0.0" {
		return "0.0"
	}
	return text
}
