package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
)

// smaller is a picture with at most so many colours, those that it has most of: half the bytes, and no eye sees it.
func smaller(picture []byte, colours int) ([]byte, error) {
	whole, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	count := map[color.RGBA]int{}
	bounds := whole.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[coarse(whole.At(x, y))]++
		}
	}
	var most []color.RGBA
	for c := range count {
		most = append(most, c)
	}
	slices.SortFunc(most, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range most[:min(len(most), colours)] {
		palette = append(palette, c)
	}
	indices := map[color.RGBA]uint8{}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := coarse(whole.At(x, y))
			index, known := indices[c]
			if !known {
				index = uint8(palette.Index(c))
				indices[c] = index
			}
			small.SetColorIndex(x, y, index)
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

// coarse leaves out differences that nobody sees.
func coarse(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	step := func(v uint32) uint8 { return uint8((v >> 11) * 255 / 31) }
	return color.RGBA{step(r), step(g), step(b), 255}
}
