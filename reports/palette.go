package reports

import (
	"fmt"
	"image/color"
	"regexp"

	"gonum.org/v1/plot/vg"
)

// Plots are drawn once and shown in light and dark. Their canvas knows only fixed colours, so each colour below is a mark:
// colourMarks turns it into the variable of the page's style that holds the colour of the mode.
const (
	markInk    = 1 // text and axes
	markGrid   = 2
	markPaper  = 3 // the ground, for stripes in bars
	markSeries = 16
)

// seriesColours is how many colours tell lines apart. They differ in lightness and hue so that those who see no red, no
// green or no blue can tell them; the dashes, signs and stripes tell the rest. The page's style gives the colours.
const seriesColours = 6

func mark(code int) color.Color { return color.RGBA{R: uint8(code), G: 0xab, B: 0xcd, A: 0xff} }

func seriesMark(i int) color.Color { return mark(markSeries + i%seriesColours) }

var (
	styleAttribute = regexp.MustCompile(`style="[^"]*"`)
	markedColour   = regexp.MustCompile(`#([0-9A-F]{2})ABCD`)
	fontNames      = regexp.MustCompile(`font-family:[^;]*;font-variant:[^;]*;font-weight:[^;]*;font-style:[^;"]*;?`)
)

// themed replaces marks by variables and takes the font's name away, which the page's style sets. It looks into style
// attributes only, where no text of a result can be: names may say anything.
func themed(svg []byte) []byte {
	return styleAttribute.ReplaceAllFunc(svg, func(style []byte) []byte {
		style = fontNames.ReplaceAll(style, nil)
		return markedColour.ReplaceAllFunc(style, func(colour []byte) []byte {
			var code int
			if _, err := fmt.Sscanf(string(colour[1:3]), "%X", &code); err != nil {
				return colour
			}
			return []byte("var(" + variable(code) + ")")
		})
	})
}

func variable(code int) string {
	switch code {
	case markInk:
		return "--ink"
	case markGrid:
		return "--grid"
	case markPaper:
		return "--paper"
	default:
		return fmt.Sprintf("--s%d", code-markSeries)
	}
}

// dashes tell lines apart without colour. With the colours they repeat after thirty lines.
func dashes(i int) []vg.Length {
	patterns := [][]vg.Length{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}, {5, 2, 1, 2, 1, 2}}
	return patterns[i%len(patterns)]
}
