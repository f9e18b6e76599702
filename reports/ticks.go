package reports

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

const (
	ticksWanted = 6    // on a linear axis
	ticksMax    = 1000 // of any axis: a range that would need more is one that cannot be drawn
)

// ticker puts ticks where a reader expects them: at steps of 1, 2 or 5 on a linear axis, and at 1, 2 and 5 of each
// decade on a logarithmic one, or at the decades alone where there are many.
type ticker struct{ log bool }

// Ticks implements plot.Ticker.
func (t ticker) Ticks(low, high float64) []plot.Tick {
	if t.log {
		return logTicks(low, high)
	}
	return linearTicks(low, high)
}

// niceStep is the step of 1, 2 or 5 times a power of ten that gives about as many ticks as wanted.
func niceStep(span float64) float64 {
	rough := span / ticksWanted
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if rough <= m*power*1.0001 {
			return m * power
		}
	}
	return 10 * power
}

func linearTicks(low, high float64) (ticks []plot.Tick) {
	if !(high > low) {
		return nil
	}
	step := niceStep(high - low)
	first := math.Ceil(low/step - 1e-9)
	for i := first; i*step <= high+1e-9*step && len(ticks) < ticksMax; i++ {
		value := roundTo(i*step, step)
		ticks = append(ticks, plot.Tick{Value: value, Label: tickText(value)})
	}
	return ticks
}

// roundTo takes away what multiplying by a step that is no binary number leaves in the last digits.
func roundTo(value, step float64) float64 {
	decimals := max(0, -int(math.Floor(math.Log10(step))))
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', decimals, 64), 64)
	if err != nil || rounded == 0 {
		return 0
	}
	return rounded
}

const (
	logDecadesFull = 3 // up to so many decades, 2 and 5 have labels too
	logDecadesMax  = 8 // past so many, not even every decade has one
)

func logTicks(low, high float64) (ticks []plot.Tick) {
	if !(low > 0 && high > low) {
		return nil
	}
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	decades := math.Log10(high / low)
	every := 1 + int(decades)/logDecadesMax
	for d := first; d <= last && len(ticks) < ticksMax; d++ {
		for _, m := range []float64{1, 2, 5} {
			value := m * math.Pow10(d)
			if value < low*(1-1e-9) || value > high*(1+1e-9) {
				continue
			}
			label := ""
			if m == 1 && (d-first)%every == 0 || m != 1 && decades <= logDecadesFull {
				label = tickText(value)
			}
			ticks = append(ticks, plot.Tick{Value: value, Label: label})
		}
	}
	return ticks
}

// logBelow and logAbove round a value to the next 1, 2 or 5 of a decade.
func logBelow(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{5, 2, 1} {
		if m*power <= v*(1+1e-9) {
			return m * power
		}
	}
	return power
}

func logAbove(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tickText writes the value of a tick as short as it can be read: 0.05, 250, 20,000, 5 M.
func tickText(v float64) string {
	size := math.Abs(v)
	switch {
	case size >= 1e15 || size > 0 && size < 1e-6:
		return strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), "-", "−", 1)
	case size >= 1e9:
		return grouped(shortest(v/1e9)) + " G"
	case size >= 1e6:
		return grouped(shortest(v/1e6)) + " M"
	}
	whole, fraction, _ := strings.Cut(shortest(v), ".")
	if fraction != "" {
		return grouped(whole) + "." + fraction
	}
	return grouped(whole)
}

// positionText writes where a point stands: whole numbers and short ones in full, what was measured with the digits of a
// measurement.
func positionText(v float64) string {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', measuredDigits, 64), 64); err != nil || rounded == v || v == math.Trunc(v) {
		return tickText(v)
	}
	return numberText(v)
}

// measuredDigits are those of a number that was measured, as numberText writes it.
const measuredDigits = 4

func shortest(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
